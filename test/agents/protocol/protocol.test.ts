import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  collateralValue,
  HEALTH_WITHOUT_DEBT_WAD,
  healthFactorWad,
  type Price,
  WAD,
} from '../../../agents/protocol/health.ts'
import { accruedDebt } from '../../../agents/protocol/interest.ts'
import {
  badDebtAfter,
  repayLimit,
  repayThatExhausts,
  repayThatFits,
  seizedCollateral,
} from '../../../agents/protocol/liquidation.ts'

const NO_CAP = 2n ** 255n
const decimals = fc.constantFrom(6, 8, 18)
const priceWad = fc.bigInt(1n, 10n ** 26n)
const price: fc.Arbitrary<Price> = fc.record({
  priceWad,
  loanDecimals: decimals,
  collateralDecimals: decimals,
})
const terms = fc.record({ price, liquidationBonusBps: fc.integer({ min: 0, max: 2_000 }) })
const assets = fc.bigInt(1n, 10n ** 27n)

describe('collateral value', () => {
  it.each([
    [6, 8, 100_000_000n, 50_000_000_000n],
    [6, 18, 10n ** 18n, 50_000_000_000n],
    [18, 6, 1_000_000n, 50_000n * 10n ** 18n],
    [6, 6, 1n, 50_000n],
    [6, 18, 10n ** 18n - 1n, 49_999_999_999n],
  ])('is exact with loan decimals %i and collateral decimals %i', (loan, collateral, held, value) => {
    const at = { priceWad: 50_000n * WAD, loanDecimals: loan, collateralDecimals: collateral }
    expect(collateralValue(held, at)).toBe(value)
  })
})

describe('health factor', () => {
  const at: Price = { priceWad: 50_000n * WAD, loanDecimals: 6, collateralDecimals: 8 }
  const position = { collateralAssets: 100_000_000n, liquidationThresholdBps: 8_000 }

  it('is one where debt equals the threshold, and below it one unit of debt further', () => {
    expect(healthFactorWad({ ...position, debtAssets: 40_000_000_000n }, at)).toBe(WAD)
    expect(healthFactorWad({ ...position, debtAssets: 40_000_000_001n }, at)).toBeLessThan(WAD)
  })

  it('is the largest number without debt', () => {
    expect(healthFactorWad({ ...position, debtAssets: 0n }, at)).toBe(HEALTH_WITHOUT_DEBT_WAD)
  })

  it('falls as debt grows and rises as collateral grows', () => {
    fc.assert(
      fc.property(assets, assets, assets, price, (collateralAssets, debtAssets, more, at) => {
        const held = { collateralAssets, debtAssets, liquidationThresholdBps: 8_000 }
        const before = healthFactorWad(held, at)
        expect(healthFactorWad({ ...held, debtAssets: debtAssets + more }, at) <= before).toBe(true)
        expect(healthFactorWad({ ...held, collateralAssets: collateralAssets + more }, at) >= before).toBe(
          true,
        )
      }),
    )
  })
})

describe('liquidation', () => {
  it('limits a repayment by the close factor, rounded up', () => {
    expect(repayLimit(10n, 5_000)).toBe(5n)
    expect(repayLimit(11n, 5_000)).toBe(6n)
    expect(repayLimit(11n, 10_000)).toBe(11n)
  })

  it('seizes the repayment and its bonus, rounded down and capped', () => {
    const at = {
      price: { priceWad: 50_000n * WAD, loanDecimals: 6, collateralDecimals: 8 },
      liquidationBonusBps: 500,
    }
    expect(seizedCollateral(1_000_000_000n, NO_CAP, at)).toBe(2_100_000n)
    expect(seizedCollateral(1_000_000_000n, 2_000_000n, at)).toBe(2_000_000n)
    expect(seizedCollateral(476n, NO_CAP, at)).toBe(0n)
  })

  it('never seizes more than the bonus allows', () => {
    fc.assert(
      fc.property(assets, terms, (repay, at) => {
        const seized = seizedCollateral(repay, NO_CAP, at)
        const allowed = repay * (10_000n + BigInt(at.liquidationBonusBps))
        expect(collateralValue(seized, at.price) * 10_000n <= allowed).toBe(true)
      }),
    )
  })

  it('exhausts the collateral with the least repayment that does', () => {
    fc.assert(
      fc.property(assets, terms, (held, at) => {
        const repay = repayThatExhausts(held, at)
        expect(seizedCollateral(repay, NO_CAP, at) >= held).toBe(true)
        expect(seizedCollateral(repay - 1n, NO_CAP, at) < held).toBe(true)
      }),
    )
  })

  it('fits a repayment into the room that is left', () => {
    fc.assert(
      fc.property(assets, terms, (room, at) => {
        expect(seizedCollateral(repayThatFits(room, at), NO_CAP, at) <= room).toBe(true)
      }),
    )
  })

  it('leaves bad debt only when no collateral is left', () => {
    expect(badDebtAfter(100n, 60n, 0n)).toBe(40n)
    expect(badDebtAfter(100n, 60n, 1n)).toBe(0n)
    expect(badDebtAfter(100n, 100n, 0n)).toBe(0n)
  })
})

describe('interest', () => {
  it('grows by rate and seconds, rounded down', () => {
    expect(accruedDebt(1_000_000_000_000n, 1_584_404_390n, 1)).toBe(1_000_000_001_584n)
    expect(accruedDebt(1n, 1_584_404_390n, 1)).toBe(1n)
    expect(accruedDebt(5n, 10n ** 18n, 0)).toBe(5n)
  })

  it('stays within one unit of a market that rounds its index and debt up', () => {
    const RAY = 10n ** 27n
    const up = (a: bigint, b: bigint) => (a + b - 1n) / b
    fc.assert(
      fc.property(
        fc.bigInt(1n, 10n ** 24n),
        fc.bigInt(RAY, 3n * RAY),
        fc.bigInt(0n, 10n ** 11n),
        fc.integer({ min: 0, max: 600 }),
        (shares, index, rate, seconds) => {
          const later = index + up(index * rate * BigInt(seconds), WAD)
          const real = up(shares * later, RAY)
          const ours = accruedDebt(up(shares * index, RAY), rate, seconds)
          expect(ours <= real + 1n && ours + 2n >= real).toBe(true)
        },
      ),
    )
  })
})
