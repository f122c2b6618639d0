import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToNumberBE } from '@noble/curves/utils.js'

/** A point of secp256k1. */
export type Point = InstanceType<typeof secp256k1.Point>

/** A public key, and in hex as it is written uncompressed, without 0x. */
export type Key = { readonly point: Point; readonly hex: string }

/**
 * Find the parity with which a digest of 32 bytes recovers to a key: of the point z/s G + r/s Q, whose x is r; undefined
 * where the key did not sign. Pure. Source: SEC 1 section 4.1.4.
 */
export function parityBy(digest: Uint8Array, r: bigint, s: bigint, key: Point): 0 | 1 | undefined {
  const { BASE, Fn } = secp256k1.Point
  if (!Fn.isValidNot0(r) || !Fn.isValidNot0(s)) return undefined
  const inverse = Fn.inv(s)
  const point = BASE.multiplyUnsafe(Fn.mul(Fn.create(bytesToNumberBE(digest)), inverse)).add(
    key.multiplyUnsafe(Fn.mul(r, inverse)),
  )
  const { x, y } = point.toAffine()
  // An x above the order would need recovery id 2 or 3; that of infinity is 0, which no r is.
  return x === r ? ((y & 1n) === 0n ? 0 : 1) : undefined
}
