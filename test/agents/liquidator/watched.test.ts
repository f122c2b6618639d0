import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import type { RiskBook } from '../../../agents/liquidator/risk-book.ts'
import { riskBook } from '../../../agents/liquidator/risk-book.ts'
import { likelyIn, watchedIn } from '../../../agents/liquidator/watched.ts'
import type { PositionResource } from '../../../src/service/contract/resources.ts'
import { MARKET, marketRow, PRICE, positionRow, recoveryRow } from './service-fixtures.ts'

const borrowerOf = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`

/** Borrower `n` owes `n` hundred sUSD against one sBTC: at 50,000 and a threshold of 80 %, 401 and up are under water. */
const position = (number: number, changes: Partial<PositionResource> = {}) =>
  positionRow({
    walletAddress: borrowerOf(number),
    debtAssets: `${number}00000000`,
    debtShares: `${number}00000000`,
    ...changes,
  })

function bookOf(positions: readonly PositionResource[], listed: readonly number[] = []): RiskBook {
  const book = riskBook.empty()
  for (const row of positions) riskBook.apply(book, { collection: 'positions', row })
  for (const number of listed) {
    const row = recoveryRow({ borrowerAddress: borrowerOf(number) })
    riskBook.apply(book, { collection: 'liquidation-recovery', row })
  }
  return book
}

/** Whom a market's look is worth; `told` are the positions that the first wave brought. */
function watch(
  book: RiskBook,
  told: readonly PositionResource[],
  now: { readonly priceWad?: bigint | null; readonly elapsedS?: number; readonly blockNumber?: bigint } = {},
): readonly number[] {
  const { elapsedS = 0, blockNumber = 10n, priceWad = PRICE } = now
  const positions = told.map((row) => ({ row, elapsedS }))
  const terms = { priceWad, ratePerSecondWad: 10n ** 14n }
  const watched = watchedIn(book, marketRow(), positions, terms, blockNumber)
  return [...watched].map(Number).toSorted((one, other) => one - other)
}
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe('the rows that are worth a look', () => {
  const crowd = range(200, 403).map((number) => position(number))

  it('are those under water and the fifty nearest', () => {
    expect(watch(bookOf(crowd), crowd)).toEqual(range(351, 403))
  })

  it('are others after a price move, after interest, and after a borrower came, repaid or left', () => {
    const book = bookOf(crowd)
    // 0.8 × 45,000 is 36,000: 361 and up are under water.
    expect(watch(book, crowd, { priceWad: (PRICE * 9n) / 10n })).toEqual(range(311, 403))
    // A tenth more of debt: 364 and up.
    expect(watch(book, crowd, { elapsedS: 1_000 })).toEqual(range(314, 403))
    for (const number of [390, 402]) {
      const gone = { marketAddress: MARKET, walletAddress: borrowerOf(number) }
      riskBook.apply(book, { collection: 'positions', gone })
    }
    const repaid = position(403, { debtShares: '20000000000', debtAssets: '20000000000' })
    for (const row of [repaid, position(500)]) riskBook.apply(book, { collection: 'positions', row })
    // Who left makes room for the next of the fifty.
    expect(watch(book, crowd)).toEqual([...range(350, 389), ...range(391, 401), 500])
  })

  it('are whatever the service lists for recovery or does not say in full, too', () => {
    const partial = position(201, { collateralAssets: null })
    const silent = position(203, { debtShares: null })
    const rows = [
      ...crowd.filter(({ walletAddress }) => ![201, 203].includes(Number(walletAddress))),
      partial,
      silent,
    ]
    expect(watch(bookOf(rows, [202]), rows)).toEqual([201, 202, 203, ...range(351, 403)])
  })

  it('are no more once the service lists it for recovery no more', () => {
    const book = bookOf(crowd, [202])
    const { vaultAddress } = recoveryRow()
    const gone = { marketAddress: MARKET, vaultAddress, borrowerAddress: borrowerOf(202) }
    riskBook.apply(book, { collection: 'liquidation-recovery', gone })
    expect(watch(book, crowd)).toEqual(range(351, 403))
  })

  it('are the nearest while no price is known, or no position says what a share is worth', () => {
    expect(watch(bookOf(crowd), crowd, { priceWad: null })).toEqual(range(354, 403))
    expect(watch(bookOf(crowd), [])).toEqual(range(354, 403))
  })

  it.each([1n, 2n, 3n, 4n, 5n, 6n, 7n, 12n, 60n])(
    'take turns where more are under water than can be looked at, and all have one at every %s. block',
    (every) => {
      const drowning = range(401, 850).map((number) => position(number))
      const book = bookOf(drowning)
      const turns = range(1, 40).map((look) => watch(book, drowning, { blockNumber: BigInt(look) * every }))
      expect(turns.filter((numbers) => numbers.length > 200)).toEqual([])
      expect([...new Set(turns.flat())].toSorted((one, other) => one - other)).toEqual(range(401, 850))
    },
  )

  it('are the richest in every block, however much dust is under water before them', () => {
    const dust = range(1_000, 6_000).map((number) => position(number, { collateralAssets: '100' }))
    const all = [...dust, position(401), position(402)]
    const book = bookOf(all)
    for (const blockNumber of [10n, 11n, 12n])
      expect(watch(book, all, { blockNumber }).slice(0, 2)).toEqual([401, 402])
  })

  it.each([
    [
      'of too little debt to tell what a share is worth',
      { debtShares: '1', debtAssets: '2', collateralAssets: '0' },
    ],
    ['without figures', { debtShares: null, debtAssets: null, collateralAssets: null }],
  ])('are no others, and no fewer, when the nearest are %s', (_name, changes) => {
    const nearest = range(1_001, 1_060).map((number) => position(number, changes))
    const all = [...crowd, ...nearest]
    const book = bookOf(all)
    const likely = new Set(likelyIn(book, MARKET))
    const told = all.filter(({ walletAddress }) => likely.has(walletAddress))
    expect(watch(book, told).filter((number) => number < 1_000)).toEqual(range(351, 403))
  })
})
