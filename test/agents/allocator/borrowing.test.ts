import { describe, expect, it } from 'vitest'
import {
  type Borrowing,
  type Borrowings,
  persistenceS,
  remember,
} from '../../../agents/allocator/borrowing.ts'
import { createDice } from '../../lab/judgement/dice.ts'
import { BTC_MARKET } from './fixtures.ts'

const HOUR_S = 3_600
const PRIOR_S = 6 * HOUR_S

/** What is remembered of a market after looks at it, one every so often. */
function watched(debts: readonly number[], everyS = HOUR_S): Borrowing {
  const seen = debts.reduce<Borrowings>(
    (before, debt, index) =>
      remember(before, [{ address: BTC_MARKET, debtAssets: BigInt(Math.round(debt)) }], index * everyS),
    {},
  )
  const found = seen[BTC_MARKET]
  if (found === undefined) throw new TypeError('nothing was remembered')
  return found
}

/** Hours of a market that borrowers come to now and then, and stay in for a time that is drawn anew. */
function spiky(staysH: number, hours = 2_000): readonly number[] {
  const dice = createDice(7)
  let left = 0
  return Array.from({ length: hours }, () => {
    if (left <= 0 && dice.unit() < 0.02) left = Math.max(1, -Math.log(1 - dice.unit()) * staysH)
    left -= 1
    return left > 0 ? 1_500_000 : 1_000_000
  })
}

describe('what is remembered of a market', () => {
  it('is a sample an hour, however often it is looked at, and nothing of a clock that went back', () => {
    const once = watched([5, 7], HOUR_S)
    expect(once.samples).toEqual([
      { atS: 0, assets: 5 },
      { atS: HOUR_S, assets: 7 },
    ])
    expect(watched([5, 7], HOUR_S - 1).samples).toEqual([{ atS: 0, assets: 5 }])
    const looked = [{ address: BTC_MARKET, debtAssets: 9n }]
    expect(remember({ [BTC_MARKET]: once }, looked, 0)).toEqual({ [BTC_MARKET]: once })
  })

  it('stands while the chain does not answer, and goes with the market', () => {
    const before = remember({}, [{ address: BTC_MARKET, debtAssets: 5n }], 0)
    expect(remember(before, [{ address: BTC_MARKET, debtAssets: null }], HOUR_S)).toEqual(before)
    expect(remember(before, [], HOUR_S)).toEqual({})
    expect(remember({}, [{ address: BTC_MARKET, debtAssets: null }], HOUR_S)).toEqual({})
  })

  it('is of two weeks, and of what was borrowed in the most and least of them', () => {
    const { samples, levels } = watched(Array.from({ length: 400 }, (_, hour) => (hour < 64 ? 1e9 : hour)))
    expect([samples.length, samples[0]?.atS]).toEqual([336, 64 * HOUR_S])
    expect(levels.map(({ part }) => Math.round(part * 100))).toEqual([50, 30, 15, 5])
    expect(levels.map(({ assets }) => Math.round(assets))).toEqual([148, 282, 358, 391])
    expect(watched([5]).levels).toEqual([{ assets: 5, part: 1 }])
  })

  it('tells an hour’s spikes from those of days, and both from the prior', () => {
    const [short, long] = [1, 48].map((staysH) => persistenceS(watched(spiky(staysH)), 1_500_000, PRIOR_S))
    expect(short).toBeLessThan(4 * HOUR_S)
    expect(long).toBeGreaterThan(10 * HOUR_S)
  })

  it('is the prior until enough was seen that is as unusual, and where nothing ever changed', () => {
    expect(persistenceS(watched([1_000_000]), 1_000_000, PRIOR_S)).toBeCloseTo(PRIOR_S, 5)
    const still = watched(Array.from({ length: 300 }, () => 5))
    expect(persistenceS(still, 5, PRIOR_S)).toBeCloseTo(PRIOR_S, 5)
    // Hours that hardly differ, each from the last, say nothing of one that is like none of them.
    const restless = watched(Array.from({ length: 300 }, (_, hour) => 1_000_000 + 1_000 * (hour % 2)))
    expect(persistenceS(restless, 1_000_000, PRIOR_S)).toBeLessThan(HOUR_S)
    expect(persistenceS(restless, 1_500_000, PRIOR_S)).toBeCloseTo(PRIOR_S, -2)
  })
})
