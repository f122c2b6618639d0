import { tokenUnit } from '../protocol/health.ts'
import { repayLimit, repayThatExhausts } from '../protocol/liquidation.ts'
import type { Funds } from './funds.ts'
import type { Candidate } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { Option } from './pricing.ts'
import { type Bound, mostProfitableRepay, type ProfitTerms, type Quote, quote, tightest } from './sizing.ts'

/** A candidate at the size that we would like best, were funds and room no limit. */
export type Wanted = {
  readonly candidate: Candidate
  readonly terms: ProfitTerms
  readonly bound: Bound
  readonly best: Quote
}

const DOLLAR_MICROS = 1e6
const BPS = 1e4
/** More than rounding to base units and millionths can take from a profit, dollars. */
const ROUNDING = 1e-5

/** Size a candidate for itself alone. Pure. */
export function want(candidate: Candidate, funds: Funds, policy: LiquidatorPolicy): Wanted {
  const { figures, market, collateral } = candidate
  const terms: ProfitTerms = {
    price: market.price,
    liquidationBonusBps: market.liquidationBonusBps,
    loanPriceUsdMicros: market.loanPriceUsdMicros,
    exitHaircutBaseBps: collateral.exitHaircutBaseBps,
    exitHaircutPerMillionUsdBps: collateral.exitHaircutPerMillionUsdBps,
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

/** Convert millionths of a US dollar to base units of the loan asset, rounded down. Pure. */
export const assetsFor = (usdMicros: bigint, terms: ProfitTerms): bigint =>
  (usdMicros * tokenUnit(terms.price.loanDecimals)) / terms.loanPriceUsdMicros

/** Whether a size brings what the policy asks. Pure. */
export const pays = (size: Quote, { profitUsdMicrosMin }: LiquidatorPolicy): boolean =>
  size.repayAssets > 0n && size.profitUsdMicros >= profitUsdMicrosMin

/** State one that pays as the search for the best set takes it. Pure. */
export function optionOf(
  { best, terms }: Wanted,
  group: number,
  room: number,
  { profitUsdMicrosMin }: LiquidatorPolicy,
): Option {
  const withBonus = 1 + terms.liquidationBonusBps / BPS
  const gain = withBonus * (1 - terms.exitHaircutBaseBps / BPS) - 1
  const growth = (terms.exitHaircutPerMillionUsdBps / BPS / 1e6) * withBonus ** 2
  const fixed = Number(terms.gasUsdMicros) / DOLLAR_MICROS
  const most = Number(best.repayUsdMicros) / DOLLAR_MICROS
  const floor = Number(profitUsdMicrosMin) / DOLLAR_MICROS + fixed + ROUNDING
  // Where gain·x − growth·x² reaches the floor; written so that it holds without growth too.
  const least = (2 * floor) / (gain + Math.sqrt(Math.max(0, gain ** 2 - 4 * growth * floor)))
  const seizes = Number(best.seizeAssets) / most
  return { group, room, seizes, least: Math.min(least, most), most, gain, growth, fixed }
}
