import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hexToBytes, numberToHex } from 'viem'
import { expect, it } from 'vitest'
import { parityBy } from '../../src/sign/parity.ts'

it('a digest that recovers to no point was signed by nobody', () => {
  const { BASE, Fn } = secp256k1.Point
  const [secret, r] = [0x17n, 0x19n]
  // z + r d is 0, and so is the point.
  const digest = hexToBytes(numberToHex(Fn.neg(Fn.mul(r, secret)), { size: 32 }))
  expect(parityBy(digest, r, 3n, BASE.multiply(secret))).toBeUndefined()
})
