import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BORROWERS } from '../../../sandbox/cast/borrowers.ts'
import type { MarketName } from '../../../sandbox/deploy/markets.ts'
import { SCENARIOS } from '../../../sandbox/story/scenarios.ts'
import { story, type Tick } from '../../../sandbox/story/story.ts'
import { QUIET_SEED } from '../../lab/conformance/quiet-story.ts'

const THRESHOLD_BPS = { btc: 8_000, eth: 7_800 }
const LLTV_BPS = { btc: 7_500, eth: 7_000 }
const BASE = { btc: 60_000, eth: 3_000 }

const MOOD = SCENARIOS.lively.markets
const seeds = fc.integer({ min: 0, max: 1_000_000 })
const ticksOf = (seed: number, ticks: number) =>
  Array.from({ length: ticks }, (_, tick) => story(MOOD, seed, tick))
const marketOf = (tick: Tick | undefined, name: MarketName) => {
  const found = tick?.markets.find(({ market }) => market === name)
  if (found === undefined) throw new Error('no such market')
  return { ...found, price: Number(found.priceWad) / 1e18 }
}

/** Long enough for crashes and stale oracles in both markets. */
const LONG = ticksOf(11, 4_000)

type Crossing = { readonly tick: number; readonly borrower: number; readonly market: MarketName }

/** Follow every position as the story alone makes it, without a liquidator; say when each first can be liquidated. */
function crossings(ticks: readonly Tick[]): readonly Crossing[] {
  type Position = { debt: number; collateral: number; market: MarketName; crossed: boolean }
  const positions = new Map<number, Position>()
  const found: Crossing[] = []
  for (const [tick, { acts }] of ticks.entries()) {
    for (const act of acts) {
      const { borrower, market } = act
      const { price } = marketOf(ticks[tick], market)
      if (act.act === 'close') positions.delete(borrower)
      if (act.act === 'open') {
        const debt = Number(act.debtAssets) / 1e6
        const collateral = debt / price / (LLTV_BPS[market] / 10_000) / (Number(act.limitBps) / 10_000)
        positions.set(borrower, { debt, collateral, market, crossed: false })
      }
      const position = positions.get(borrower)
      if (position !== undefined && act.act === 'repay') position.debt *= 1 - Number(act.debtBps) / 10_000
      if (position !== undefined && act.act === 'topUp')
        position.collateral *= 1 + Number(act.collateralBps) / 10_000
    }
    for (const [borrower, position] of positions) {
      const { price, oracle, paused } = marketOf(ticks[tick], position.market)
      const health = (position.collateral * price * THRESHOLD_BPS[position.market]) / 10_000 / position.debt
      if (health >= 1 || position.crossed || oracle !== 'healthy' || paused) continue
      position.crossed = true
      found.push({ tick, borrower, market: position.market })
    }
  }
  return found
}

