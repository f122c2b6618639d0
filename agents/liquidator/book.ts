import type { Address } from 'viem'
import { BPS, type HealthTerms, RAY, tokenUnit, WAD } from '../protocol/health.ts'
import { type Endangered, MarketBook, type Position, type Waterline } from './market-book.ts'

/** A position as it is now; without debt shares it is gone. */
export type BookChange = Position & { readonly marketAddress: Address }

/** Every position of every market, in the order in which a falling price takes them. */
export type Book = Map<Address, MarketBook>

/** Return a book without positions. Pure. */
export const emptyBook = (): Book => new Map()

/** Fold one change into the book, in place. The same positions give the same answers, whatever came in when. */
export function apply(book: Book, change: BookChange): Book {
  const market = book.get(change.marketAddress) ?? new MarketBook()
  market.set(change)
  return book.set(change.marketAddress, market)
}

/**
 * Find the positions of a market that are under water at a price and an index, and at most `nearestMax` that come next;
 * without terms, only the latter. Pure. The market itself rounds amounts to base units, in the borrower's disfavour by
 * up to one a vault: what only that puts under water is the first of the nearest.
 */
export function endangered(
  book: Book,
  marketAddress: Address,
  terms: HealthTerms | null,
  nearestMax: number,
): Endangered {
  const market = book.get(marketAddress)
  if (market === undefined) return { underWater: [], nearest: [] }
  return market.endangered(terms === null ? NEVER : waterline(terms), nearestMax)
}

/** Find who owes most in a market, a few at most. Pure. */
export const largestIn = (book: Book, marketAddress: Address): readonly Address[] =>
  book.get(marketAddress)?.largest() ?? []

/** What a borrower has in a market, base units; 0 where that is not known. Pure. */
export const collateralOf = (book: Book, marketAddress: Address, borrower: Address): bigint =>
  book.get(marketAddress)?.collateralOf(borrower) ?? 0n

const NEVER: Waterline = { debtSide: 0n, collateralSide: 1n }

/** Health is collateral × price × threshold / (shares × index), with each in its units. */
const waterline = ({ price, liquidationThresholdBps, indexRay }: HealthTerms): Waterline => ({
  debtSide: indexRay * BPS * tokenUnit(price.collateralDecimals) * WAD,
  collateralSide: price.priceWad * tokenUnit(price.loanDecimals) * BigInt(liquidationThresholdBps) * RAY,
})
