import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hexToBytes, keccak256, numberToHex } from 'viem'
import { expect, it } from 'vitest'
import { parityBy } from '../../src/sign/parity.ts'
import { createParityThread } from '../../src/sign/parity-thread.ts'

const secret = hexToBytes(`0x${'19'.repeat(32)}`)
const point = secp256k1.Point.fromBytes(secp256k1.getPublicKey(secret))
const signed = Array.from({ length: 12 }, (_, index) => {
  const digest = hexToBytes(keccak256(numberToHex(index)))
  const bytes = secp256k1.sign(digest, secret, { prehash: false, format: 'compact' })
  return { digest, ...secp256k1.Signature.fromBytes(bytes, 'compact') }
})
/** Each signature, and each with another's s, which nobody signed. */
const asked = signed.flatMap(({ digest, r, s }, index) => [
  { digest, r, s },
  { digest, r, s: signed[(index + 1) % signed.length]?.s ?? 0n },
])
const expected = asked.map(({ digest, r, s }) => parityBy(digest, r, s, point))

it.each([
  ['a thread', undefined],
  ['this one, where the thread fails to start', new URL('data:text/javascript,throw new Error("broken")')],
  ['this one, where the thread ends without an answer', new URL('data:text/javascript,process.exit(0)')],
])('signatures are checked alike on %s', async (_where, file) => {
  const thread = createParityThread(file)
  const ask = () => Promise.all(asked.map(({ digest, r, s }) => thread(digest, r, s, point)))
  expect(await ask()).toEqual(expected)
  expect(await ask()).toEqual(expected)
  expect(expected.filter((yParity) => yParity === undefined)).toHaveLength(12)
})
