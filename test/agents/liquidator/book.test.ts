import fc from 'fast-check'
import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  apply,
  type Book,
  type BookChange,
  emptyBook,
  endangered,
  largestIn,
} from '../../../agents/liquidator/book.ts'
import { type HealthTerms, RAY } from '../../../agents/protocol/health.ts'

const MARKET: Address = `0x${'3'.repeat(40)}`
const OTHER: Address = `0x${'4'.repeat(40)}`
const address = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`
const bookOf = (changes: readonly BookChange[]): Book => changes.reduce(apply, emptyBook())

const at = (priceWad: bigint, indexRay = RAY): HealthTerms => ({
  price: { priceWad, loanDecimals: 6, collateralDecimals: 8 },
  liquidationThresholdBps: 8_000,
  indexRay,
})

/** By the definition: every position looked at, in fractions. */
const isUnder = ({ debtShares, collateralAssets }: BookChange, { price, indexRay }: HealthTerms) =>
  debtShares * indexRay * 10_000n * 10n ** 8n * 10n ** 18n >
  collateralAssets * price.priceWad * 10n ** 6n * 8_000n * RAY

/** Asked before each change, so that what was found has to be given up where it changes. */
function largestOf(changes: readonly BookChange[], market: Address): readonly Address[] {
  const book = changes.reduce((folded, one) => {
    largestIn(folded, market)
    return apply(folded, one)
  }, emptyBook())
  return largestIn(book, market)
}

const change = fc.record({
  marketAddress: fc.constantFrom(MARKET, OTHER),
  borrower: fc.integer({ min: 1, max: 12 }).map(address),
  // Few values, so that equal ratios and positions exactly at the waterline are common.
  debtShares: fc.constantFrom(0n, 0n, 1n, 40_000n, 40_001n, 80_000n, 2n ** 53n + 1n, 2n ** 256n - 1n),
  collateralAssets: fc.constantFrom(0n, 1n, 100n, 101n, 200n, 2n ** 53n, 2n ** 256n - 1n),
})
const terms = fc.constantFrom(
  at(0n),
  at(1n),
  at(500n * 10n ** 20n),
  at(500n * 10n ** 20n, RAY + 1n),
  at(10n ** 30n),
  null,
)

describe('the book', () => {
  it('folded from changes equals the one built from a sweep, to every question', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 24 }), terms, fc.nat(6), (changes, asked, nearestMax) => {
        const folded = bookOf(changes)
        const last = new Map(changes.map((one) => [`${one.marketAddress}:${one.borrower}`, one]))
        const swept = bookOf([...last.values()].toReversed())
        for (const market of [MARKET, OTHER]) {
          const answer = endangered(folded, market, asked, nearestMax)
          expect(answer).toEqual(endangered(swept, market, asked, nearestMax))
          const present = [...last.values()].filter(
            (one) => one.marketAddress === market && one.debtShares > 0n,
          )
          const under = asked === null ? [] : present.filter((one) => isUnder(one, asked))
          expect(answer.underWater.toSorted()).toEqual(under.map(({ borrower }) => borrower).toSorted())
          const owed = (borrower: Address) => last.get(`${market}:${borrower}`)?.debtShares ?? 0n
          const most = present
            .map(({ debtShares }) => debtShares)
            .toSorted((one, other) => (one > other ? -1 : 1))
          expect(largestOf(changes, market).map(owed)).toEqual(most.slice(0, 5))
          expect(answer.nearest).toHaveLength(Math.min(nearestMax, present.length - under.length))
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('keeps its order and its addresses as thousands come and go', () => {
    const book = emptyBook()
    const owed = new Map<Address, bigint>()
    let state = 1
    for (let step = 0; step < 20_000; step += 1) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      const borrower = address(state % 3_000)
      const debtShares = state % 7 === 0 ? 0n : BigInt(state >>> 8)
      apply(book, { marketAddress: MARKET, borrower, debtShares, collateralAssets: 100n })
      owed.set(borrower, debtShares)
    }
    const { underWater, nearest } = endangered(book, MARKET, null, 5_000)
    expect(underWater).toEqual([])
    const expected = [...owed].filter(([, debtShares]) => debtShares > 0n)
    const ordered = expected.toSorted(([one, left], [other, right]) =>
      left === right ? (one < other ? -1 : 1) : left > right ? -1 : 1,
    )
    expect(nearest).toEqual(ordered.map(([borrower]) => borrower))
  })

  it('finds a position one share past the waterline, and none at it', () => {
    const exact = { marketAddress: MARKET, borrower: address(1), collateralAssets: 100_000_000n }
    const terms = at(50_000n * 10n ** 18n)
    const under = (debtShares: bigint) =>
      endangered(bookOf([{ ...exact, debtShares }]), MARKET, terms, 0).underWater
    expect(under(40_000_000_000n)).toEqual([])
    expect(under(40_000_000_001n)).toHaveLength(1)
  })

  it('knows no positions of a market that it never heard of', () => {
    expect(endangered(emptyBook(), MARKET, at(1n), 5)).toEqual({ underWater: [], nearest: [] })
  })
})
