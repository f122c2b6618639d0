import { createPublicKey } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Address, bytesToHex, type Hex, hexToBytes } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'

/** A key to hold: `id` is a UUID, `alias` is written `alias/name`. */
export type KmsKeySettings = { readonly id: string; readonly privateKey: Hex; readonly alias?: string }

/** What anyone may know of a key. */
export type KmsKey = { readonly id: string; readonly arn: string; readonly address: Address }

/** A key with what it takes to sign. */
export type HeldKey = KmsKey & {
  readonly alias: string | undefined
  readonly aliasArn: string | undefined
  readonly privateKey: Uint8Array
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array
}

const ACCOUNT = '000000000000'
const ORDER = secp256k1.Point.CURVE().n

function spkiOf(point: Uint8Array): Uint8Array {
  const coordinate = (from: number) => Buffer.from(point.subarray(from, from + 32)).toString('base64url')
  const jwk = { kty: 'EC', crv: 'secp256k1', x: coordinate(1), y: coordinate(33) }
  return createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'der' })
}

/** Derive what is public of a key. Pure. */
export function holdKey({ id, privateKey, alias }: KmsKeySettings, region: string): HeldKey {
  const arn = `arn:aws:kms:${region}:${ACCOUNT}`
  const point = secp256k1.getPublicKey(hexToBytes(privateKey), false)
  return {
    id,
    arn: `${arn}:key/${id}`,
    address: publicKeyToAddress(bytesToHex(point)),
    alias,
    aliasArn: alias === undefined ? undefined : `${arn}:${alias}`,
    privateKey: hexToBytes(privateKey),
    spki: spkiOf(point),
  }
}

/**
 * Sign a 32-byte digest as AWS does: a fresh nonce each time, `s` as it falls (or always high), DER.
 */
export function signAsKms(digest: Uint8Array, privateKey: Uint8Array, s: 'as-it-falls' | 'high'): Uint8Array {
  const options = { prehash: false, lowS: false, extraEntropy: true, format: 'compact' } as const
  const signature = secp256k1.Signature.fromBytes(secp256k1.sign(digest, privateKey, options), 'compact')
  if (s === 'as-it-falls' || signature.hasHighS()) return signature.toBytes('der')
  return new secp256k1.Signature(signature.r, ORDER - signature.s).toBytes('der')
}
