import { generateKeyPairSync } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import { bytesToHex, hexToBytes } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { addressFromSpki, parseSignature } from '../../src/sign/der.ts'

const N = secp256k1.Point.CURVE().n
const R = '11'.repeat(32)
const S = '22'.repeat(32)
const order = N.toString(16)
const orderLess1 = (N - 1n).toString(16)

/** DER by hand: the value's bytes as given, with true lengths. */
const int = (hex: string) => `02${(hex.length / 2).toString(16).padStart(2, '0')}${hex}`
const seq = (hex: string) => `30${(hex.length / 2).toString(16).padStart(2, '0')}${hex}`

/** The fewest bytes of a positive INTEGER: a leading zero only where the first bit would be a sign. */
function shortest(value: bigint) {
  const hex = value.toString(16)
  const even = hex.length % 2 === 0 ? hex : `0${hex}`
  return Number.parseInt(even.slice(0, 2), 16) >= 0x80 ? `00${even}` : even
}

function parse(hex: string) {
  return parseSignature(Buffer.from(hex, 'hex'))
}

describe('a DER signature', () => {
  it('parses to r and s', () => {
    expect(parse(seq(int(R) + int(S)))).toEqual({ r: BigInt(`0x${R}`), s: BigInt(`0x${S}`) })
  })

  it('may hold 1, the smallest value', () => {
    expect(parse('3006020101020101')).toEqual({ r: 1n, s: 1n })
  })

  it('may hold n - 1, the largest value', () => {
    expect(parse(seq(int(`00${orderLess1}`) + int(`00${orderLess1}`)))).toEqual({ r: N - 1n, s: N - 1n })
  })

  it('may hold integers of fewer than 32 bytes', () => {
    expect(parse(seq(int('7f') + int(`0080${'00'.repeat(29)}`)))).toEqual({ r: 0x7fn, s: 1n << 239n })
  })

  it.each([
    ['is empty', ''],
    ['is only a tag', '30'],
    ['is an empty sequence', '3000'],
    ['is a SET', seq(int(R) + int(S)).replace('30', '31')],
    ['has no r', seq('')],
    ['has no s', seq(int(R))],
    ['has a third integer', seq(int(R) + int(S) + int('01'))],
    ['has a byte after the sequence', `${seq(int(R) + int(S))}00`],
    ['has a byte inside the sequence after s', seq(`${int(R)}${int(S)}00`)],
    ['ends one byte early', seq(int(R) + int(S)).slice(0, -2)],
    ['has a sequence length one too small', `3043${int(R)}${int(S)}`],
    ['has a sequence length one too large', `3045${int(R)}${int(S)}`],
    ['has a sequence length of zero', `3000${int(R)}${int(S)}`],
    ['has an indefinite length', `3080${int(R)}${int(S)}0000`],
    ['has a sequence length in the long form', `308144${int(R)}${int(S)}`],
    ['has a sequence length in a padded long form', `30820044${int(R)}${int(S)}`],
    ['has an integer length in the long form', seq(`028120${R}${int(S)}`)],
    ['has an indefinite integer length', seq(`0280${R}0000${int(S)}`)],
    ['has r of no bytes', seq(`0200${int(S)}`)],
    ['has s of no bytes', seq(`${int(R)}0200`)],
    ['has r as an OCTET STRING', seq(`0420${R}${int(S)}`)],
    ['has s as a BIT STRING', seq(`${int(R)}0320${S}`)],
    ['has r that runs past the end', seq(`0241${R}${int(S)}`)],
    ['has s that runs past the end', seq(`${int(R)}0221${S}`)],
    ['has s that ends early', seq(`${int(R)}021f${S}`)],
    ['has r of zero', seq(int('00') + int(S))],
    ['has s of zero', seq(int(R) + int('00'))],
    ['has r of zero in two bytes', seq(int('0000') + int(S))],
    ['has a negative r', seq(int(`ff${R.slice(2)}`) + int(S))],
    ['has a negative s', seq(int(R) + int('80'))],
    ['has r with a needless leading zero', seq(int(`00${R}`) + int(S))],
    ['has s with a needless leading zero', seq(int(R) + int('007f'))],
    ['has r padded with ff', seq(int(`ffff${R.slice(4)}`) + int(S))],
    ['has r of n', seq(int(`00${order}`) + int(S))],
    ['has s of n', seq(int(R) + int(`00${order}`))],
    ['has r of 33 bytes over n', seq(int(`01${R}`) + int(S))],
    ['has r of 34 bytes', seq(int(`0000${R}`) + int(S))],
    ['is the raw 64 bytes', R + S],
    ['is one byte longer than any', `${seq(int(`00${orderLess1}`) + int(`00${orderLess1}`))}00`],
    ['has a length of four bytes that overflows', `3084ffffffff${int(R)}${int(S)}`],
    ['has an integer length of four bytes that overflows', seq(`0284ffffffff${int(R)}${int(S)}`)],
    ['is 4 kB long', `30820ffc${'00'.repeat(4092)}`],
  ])('is refused when it %s', (_, hex) => {
    expect(() => parse(hex)).toThrow(expect.objectContaining({ code: 'kms.bad_signature' }))
  })

  it('is every pair within the order, in its shortest encoding and in no longer one', () => {
    const scalar = fc.bigInt({ min: 1n, max: N - 1n })
    fc.assert(
      fc.property(scalar, scalar, (r, s) => {
        expect(parse(seq(int(shortest(r)) + int(shortest(s))))).toEqual({ r, s })
        expect(() => parse(seq(int(`00${shortest(r)}`) + int(shortest(s))))).toThrow('malformed')
        expect(() => parse(seq(int(shortest(r)) + int(`00${shortest(s)}`)))).toThrow('malformed')
      }),
      { numRuns: 300 },
    )
  })

  it('has one encoding: a changed byte is another pair or is refused', () => {
    const der = Buffer.from(seq(int(R) + int(S)), 'hex')
    const pairs = new Set<string>()
    for (let at = 0; at < der.length; at += 1) {
      for (let change = 1; change < 256; change += 1) {
        const mutant = Buffer.from(der)
        mutant[at] = (mutant[at] ?? 0) ^ change
        try {
          const { r, s } = parseSignature(mutant)
          pairs.add(`${r},${s}`)
        } catch (error) {
          expect(error).toMatchObject({ code: 'kms.bad_signature' })
        }
      }
    }
    expect(pairs).not.toContain(`${BigInt(`0x${R}`)},${BigInt(`0x${S}`)}`)
  })
})

