import type { Address } from 'viem'
import type { MarketResource, PositionResource } from '../../src/service/contract/resources.ts'
import { ceilDiv, type HealthTerms, RAY } from '../protocol/health.ts'
import { accruedDebt } from '../protocol/interest.ts'
import { collateralOf, endangered, largestIn } from './book.ts'
import type { RiskBook } from './risk-book.ts'
import type { Dated } from './see-facility.ts'

/** Healthy positions of each market that a decision still judges, so that `explain` shows how near they came. */
const NEAREST_MAX = 50
/**
 * Borrowers of each market that are looked at in one block, of those under water and of those listed for recovery each:
 * more than an hour's budget liquidates. Where there are more, half are those with the most collateral, which dust
 * cannot crowd out; the others take turns from block to block, so that what nobody wants never hides what is worth it.
 */
const AT_RISK_MAX = 200
const RICHEST_MAX = AT_RISK_MAX / 2
/** Knuth's: looks at every second or fifth block have all turns too. */
const SCRAMBLE = 2_654_435_761n

/** Our own reading of a market's price, and how its debts grow. */
type Now = { readonly priceWad: bigint | null; readonly ratePerSecondWad: bigint | null }

/**
 * The nearest of a market whatever its price, the head of the order that any price cuts, and those who owe most: what is
 * left of others may be too little to tell what a share is worth. Pure.
 */
export const tellingIn = (book: RiskBook, market: Address): readonly Address[] => [
  ...endangered(book.positions, market, null, NEAREST_MAX).nearest,
  ...largestIn(book.positions, market),
]

/** Whom the service lists for recovery in a market. Pure. */
const listedIn = (book: RiskBook, market: Address): readonly Address[] =>
  [...book.listed.values()]
    .filter(({ marketAddress }) => marketAddress === market)
    .map(({ borrower }) => borrower)

/** The borrowers of a market who are most likely worth a look, before its price is read. Pure. */
export const likelyIn = (book: RiskBook, market: Address): readonly Address[] => [
  ...listedIn(book, market).slice(0, AT_RISK_MAX),
  ...tellingIn(book, market),
]

/**
 * Choose the borrowers of a market that are worth a look: whom the book holds at risk at our own reading of the price,
 * the nearest of the others, and whom the service lists for recovery. Pure.
 * @param positions of this market, as the service described them last.
 */
export function watchedIn(
  book: RiskBook,
  market: MarketResource,
  positions: readonly Dated<PositionResource>[],
  now: Now,
  blockNumber: bigint,
): ReadonlySet<Address> {
  const terms = termsOf(market, positions, now)
  const { underWater, nearest } = endangered(book.positions, market.address, terms, NEAREST_MAX)
  const listed = listedIn(book, market.address)
  const most = (borrowers: readonly Address[]) =>
    turn(borrowers, (borrower) => collateralOf(book.positions, market.address, borrower), blockNumber)
  return new Set([...most(underWater), ...nearest, ...most(listed)])
}

/** The richest, and those of the others whose turn it is at a block. */
function turn(
  borrowers: readonly Address[],
  collateral: (borrower: Address) => bigint,
  blockNumber: bigint,
): readonly Address[] {
  if (borrowers.length <= AT_RISK_MAX) return borrowers
  const byWealth = borrowers
    .map((borrower) => ({ borrower, assets: collateral(borrower) }))
    .toSorted((one, other) => (one.assets === other.assets ? 0 : one.assets > other.assets ? -1 : 1))
    .map(({ borrower }) => borrower)
  const others = byWealth.slice(RICHEST_MAX)
  const size = AT_RISK_MAX - RICHEST_MAX
  const turns = BigInt(Math.ceil(others.length / size))
  const from = Number((BigInt.asUintN(32, blockNumber * SCRAMBLE) * turns) >> 32n) * size
  return [...byWealth.slice(0, RICHEST_MAX), ...others.slice(from, from + size)]
}

/** Null where a term is not known: then nobody is under water, and the nearest are those of the highest ratio. */
function termsOf(
  { loanDecimals, collateralDecimals, liquidationThresholdBps }: MarketResource,
  positions: readonly Dated<PositionResource>[],
  now: Now,
): HealthTerms | null {
  const indexRay = indexOf(positions, now)
  if (loanDecimals == null || collateralDecimals == null || liquidationThresholdBps == null) return null
  if (now.priceWad === null || indexRay === null) return null
  return {
    price: { priceWad: now.priceWad, loanDecimals, collateralDecimals },
    liquidationThresholdBps,
    indexRay,
  }
}

/** What a share is worth, by the position with most of them: there rounding to base units weighs least. */
function indexOf(positions: readonly Dated<PositionResource>[], { ratePerSecondWad }: Now): bigint | null {
  let largest: { readonly shares: bigint; readonly debt: bigint; readonly elapsedS: number } | null = null
  for (const { row, elapsedS } of positions) {
    const shares = BigInt(row.debtShares ?? 0)
    if (shares === 0n || row.debtAssets == null) continue
    if (largest === null || shares > largest.shares)
      largest = { shares, debt: BigInt(row.debtAssets), elapsedS }
  }
  if (largest === null || ratePerSecondWad === null) return null
  const { shares, debt, elapsedS } = largest
  return ceilDiv(accruedDebt(debt, ratePerSecondWad, elapsedS) * RAY, shares)
}
