import { tokenUnit } from '../protocol/health.ts'
import { repayLimit, repayThatExhausts } from '../protocol/liquidation.ts'
import type { Funds } from './funds.ts'
import type { Candidate } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { Option, Room } from './pricing.ts'
import {
  type Bound,
  mostProfitableRepay,
  type ProfitTerms,
  type Quote,
  quote,
  tightest,
} from './size-search.ts'

/** A candidate at the size that we would like best, were it alone, beside what we hold, and funds and room no limit. */
export type SizedCandidate = {
  readonly candidate: Candidate
  readonly terms: ProfitTerms
  readonly bound: Bound
  readonly best: Quote
}

const DOLLAR_MICROS = 1e6
const BPS = 1e4
const WAD = 1e18
/** More than rounding to millionths can take from a profit, dollars, beside base units of the collateral. */
const ROUNDING = 1e-5

/** Size a candidate for itself alone. Pure. */
export function want(candidate: Candidate, funds: Funds, policy: LiquidatorPolicy): SizedCandidate {
  const { figures, market, collateral } = candidate
  const terms: ProfitTerms = {
    price: market.price,
    liquidationBonusBps: market.liquidationBonusBps,
    loanPriceUsdMicros: market.loanPriceUsdMicros,
    exitHaircutBaseBps: collateral.exitHaircutBaseBps,
    exitHaircutPerMillionUsdBps: collateral.exitHaircutPerMillionUsdBps,
    besideAssets: 2n * heldOf(candidate, funds),
    gasUsdMicros: funds.liquidation.usdMicros,
  }
  const optimum = mostProfitableRepay(terms)
  const bound = tightest(
    { limitedBy: 'close_factor', repayAssets: repayLimit(figures.debtAssets, market.closeFactorBps) },
    { limitedBy: 'collateral', repayAssets: repayThatExhausts(figures.collateralAssets, terms) },
    { limitedBy: 'repay_usd_max', repayAssets: assetsFor(policy.repayUsdMicrosMax, terms) },
    ...(optimum === null ? [] : [{ limitedBy: 'exit_haircut', repayAssets: optimum }]),
  )
  return { candidate, terms, bound, best: quote(bound.repayAssets, figures.collateralAssets, terms) }
}

/** What we hold of a candidate's collateral, claim or await, base units. Pure. */
export const heldOf = ({ market }: Candidate, { held }: Funds): bigint =>
  held.get(market.collateralAsset) ?? market.collateralBalance

/** Convert millionths of a US dollar to base units of the loan asset, rounded down. Pure. */
export const assetsFor = (usdMicros: bigint, terms: ProfitTerms): bigint =>
  (usdMicros * tokenUnit(terms.price.loanDecimals)) / terms.loanPriceUsdMicros

/** Whether a size brings what the policy asks. Pure. */
export const pays = (size: Quote, { profitUsdMicrosMin }: LiquidatorPolicy): boolean =>
  size.repayAssets > 0n && size.profitUsdMicros >= profitUsdMicrosMin

const unitUsdOf = ({ market }: Candidate) =>
  ((Number(market.price.priceWad) / WAD) * (Number(market.loanPriceUsdMicros) / DOLLAR_MICROS)) /
  10 ** market.collateralDecimals

/** A collateral as the search for the best set takes it, with the most that may still be seized; base units. Pure. */
export function roomOf({ candidate }: SizedCandidate, heldAssets: number): Room {
  const { inventoryAssetsMax, exitHaircutPerMillionUsdBps } = candidate.collateral
  return {
    most: Math.max(0, Number(inventoryAssetsMax) - heldAssets),
    held: heldAssets,
    growth: (exitHaircutPerMillionUsdBps / BPS / 1e6) * unitUsdOf(candidate) ** 2,
  }
}

/** State one that pays as the search for the best set takes it. Pure. */
export function optionOf(
  { best, terms, candidate }: SizedCandidate,
  group: number,
  at: number,
  { held, growth }: Room,
  floor: number,
): Option {
  const withBonus = 1 + terms.liquidationBonusBps / BPS
  const gain = withBonus * (1 - terms.exitHaircutBaseBps / BPS) - 1
  const fixed = Number(terms.gasUsdMicros) / DOLLAR_MICROS
  const most = Number(best.repayUsdMicros) / DOLLAR_MICROS
  const seizes = Number(best.seizeAssets) / most
  // Alone it brings slope·x − square·x² − fixed; written so that it holds without a square too.
  const slope = gain - 2 * growth * held * seizes
  const square = growth * seizes ** 2
  const needed = floor + fixed + ROUNDING + 2 * unitUsdOf(candidate)
  const least = (2 * needed) / (slope + Math.sqrt(Math.max(0, slope ** 2 - 4 * square * needed)))
  return { group, room: at, seizes, least: Math.min(least, most), most, gain, fixed }
}

/** The least profit that the policy asks of each, dollars. Pure. */
export const floorOf = ({ profitUsdMicrosMin }: LiquidatorPolicy): number =>
  Number(profitUsdMicrosMin) / DOLLAR_MICROS