describe('a public key', () => {
  const privateKey = `0x${'17'.repeat(32)}` as const
  const point = bytesToHex(secp256k1.getPublicKey(hexToBytes(privateKey), false))
  const spki = hexToBytes(`0x3056301006072a8648ce3d020106052b8104000a034200${point.slice(2)}`)
  const spkiOf = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).publicKey.export({ type: 'spki', format: 'der' })

  it('gives the address that viem derives', () => {
    expect(addressFromSpki(spki)).toBe(privateKeyToAccount(privateKey).address)
  })

  it('is read in the form that OpenSSL writes', () => {
    expect(addressFromSpki(spkiOf('secp256k1'))).toMatch(/^0x[0-9a-fA-F]{40}$/)
  })

  it.each([
    ['is on P-256', spkiOf('P-256')],
    ['is on P-384', spkiOf('P-384')],
    ['is on brainpool, of the same length or not', spkiOf('brainpoolP256r1')],
    ['is Ed25519', generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' })],
    ['is empty', new Uint8Array()],
    ['ends one byte early', spki.subarray(0, -1)],
    ['has a byte after it', Buffer.concat([spki, Uint8Array.of(0)])],
    ['is not on the curve', Buffer.concat([spki.subarray(0, -1), Uint8Array.of((spki.at(-1) ?? 0) ^ 1)])],
    ['is the bare point', hexToBytes(point)],
    [
      'is a point of ours that says it is of another curve',
      Uint8Array.from(spki, (byte, at) => (at === 19 ? byte ^ 1 : byte)),
    ],
  ])('is refused when it %s', (_, bytes) => {
    expect(() => addressFromSpki(bytes)).toThrow(expect.objectContaining({ code: 'kms.wrong_key' }))
  })
})
