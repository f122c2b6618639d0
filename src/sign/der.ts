import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Address, bytesToBigInt, bytesToHex, hexToBytes } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { RolekeeperError } from '../errors.ts'

const ORDER = secp256k1.Point.CURVE().n
const INTEGER_LENGTH_MAX = 33
const SIGNATURE_LENGTH_MAX = 2 + 2 * (2 + INTEGER_LENGTH_MAX)

/**
 * What precedes the point in the only DER form of an uncompressed secp256k1 key: SEQUENCE { SEQUENCE { id-ecPublicKey
 * 1.2.840.10045.2.1, secp256k1 1.3.132.0.10 }, BIT STRING with no unused bits }.
 */
const SPKI_PREFIX = hexToBytes('0x3056301006072a8648ce3d020106052b8104000a034200')
const SPKI_LENGTH = SPKI_PREFIX.length + 65

function malformed(reason: string, length: number): RolekeeperError {
  return new RolekeeperError('kms.bad_signature', `The KMS returned a malformed signature: ${reason}.`, {
    fix: 'check that the endpoint is the KMS of your region; nothing was signed with this reply.',
    facts: { reason, length },
    retry: 'later',
  })
}

/** Read one INTEGER at `at`, and where it ends: past the signature if it is cut short, which the caller refuses. */
function readInteger(der: Uint8Array, at: number): { value: bigint; end: number } {
  const refuse = (reason: string) => malformed(`${reason} at byte ${at}`, der.length)
  const length = der[at + 1]
  if (der[at] !== 0x02 || length === undefined) throw refuse('no INTEGER')
  if (length < 1 || length > INTEGER_LENGTH_MAX) throw refuse(`an INTEGER of ${length} bytes, not 1 to 33,`)
  const bytes = der.subarray(at + 2, at + 2 + length)
  const [first = 0, second = 0] = bytes
  if (first >= 0x80) throw refuse('a negative INTEGER')
  if (length > 1 && first === 0 && second < 0x80) throw refuse('an INTEGER with a needless leading zero')
  const value = bytesToBigInt(bytes)
  if (value === 0n || value >= ORDER) throw refuse('an INTEGER outside 1 to n - 1')
  return { value, end: at + 2 + length }
}

/**
 * Parse a DER ECDSA signature over secp256k1. Pure. Accepts exactly one encoding of each (r, s); `s` may be high.
 * Throws `kms.bad_signature` on every other byte string. Source: RFC 3279 section 2.2.3, X.690 section 10.
 */
export function parseSignature(der: Uint8Array): { r: bigint; s: bigint } {
  const length = der.length
  if (length > SIGNATURE_LENGTH_MAX) throw malformed(`${length} bytes, more than 72`, length)
  if (der[0] !== 0x30) throw malformed('no SEQUENCE', length)
  // At most 70 bytes follow, so DER's only length form is the short one; this equality also refuses trailing bytes.
  if (der[1] !== length - 2) throw malformed('a SEQUENCE length other than what follows', length)
  const r = readInteger(der, 2)
  const s = readInteger(der, r.end)
  if (s.end !== length) throw malformed('bytes after s', length)
  return { r: r.value, s: s.value }
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
