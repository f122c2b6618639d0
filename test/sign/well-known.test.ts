import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { expect, it } from 'vitest'
import { isWellKnown } from '../../src/sign/well-known.ts'

const ANVIL = 'test test test test test test test test test test test junk'
const GANACHE = 'myth like bonus scare over problem client lizard pioneer submit female collect'

it.each([
  ['anvil and hardhat', ANVIL, 20],
  ['ganache', GANACHE, 10],
])('knows every default account of %s', (_, mnemonic, count) => {
  for (let addressIndex = 0; addressIndex < count; addressIndex += 1) {
    expect(isWellKnown(mnemonicToAccount(mnemonic, { addressIndex }).address)).toBe(true)
  }
})

it('does not know a random account', () => {
  expect(isWellKnown(privateKeyToAccount(generatePrivateKey()).address)).toBe(false)
})
