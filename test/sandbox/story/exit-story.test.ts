import { expect, it } from 'vitest'
import { towards } from '../../../sandbox/story/exit-story.ts'

/** A pool of 200 sBTC and 12,000,000 sUSD, base units. */
const START = { collateralAssets: 20_000_000_000n, loanAssets: 12_000_000_000_000n }
/** Loan base units for one of collateral, as a wad. */
const priceWad = (dollars: bigint) => dollars * 10n ** 16n

/** Play ticks until the pool is left alone: how many, and what it then pays for a whole sBTC. */
function settled(dollars: bigint) {
  let { collateralAssets, loanAssets } = START
  for (let ticks = 0; ; ticks += 1) {
    const swap = towards({ collateralAssets, loanAssets }, priceWad(dollars))
    if (swap === null) return { ticks, price: Number(loanAssets) / 1e6 / (Number(collateralAssets) / 1e8) }
    const product = collateralAssets * loanAssets
    if (swap.sells) {
      collateralAssets += swap.assets
      loanAssets = product / collateralAssets
    } else {
      loanAssets += swap.assets
      collateralAssets = product / loanAssets
    }
  }
}

it('brings a pool to within ten basis points of its oracle, a part of the way each tick', () => {
  expect(settled(60_000n)).toEqual({ ticks: 0, price: 60_000 })
  for (const dollars of [40_000n, 58_000n, 61_000n, 90_000n]) {
    const { ticks, price } = settled(dollars)
    expect(ticks).toBeGreaterThan(5)
    expect(ticks).toBeLessThan(20)
    expect(Math.abs(price / Number(dollars) - 1)).toBeLessThan(0.001)
  }
})
