import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  accruedFees,
  bridgeOf,
  buildUp,
  builtValue,
  type FeeTerms,
} from '../../../agents/nav-reporter/valuation.ts'
import { fund, holding, NOW_S, WAD } from './fixtures.ts'

const usd = (whole: number) => BigInt(whole) * 1_000_000n
const scale = { shareDecimals: 18, quoteDecimals: 6, decimals: 18 }
const haircuts = new Map([
  ['liquid', 0n],
  ['restricted', 100n],
])
const build = (changes: Parameters<typeof fund>[0] = {}) => buildUp(fund(changes), usd(460_000), haircuts)

describe('a fund', () => {
  test('is built up by idle money and by holdings after the haircut of their lane', () => {
    const parts = build()
    expect(parts).toEqual({ idleAssets: usd(460_000), holdingsAssets: usd(59_700), supply: 500_000n * WAD })
    if ('check' in parts) throw new TypeError(parts.check)
    expect(builtValue(parts, scale)).toBe(1_039_400_000_000_000_000n)
  })

  test('without anything to claim a holding is worth nothing, whatever the service says', () => {
    const empty = { ...holding('1', 'liquid'), claimableAssets: '0' }
    expect(build({ holdings: [empty], totalHoldings: 1 })).toMatchObject({ holdingsAssets: 0n })
  })

  test.each([
    ['a lane of no policy', { holdings: [holding('1', 'frozen')], totalHoldings: 1 }, 'lane_not_known'],
    [
      'no value',
      { holdings: [{ ...holding('1', 'liquid'), recoveryValueAssets: null }], totalHoldings: 1 },
      'holding_not_known',
    ],
    [
      'nothing said to claim',
      { holdings: [{ ...holding('1', 'liquid'), claimableAssets: null }], totalHoldings: 1 },
      'holding_not_known',
    ],
    [
      'a status of no meaning',
      { holdings: [{ ...holding('1', 'liquid'), holdingStatus: 'lost' }], totalHoldings: 1 },
      'holding_not_known',
    ],
    ['a holding too few', { holdings: [holding('1', 'liquid')] }, 'holdings_incomplete'],
    ['no list of holdings', { holdings: null }, 'holdings_incomplete'],
    ['no count of holdings', { totalHoldings: null }, 'holdings_incomplete'],
    ['no shares', { totalSupply: '0' }, 'fund_without_shares'],
    ['no known shares', { totalSupply: null }, 'supply_not_known'],
  ])('with %s is not known', (_, changes, check) => {
    expect(build(changes)).toMatchObject({ check })
  })
})

describe('accrued fees', () => {
  const terms: FeeTerms = {
    performanceFeeBps: 1_000n,
    carryRateBps: 2_000n,
    preferredReturnBps: 800n,
    highWaterValue: WAD,
    accruesSinceS: NOW_S,
  }
  const year = 365 * 86_400
  test('are nothing up to the high-water mark, and a part of what lies above', () => {
    expect(accruedFees(WAD, terms, NOW_S)).toEqual({ performance: 0n, carry: 0n })
    expect(accruedFees(WAD / 2n, terms, NOW_S)).toEqual({ performance: 0n, carry: 0n })
    expect(accruedFees((12n * WAD) / 10n, terms, NOW_S)).toEqual({
      performance: WAD / 50n,
      carry: (36n * WAD) / 1_000n,
    })
  })
  test('carry waits for the preferred return', () => {
    // 0.2 less 0.02 less a year's 0.08 is 0.1.
    expect(accruedFees((12n * WAD) / 10n, terms, NOW_S + year).carry).toBe(WAD / 50n)
    expect(accruedFees((12n * WAD) / 10n, terms, NOW_S + 3 * year).carry).toBe(0n)
  })
  test('never take more than the profit, and a higher value never gives its holder less', () => {
    const values = fc.bigInt({ min: 0n, max: 100n * WAD })
    fc.assert(
      fc.property(values, values, fc.nat(10 * year), (value, more, elapsedS) => {
        const net = (gross: bigint) => {
          const { performance, carry } = accruedFees(gross, terms, NOW_S + elapsedS)
          return gross - performance - carry
        }
        // Rounding takes one unit at most.
        return net(value + more) >= net(value) - 1n && net(value) >= (value < WAD ? value : WAD)
      }),
      { numRuns: 10_000 },
    )
  })
})

test('the steps of a bridge sum to its whole exactly', () => {
  const assets = fc.bigInt({ min: 0n, max: 10n ** 15n })
  const parts = fc.record({
    idleAssets: assets,
    holdingsAssets: assets,
    supply: fc.bigInt({ min: 1n, max: 10n ** 30n }),
  })
  const valued = fc.record({
    value: fc.bigInt({ min: 0n, max: 10n ** 24n }),
    fees: fc.bigInt({ min: 0n, max: 10n ** 20n }),
    parts,
  })
  fc.assert(
    fc.property(valued, valued, (from, to) => {
      const bridge = bridgeOf(from, to, scale)
      return Object.values(bridge).reduce((sum, step) => sum + step, from.value) === to.value
    }),
    { numRuns: 10_000 },
  )
})

test('a bridge between two built values leaves nothing but rounding to other', () => {
  const before = { idleAssets: usd(460_000), holdingsAssets: usd(60_000), supply: 500_000n * WAD }
  const after = { idleAssets: usd(480_000), holdingsAssets: usd(66_000), supply: 520_000n * WAD }
  const value = (parts: typeof before) => ({ value: builtValue(parts, scale), fees: 0n, parts })
  expect(bridgeOf(value(before), value(after), scale)).toEqual({
    idle: 40_000_000_000_000_000n,
    holdings: 12_000_000_000_000_000n,
    fees: 0n,
    units: -42_000_000_000_000_000n,
    other: 0n,
  })
})
