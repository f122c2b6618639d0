import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Address, bytesToHex, type Hex, hexToBytes, numberToHex } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { invariant, RolekeeperError } from '../errors.ts'
import type { Signature } from './signer.ts'

const ORDER = secp256k1.Point.CURVE().n

/** Turn a digest into its 32 bytes. Pure. Throws BrokenInvariant on any other length: only digests are signed. */
export function digestBytes(digest: Hex): Uint8Array {
  const bytes = hexToBytes(digest)
  invariant(bytes.length === 32, `a digest is 32 bytes, not ${bytes.length}`)
  return bytes
}

/** Recover whose key signed a digest of 32 bytes; undefined where no key can have. Pure. Source: SEC 1 section 4.1.6. */
export function recoverAddress(
  digest: Uint8Array,
  r: bigint,
  s: bigint,
  yParity: number,
): Address | undefined {
  try {
    const key = new secp256k1.Signature(r, s, yParity).recoverPublicKey(digest)
    return publicKeyToAddress(bytesToHex(key.toBytes(false)))
  } catch {
    // No point of the curve has this r, or the key would be infinity: no one signed this.
    return undefined
  }
}

/**
 * Bring (r, s) into the form that the chain accepts and prove whose it is. Pure. `r` and `s` are in 1 to n - 1; `s`
 * may be high. Throws `kms.wrong_key` unless the digest recovers to exactly `address`. Source: EIP-2, SEC 1 section
 * 4.1.6; recovery ids 2 and 3 have no place in a transaction and are refused.
 */
export function recoverable(digest: Hex, r: bigint, s: bigint, address: Address): Signature {
  const lowS = s > ORDER / 2n ? ORDER - s : s
  const bytes = digestBytes(digest)
  for (const yParity of [0, 1] as const) {
    if (recoverAddress(bytes, r, lowS, yParity)?.toLowerCase() === address.toLowerCase()) {
      return { r: numberToHex(r, { size: 32 }), s: numberToHex(lowS, { size: 32 }), yParity }
    }
  }
  throw new RolekeeperError('kms.wrong_key', `The signature is not by the pinned address ${address}.`, {
    fix: 'stop this signer and check which key answers; nothing was sent with this signature.',
    facts: { address, digest },
  })
}
