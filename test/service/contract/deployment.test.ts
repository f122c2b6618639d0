import { expect, it } from 'vitest'
import { approvalPolicy, compileApproval } from '../../../src/guard/approval/approval.ts'
import { deployment } from '../../../src/service/contract/deployment.ts'

const codeHash = `0x${'c0'.repeat(32)}` as const
const token = (byte: string, symbol: string, decimals: number) => ({
  address: `0x${byte.repeat(20)}` as const,
  codeHash,
  symbol,
  decimals,
})
const withAssets = (assets: readonly object[]) =>
  deployment.shape.assets.safeParse(assets.map((each) => ({ ...each, decimals: '6' })))

it('has each token once: of two of one symbol, a limit of one was counted in the decimals of the other', () => {
  const two = [token('a1', 'USDC', 6), token('a2', 'USDC', 18)]
  const section = { always: [], aboveAssets: { USDC: '100 USDC' }, expiresAfter: '15 min' }
  const limits = compileApproval(approvalPolicy(two).parse(section), { assets: two }).aboveAssets
  // Of six decimals: 100,000,000,000,000 of them, before anybody is asked.
  expect(limits.get(`0x${'a1'.repeat(20)}`)?.alone).toBe(10n ** 20n)
  expect(withAssets(two).success).toBe(false)
  expect(withAssets([token('a1', 'USDC', 6), token('a1', 'USDT', 6)]).success).toBe(false)
  expect(withAssets([token('a1', 'USDC', 6), token('a2', 'USDT', 6)]).success).toBe(true)
})
