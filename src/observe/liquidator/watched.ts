import type { Address } from 'viem'
import { ceilDiv, type HealthTerms, RAY } from '../../../agents/protocol/health.ts'
import { accruedDebt } from '../../../agents/protocol/interest.ts'
import type { MarketResource, PositionResource } from '../../service/contract/resources.ts'
import type { FacilityRow } from './facilities.ts'

/** An index of positions by what makes them liquidatable, kept from one look to the next. */
export type RiskBook = {
  /** Take in the positions as they are listed now: what did not change costs next to nothing. */
  readonly update: (positions: readonly PositionResource[]) => void
  /** The borrowers of a market who are under water at these terms, and the nearest of the others. */
  readonly borrowersAtRisk: (market: Address, terms: HealthTerms | null) => readonly Address[]
}

/** Our own reading of a market's price, and how its debts grew since the service described them. */
type Now = {
  readonly priceWad: bigint | null
  readonly elapsedS: number
  readonly ratePerSecondWad: bigint | null
}

/**
 * Choose the rows that are worth a look: what the service lists for recovery, what it does not say in full, and what the
 * book holds at risk at our own reading of the price, with the nearest misses. Updates the book; otherwise pure.
 */
export function chooseWatched(
  rows: readonly FacilityRow[],
  markets: readonly MarketResource[],
  positions: readonly PositionResource[],
  nowOf: (market: Address) => Now,
  book: RiskBook,
): readonly FacilityRow[] {
  book.update(positions)
  const watched = new Set(
    markets.flatMap((market) => {
      const terms = termsOf(market, positions, nowOf(market.address))
      return book.borrowersAtRisk(market.address, terms).map((borrower) => `${market.address}:${borrower}`)
    }),
  )
  return rows.filter(
    (row) =>
      row.recovery !== null || !isListedInFull(row) || watched.has(`${row.marketAddress}:${row.borrower}`),
  )
}

const isListedInFull = ({ facility, position }: FacilityRow) =>
  [facility?.debtAssets, position?.debtAssets, position?.debtShares, position?.collateralAssets].every(
    (figure) => figure !== null && figure !== undefined,
  )

/** Null where a term is not known: then nobody is under water, and the nearest are those of the highest ratio. */
function termsOf(
  { address, loanDecimals, collateralDecimals, liquidationThresholdBps }: MarketResource,
  positions: readonly PositionResource[],
  now: Now,
): HealthTerms | null {
  const inMarket = positions.filter((row) => row.marketAddress === address)
  const indexRay = indexOf(inMarket, now)
  if (loanDecimals == null || collateralDecimals == null || liquidationThresholdBps == null) return null
  if (now.priceWad === null || indexRay === null) return null
  return {
    price: { priceWad: now.priceWad, loanDecimals, collateralDecimals },
    liquidationThresholdBps,
    indexRay,
  }
}

/** What a share is worth, by the position with most of them: there rounding to base units weighs least. */
function indexOf(positions: readonly PositionResource[], { elapsedS, ratePerSecondWad }: Now): bigint | null {
  let largest: { readonly shares: string; readonly debt: string } | null = null
  for (const { debtShares: shares, debtAssets: debt } of positions) {
    if (shares == null || debt == null || shares === '0') continue
    if (largest === null || isMore(shares, largest.shares)) largest = { shares, debt }
  }
  if (largest === null || ratePerSecondWad === null) return null
  const debtAssets = accruedDebt(BigInt(largest.debt), ratePerSecondWad, elapsedS)
  return ceilDiv(debtAssets * RAY, BigInt(largest.shares))
}

/** Decimal digits, as the service writes them: without sign or leading zeros. */
const isMore = (one: string, other: string) =>
  one.length === other.length ? one > other : one.length > other.length
