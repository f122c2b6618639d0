import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'

type Secret = { readonly reveal: () => string }

/** Who signs a source's answers: an HMAC-SHA256 of a shared secret, or an ECDSA key over SHA-256, of the raw bytes. */
export type SourceKey = { readonly hmac: Secret } | { readonly ecdsa: string }

/**
 * Whether a signature is by this key over these bytes. Pure.
 * @param signature hex, with or without `0x` or `sha256=` before it, or base64; of ECDSA r and s, or both in DER.
 */
export function isSigned(bytes: Uint8Array, signature: string, key: SourceKey): boolean {
  const text = signature.trim().replace(/^(?:0x|sha256=)/, '')
  const given = Buffer.from(text, /^(?:[0-9a-fA-F]{2})+$/.test(text) ? 'hex' : 'base64')
  if ('hmac' in key) {
    const own = createHmac('sha256', key.hmac.reveal()).update(bytes).digest()
    return given.length === own.length && timingSafeEqual(given, own)
  }
  const dsaEncoding = isPair(given, key.ecdsa) ? 'ieee-p1363' : 'der'
  return verify('sha256', bytes, { key: key.ecdsa, dsaEncoding }, given)
}

/** Whether it is r and s alone, each as long as the curve; DER of the same length is not, because it says its own. */
function isPair(signature: Uint8Array, pem: string): boolean {
  const bits = CURVE_BITS[createPublicKey(pem).asymmetricKeyDetails?.namedCurve ?? ''] ?? 256
  return signature.length === 2 * Math.ceil(bits / 8)
}

/** Of the curves whose numbers are not 32 bytes long. */
const CURVE_BITS: Readonly<Record<string, number>> = { secp384r1: 384, secp521r1: 521 }
