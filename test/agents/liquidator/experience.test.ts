import { expect, it } from 'vitest'
import { decide } from '../../../agents/liquidator/decide.ts'
import { type Case, withCases } from '../../../agents/protocol/experience.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { BTC, MARKET, observation, policy } from './fixtures.ts'

const RULES = policy()
const SEIZED = ['liquidation', 'collateral:sBTC', `market:${MARKET}`]
const SOLD = ['sale', 'sale:sBTC/sUSD']
const times = (count: number, of: readonly string[], error: number) =>
  Array.from({ length: count }, (): Case => ({ of, came: { error, gain: 0 }, netUsd: 0 }))

/** What is proposed once so much is known. */
function after(...cases: readonly Case[]): Proposal {
  const [one] = decide(observation({ experience: withCases([], cases) }), RULES).proposals
  if (one === undefined) throw new TypeError('nothing is proposed')
  return one
}
const plain = after()
const figures = ({ reason: { learnedBps, seizedExpectedBy, soldExpectedBy } }: Proposal) => ({
  learnedBps,
  seizedExpectedBy,
  soldExpectedBy,
})
const addedBps = ({ reason }: Proposal) => Number(reason.haircutBps) - Number(plain.reason.haircutBps)

it('says of a liquidation that what it seizes stays worth what it is, by collateral and market', () => {
  const { said, input, reason } = plain
  expect(said).toMatchObject({
    of: SEIZED,
    brings: { token: BTC, assets: BigInt(String(reason.seizeAssets)) },
  })
  expect(said?.worthUsdMicros).toBe(said?.markUsdMicros)
  expect(input.marketAddress).toBe(MARKET)
  expect(figures(plain)).toEqual({ learnedBps: 0, seizedExpectedBy: 'prior', soldExpectedBy: 'prior' })
})

it('counts on less where sales paid less and what was seized fell, and is shown by what', () => {
  const few = after(...times(5, SOLD, -0.01))
  expect(figures(few)).toMatchObject({ soldExpectedBy: 'prior' })
  expect(Number(few.reason.learnedBps)).toBeGreaterThan(0)
  const sold = after(...times(40, SOLD, -0.01))
  expect(figures(sold)).toMatchObject({ soldExpectedBy: 'measured', seizedExpectedBy: 'prior' })
  expect(Number(sold.reason.learnedBps)).toBeGreaterThan(90)
  expect(addedBps(sold)).toBeCloseTo(Number(sold.reason.learnedBps), 0)
  expect(Number(sold.gainUsdMicros)).toBeLessThan(Number(plain.gainUsdMicros))
  const both = after(...times(40, SOLD, -0.005), ...times(40, SEIZED, -0.005))
  expect(Math.abs(Number(both.reason.learnedBps) - Number(sold.reason.learnedBps))).toBeLessThan(5)
})

it('stays within the discount that the policy lets a sale have, and rises by nothing', () => {
  const worst = after(...times(40, SOLD, -0.3), ...times(40, SEIZED, -0.3))
  expect(worst.reason.learnedBps).toBe(RULES.exitDiscountBpsMax)
  expect(after(...times(40, SOLD, 0.3), ...times(40, SEIZED, 0.3)).gainUsdMicros).toBe(plain.gainUsdMicros)
})

it('takes another market for one of those of its collateral', () => {
  const elsewhere = after(...times(40, ['liquidation', 'collateral:sBTC', 'market:0xother'], -0.01))
  expect(Number(elsewhere.reason.learnedBps)).toBeGreaterThan(80)
  const other = after(...times(40, ['sale', 'sale:sETH/sUSD'], -0.01))
  expect(Number(other.reason.learnedBps)).toBeLessThan(Number(elsewhere.reason.learnedBps))
})
