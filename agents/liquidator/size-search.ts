import { BPS, ceilDiv, collateralValue, tokenUnit } from '../protocol/health.ts'
import { type SeizureTerms, seizedCollateral } from '../protocol/liquidation.ts'

const USD_MILLION_MICROS = 10n ** 12n

/** Everything that turns a repayment into an expected profit. */
export type ProfitTerms = SeizureTerms & {
  /** US dollars for one whole loan token × 10^6. */
  readonly loanPriceUsdMicros: bigint
  readonly exitHaircutBaseBps: number
  readonly exitHaircutPerMillionUsdBps: number
  /** Collateral of others that this sale's haircut grows with, base units: twice what is held, once what is seized with it. */
  readonly besideAssets: bigint
  /** What approval, liquidation and settlement cost together. */
  readonly gasUsdMicros: bigint
}

/**
 * What one repayment is expected to bring. `profitAssets` is exactly `seizeValueAssets` less `repayAssets`,
 * `haircutAssets` and `gasAssets`; costs are rounded up and proceeds down.
 */
export type Quote = {
  readonly repayAssets: bigint
  readonly repayUsdMicros: bigint
  readonly seizeAssets: bigint
  readonly seizeValueAssets: bigint
  readonly haircutAssets: bigint
  readonly gasAssets: bigint
  readonly profitAssets: bigint
  readonly profitUsdMicros: bigint
}

/** A limit on the repayment, with the name that `explain` shows. */
export type Bound = { readonly limitedBy: string; readonly repayAssets: bigint }

/** Convert base units of the loan asset to millionths of a US dollar, rounded up. Pure. */
export const usdMicros = (assets: bigint, terms: Pick<ProfitTerms, 'price' | 'loanPriceUsdMicros'>): bigint =>
  ceilDiv(assets * terms.loanPriceUsdMicros, tokenUnit(terms.price.loanDecimals))

/** Quote a repayment (base units) against a borrower's collateral (base units). Pure. */
export function quote(repayAssets: bigint, collateralAssets: bigint, terms: ProfitTerms): Quote {
  const loanUnit = tokenUnit(terms.price.loanDecimals)
  const seizeAssets = seizedCollateral(repayAssets, collateralAssets, terms)
  const seizeValueAssets = collateralValue(seizeAssets, terms.price)
  const soldAssets = collateralValue(terms.besideAssets + seizeAssets, terms.price)
  const perMillion = BigInt(terms.exitHaircutPerMillionUsdBps) * usdMicros(soldAssets, terms)
  const haircut = ceilDiv(
    seizeValueAssets * (BigInt(terms.exitHaircutBaseBps) * USD_MILLION_MICROS + perMillion),
    BPS * USD_MILLION_MICROS,
  )
  const haircutAssets = haircut < seizeValueAssets ? haircut : seizeValueAssets
  const gasAssets = ceilDiv(terms.gasUsdMicros * loanUnit, terms.loanPriceUsdMicros)
  const profitAssets = seizeValueAssets - repayAssets - haircutAssets - gasAssets
  return {
    repayAssets,
    repayUsdMicros: usdMicros(repayAssets, terms),
    seizeAssets,
    seizeValueAssets,
    haircutAssets,
    gasAssets,
    profitAssets,
    profitUsdMicros: (profitAssets * terms.loanPriceUsdMicros) / loanUnit,
  }
}

/**
 * Return the repayment above which the growing haircut eats more than the bonus brings, or null when there is none:
 * the haircut does not grow with size, or no size pays. Pure.
 *
 * Profit is `b·x − h·(1+b)·x − k·(1+b)·x·(s + (1+b)·x)` less gas, for bonus `b`, base haircut `h`, the haircut's growth
 * `k` a loan unit and the worth `s` of what is sold beside it; this is where its slope is zero.
 */
export function mostProfitableRepay(terms: ProfitTerms): bigint | null {
  const withBonusBps = BPS + BigInt(terms.liquidationBonusBps)
  const slope = (withBonusBps - BPS) * BPS - BigInt(terms.exitHaircutBaseBps) * withBonusBps
  const growth = BigInt(terms.exitHaircutPerMillionUsdBps) * terms.loanPriceUsdMicros
  if (growth === 0n) return null
  const loanUnit = tokenUnit(terms.price.loanDecimals)
  const besideAssets = collateralValue(terms.besideAssets, terms.price)
  const left = slope * BPS * USD_MILLION_MICROS * loanUnit - growth * withBonusBps * BPS * besideAssets
  return left <= 0n ? null : left / (2n * growth * withBonusBps ** 2n)
}

/** Return the tightest of some bounds; the first of equals. Pure. */
export const tightest = (first: Bound, ...rest: readonly Bound[]): Bound =>
  rest.reduce((least, bound) => (bound.repayAssets < least.repayAssets ? bound : least), first)