describe('the story', () => {
  it('is the same for the same seed, in any order of ticks', () => {
    fc.assert(
      fc.property(seeds, fc.array(fc.nat(1_000_000), { maxLength: 5 }), (seed, ticks) => {
        const forwards = ticks.map((tick) => story(MOOD, seed, tick))
        expect([...ticks].reverse().map((tick) => story(MOOD, seed, tick))).toEqual(forwards.reverse())
      }),
      { numRuns: 50 },
    )
    expect(ticksOf(1, 60)).not.toEqual(ticksOf(2, 60))
  })

  it('brings the first liquidatable position within 12 ticks, for any seed', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(crossings(ticksOf(seed, 13))).not.toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  it('brings at least 6 liquidatable positions a minute on average, over both markets and many borrowers', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const found = crossings(ticksOf(seed, 600))
        expect(found.length).toBeGreaterThanOrEqual(60)
        expect(new Set(found.map(({ borrower }) => borrower)).size).toBeGreaterThanOrEqual(BORROWERS / 2)
        for (const name of ['btc', 'eth']) {
          expect(found.filter(({ market }) => market === name).length).toBeGreaterThanOrEqual(15)
        }
      }),
      { numRuns: 10 },
    )
  })

  it('brings at least 3 liquidatable positions in its first 40 seconds, for any seed', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(crossings(ticksOf(seed, 40)).length).toBeGreaterThanOrEqual(3)
      }),
      { numRuns: 100 },
    )
  })

  it('has near misses and positions that are closed', () => {
    const ticks = ticksOf(7, 600)
    const opened = ticks.flatMap(({ acts }) => acts).filter(({ act }) => act === 'open').length
    const acts = new Set(ticks.flatMap(({ acts }) => acts.map(({ act }) => act)))
    expect(acts).toEqual(new Set(['open', 'repay', 'topUp', 'close']))
    expect(crossings(ticks).length).toBeLessThan(opened * 0.9)
  })

  it('opens debts of $1,000 to $20,000', () => {
    const debts = [1, 2, 3].flatMap((seed) =>
      ticksOf(seed, 600).flatMap(({ acts }) =>
        acts.flatMap((act) => (act.act === 'open' ? [act.debtAssets] : [])),
      ),
    )
    const sorted = debts.toSorted((a, b) => Number(a - b))
    expect(sorted[0]).toBeGreaterThanOrEqual(1_000_000_000n)
    expect(sorted.at(-1)).toBeLessThanOrEqual(20_000_000_000n)
    expect(Number(sorted.at(-1))).toBeGreaterThan(5 * Number(sorted[0]))
  })

  it('moves a price by less than 1.15 % a tick before the first crash may come, and by less than 2.5 % ever', () => {
    for (const name of ['btc', 'eth'] as const) {
      const stepMax = (ticks: readonly Tick[]) => {
        const prices = ticks.map((tick) => marketOf(tick, name).price)
        return Math.max(...prices.slice(1).map((price, index) => Math.abs(price / (prices[index] ?? 0) - 1)))
      }
      for (const seed of [1, 2, 3, 4, 5]) expect(stepMax(ticksOf(seed, 75))).toBeLessThan(0.0115)
      expect(stepMax(LONG)).toBeLessThan(0.025)
    }
  })

  it('keeps a price near its base, however long it goes on', () => {
    fc.assert(
      fc.property(seeds, fc.nat(10_000_000), (seed, tick) => {
        for (const name of ['btc', 'eth'] as const) {
          const { price } = marketOf(story(MOOD, seed, tick), name)
          expect(price / BASE[name]).toBeGreaterThan(0.7)
          expect(price / BASE[name]).toBeLessThan(1.04)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('lets an oracle go stale and a market pause now and then, for 20 ticks at most', () => {
    for (const name of ['btc', 'eth'] as const) {
      const markets = LONG.map((tick) => marketOf(tick, name))
      for (const isShut of [
        ({ oracle }: (typeof markets)[number]) => oracle === 'stale',
        ({ paused }: (typeof markets)[number]) => paused,
      ]) {
        const lengths = markets
          .map((market) => (isShut(market) ? 'x' : ' '))
          .join('')
          .split(' ')
          .map(({ length }) => length)
        const longest = Math.max(...lengths)
        expect(longest).toBeGreaterThan(0)
        expect(longest).toBeLessThanOrEqual(20)
      }
    }
  })

  it('shuts nothing for ten minutes in the seed of tests that wait for honest work', () => {
    const markets = ticksOf(QUIET_SEED, 600).flatMap((tick) => tick.markets)
    expect(markets.filter(({ paused, oracle }) => paused || oracle === 'stale')).toEqual([])
  })

  it('goes so deep in a crash that a position is worth less than its debt when its market opens again', () => {
    const reopened = LONG.flatMap((tick, index) => {
      const [before, now] = [marketOf(LONG[index - 1] ?? tick, 'btc'), marketOf(tick, 'btc')]
      return before.paused && !now.paused ? [index] : []
    })
    expect(reopened.length).toBeGreaterThan(0)
    for (const index of reopened) {
      const fall = marketOf(LONG[index], 'btc').price / marketOf(LONG[index - 23], 'btc').price
      // Borrowed at 75 %; the bonus takes 5 % more than is repaid.
      expect(fall / 0.75).toBeLessThan(1.05)
    }
  })
})
