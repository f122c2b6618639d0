import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Address, bytesToHex, hexToBytes } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { RolekeeperError } from '../errors.ts'

/**
 * What precedes the point in the only DER form of an uncompressed secp256k1 key: SEQUENCE { SEQUENCE { id-ecPublicKey
 * 1.2.840.10045.2.1, secp256k1 1.3.132.0.10 }, BIT STRING with no unused bits }.
 */
const SPKI_PREFIX = hexToBytes('0x3056301006072a8648ce3d020106052b8104000a034200')
const SPKI_LENGTH = SPKI_PREFIX.length + 65

/**
 * Parse a DER ECDSA signature over secp256k1. Pure. Accepts exactly one encoding of each (r, s); `s` may be high.
 * Throws `kms.bad_signature` on every other byte string. Source: RFC 3279 section 2.2.3, X.690 section 10.
 */
export function parseSignature(der: Uint8Array): { r: bigint; s: bigint } {
  try {
    const { r, s } = secp256k1.Signature.fromBytes(der, 'der')
    return { r, s }
  } catch (cause) {
    const message = `The KMS returned a malformed signature: ${der.length} bytes that are not DER of two integers from 1 to n - 1.`
    throw new RolekeeperError('kms.bad_signature', message, {
      fix: 'check that the endpoint is the KMS of your region; nothing was signed with this reply.',
      facts: { length: der.length },
      retry: 'later',
      cause,
    })
  }
}

/**
 * Derive the address of a SubjectPublicKeyInfo that holds an uncompressed secp256k1 point. Pure.
 * Throws `kms.wrong_key` when it is another curve, another form, or not a point. Source: RFC 5480 section 2, SEC 1
 * section 2.3.3.
 */
export function addressFromSpki(spki: Uint8Array): Address {
  const point = spki.subarray(SPKI_PREFIX.length)
  const isForm = spki.length === SPKI_LENGTH && SPKI_PREFIX.every((byte, index) => spki[index] === byte)
  if (!isForm || !secp256k1.utils.isValidPublicKey(point, false)) {
    throw new RolekeeperError('kms.wrong_key', 'The KMS returned a public key that is not on secp256k1.', {
      fix: 'pin a key that was created with KeySpec ECC_SECG_P256K1.',
      facts: { length: spki.length },
    })
  }
  return publicKeyToAddress(bytesToHex(point))
}
