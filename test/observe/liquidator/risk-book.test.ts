import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import { joinRows } from '../../../src/observe/liquidator/facilities.ts'
import { createRiskBook } from '../../../src/observe/liquidator/risk-book.ts'
import { chooseWatched } from '../../../src/observe/liquidator/watched.ts'
import type {
  LiquidationRecoveryResource,
  PositionResource,
} from '../../../src/service/contract/resources.ts'
import { CHAIN_ID, facilityRow, marketRow, PRICE, positionRow, recoveryRow } from './fixtures.ts'

const borrowerOf = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`

/** Borrower `n` owes `n` hundred sUSD against one sBTC: at 50,000 and a threshold of 80 %, 401 and up are under water. */
const position = (number: number, changes: Partial<PositionResource> = {}) =>
  positionRow({
    walletAddress: borrowerOf(number),
    debtAssets: `${number}00000000`,
    debtShares: `${number}00000000`,
    ...changes,
  })

function createWatch() {
  const book = createRiskBook(CHAIN_ID)
  return (
    positions: readonly PositionResource[],
    now: { readonly priceWad?: bigint | null; readonly elapsedS?: number } = {},
    recoveries: readonly LiquidationRecoveryResource[] = [],
  ) => {
    const facilities = positions.map(({ walletAddress, debtAssets }) =>
      facilityRow({ borrowerAddress: walletAddress, debtAssets: debtAssets ?? null }),
    )
    const rows = joinRows(CHAIN_ID, facilities, positions, recoveries)
    const accrual = { priceWad: PRICE, elapsedS: 0, ratePerSecondWad: 10n ** 14n, ...now }
    const chosen = chooseWatched(rows, [marketRow()], positions, () => accrual, book)
    return chosen.map(({ borrower }) => Number(borrower)).toSorted((one, other) => one - other)
  }
}
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe('the rows that are worth a look', () => {
  const crowd = range(200, 403).map((number) => position(number))

  it('are those under water and the fifty nearest', () => {
    expect(createWatch()(crowd)).toEqual(range(351, 403))
  })

  it('are others after a price move, after interest, and after a borrower came, repaid or left', () => {
    const watch = createWatch()
    watch(crowd)
    // 0.8 × 45,000 is 36,000: 361 and up are under water.
    expect(watch(crowd, { priceWad: (PRICE * 9n) / 10n })).toEqual(range(311, 403))
    // A tenth more of debt: 364 and up.
    expect(watch(crowd, { elapsedS: 1_000 })).toEqual(range(314, 403))
    const changed = [
      ...crowd.filter(({ walletAddress }) => ![390, 402, 403].includes(Number(walletAddress))),
      position(403, { debtShares: '20000000000', debtAssets: '20000000000' }),
      position(500),
    ]
    // Who left makes room for the next of the fifty.
    expect(watch(changed)).toEqual([...range(350, 389), ...range(391, 401), 500])
    expect(watch(crowd)).toEqual(range(351, 403))
  })

  it('are whatever the service lists for recovery or does not say in full, too', () => {
    const partial = position(201, { collateralAssets: null })
    const rows = [...crowd.filter(({ walletAddress }) => walletAddress !== partial.walletAddress), partial]
    const listed = [recoveryRow({ borrowerAddress: borrowerOf(202) })]
    expect(createWatch()(rows, {}, listed)).toEqual([201, 202, ...range(351, 403)])
  })

  it('are the nearest while no price is known', () => {
    expect(createWatch()(crowd, { priceWad: null })).toEqual(range(354, 403))
  })
})
