import type { Address } from 'viem'
import type { Decision, PassedOver, Proposal } from '../../src/agent.ts'
import { tokenUnit } from '../../src/protocol/health.ts'
import { repayLimit, repayThatExhausts, repayThatFits } from '../../src/protocol/liquidation.ts'
import type { Funds } from './funds.ts'
import { type Candidate, positionKey } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import { proposeLiquidation } from './propose.ts'
import { type Bound, mostProfitableRepay, type ProfitTerms, type Quote, quote, tightest } from './sizing.ts'
import { dollars, tokens } from './text.ts'

/** A candidate at the size we would like best, were funds and room no limit. */
type Wanted = {
  readonly candidate: Candidate
  readonly terms: ProfitTerms
  readonly bound: Bound
  readonly best: Quote
}

/**
 * Choose the liquidations to propose: in order of profit for each unit repaid, each at the size that the remaining
 * funds and inventory room leave, as long as it still pays. Spends `funds` in place; otherwise pure.
 */
export function chooseAffordable(
  candidates: readonly Candidate[],
  funds: Funds,
  signer: Address,
  policy: LiquidatorPolicy,
): Decision {
  const proposals: Proposal[] = []
  const passedOver: PassedOver[] = []
  const taken = new Set<string>()
  const wanted = candidates.map((candidate) => want(candidate, funds, policy)).toSorted(byYield)
  for (const one of wanted) {
    const position = positionKey(one.candidate.facility.marketAddress, one.candidate.facility.borrower)
    const outcome = taken.has(position)
      ? passOver(
          one,
          'borrower_taken',
          'Another debt of this borrower comes first; its collateral is shared.',
        )
      : take(one, funds, signer, policy)
    if ('check' in outcome) passedOver.push(outcome)
    else {
      taken.add(position)
      proposals.push(outcome)
    }
  }
  return { proposals, passedOver }
}

function want(candidate: Candidate, funds: Funds, policy: LiquidatorPolicy): Wanted {
  const { figures, market, collateral } = candidate
  const terms: ProfitTerms = {
    price: market.price,
    liquidationBonusBps: market.liquidationBonusBps,
    loanPriceUsdMicros: market.loanPriceUsdMicros,
    exitHaircutBaseBps: collateral.exitHaircutBaseBps,
    exitHaircutPerMillionUsdBps: collateral.exitHaircutPerMillionUsdBps,
    gasUsdMicros: funds.liquidation.usdMicros,
  }
  const policyMax = (policy.repayUsdMicrosMax * tokenUnit(market.loanDecimals)) / terms.loanPriceUsdMicros
  const optimum = mostProfitableRepay(terms)
  const bound = tightest(
    { limitedBy: 'close_factor', repayAssets: repayLimit(figures.debtAssets, market.closeFactorBps) },
    { limitedBy: 'collateral', repayAssets: repayThatExhausts(figures.collateralAssets, terms) },
    { limitedBy: 'repay_usd_max', repayAssets: policyMax },
    ...(optimum === null ? [] : [{ limitedBy: 'exit_haircut', repayAssets: optimum }]),
  )
  return { candidate, terms, bound, best: quote(bound.repayAssets, figures.collateralAssets, terms) }
}

/** Highest profit for each unit repaid first; then the larger profit; then by name, so that ties never move. */
function byYield(one: Wanted, other: Wanted): number {
  const left = one.best.profitUsdMicros * other.best.repayUsdMicros
  const right = other.best.profitUsdMicros * one.best.repayUsdMicros
  if (left !== right) return left > right ? -1 : 1
  const more = other.best.profitUsdMicros - one.best.profitUsdMicros
  if (more !== 0n) return more < 0n ? -1 : 1
  return one.candidate.subject < other.candidate.subject ? -1 : 1
}

/** Propose it at the size that is left, and take what it needs; or say which limit stops it. */
function take(
  wanted: Wanted,
  funds: Funds,
  signer: Address,
  policy: LiquidatorPolicy,
): Proposal | PassedOver {
  const { candidate, terms, best } = wanted
  const { figures, market, collateral } = candidate
  const loan = (assets: bigint) => tokens(assets, market.loanDecimals, market.loanSymbol)
  const pays = (size: Quote) => size.repayAssets > 0n && size.profitUsdMicros >= policy.profitUsdMicrosMin
  if (!pays(best)) {
    const message = `At best it repays ${loan(best.repayAssets)} for ${dollars(best.profitUsdMicros)}; the policy asks ${dollars(policy.profitUsdMicrosMin)}.`
    return passOver(wanted, 'profit_below_floor', message)
  }

  const heldAssets = funds.held.get(market.collateralAsset) ?? market.collateralBalance
  const roomAssets = positive(collateral.inventoryAssetsMax - heldAssets)
  const roomy = tightest(wanted.bound, {
    limitedBy: 'inventory',
    repayAssets: repayThatFits(roomAssets, terms),
  })
  if (!pays(quote(roomy.repayAssets, figures.collateralAssets, terms))) {
    const message = `We hold, claim or await ${heldAssets} base units of ${market.collateralSymbol}; the policy allows ${collateral.inventoryAssetsMax}. Fix: sell some, or raise inventoryAssetsMax.`
    return passOver(wanted, 'inventory_full', message, { heldAssets: String(heldAssets) })
  }

  const haveAssets = positive(funds.tokens.get(market.loanAsset) ?? market.loanBalance)
  const bound = tightest(roomy, { limitedBy: 'funds', repayAssets: haveAssets })
  const size = quote(bound.repayAssets, figures.collateralAssets, terms)
  const short = !pays(size)
  if (short || funds.nativeWei < funds.liquidation.wei) {
    const need = short
      ? `${loan(roomy.repayAssets)}; ${loan(haveAssets)} are left`
      : `${funds.liquidation.wei} wei for gas; ${funds.nativeWei} wei are left`
    return passOver(wanted, 'out_of_funds', `It needs ${need}. Fix: send it to ${signer}.`, {
      haveAssets: String(haveAssets),
      needAssets: String(roomy.repayAssets),
      haveWei: String(funds.nativeWei),
      needWei: String(funds.liquidation.wei),
    })
  }
  funds.nativeWei -= funds.liquidation.wei
  funds.tokens.set(market.loanAsset, haveAssets - size.repayAssets)
  funds.held.set(market.collateralAsset, heldAssets + size.seizeAssets)
  return proposeLiquidation(candidate, size, bound.limitedBy, funds.liquidation, signer, policy)
}

const positive = (value: bigint) => (value > 0n ? value : 0n)

const passOver = (
  { candidate, best }: Wanted,
  check: string,
  message: string,
  reason: PassedOver['reason'] = {},
): PassedOver => ({
  subject: candidate.subject,
  check,
  message,
  reason: {
    ...reason,
    healthFactorWad: String(candidate.healthFactorWad),
    repayAssets: String(best.repayAssets),
    profitUsdMicros: String(best.profitUsdMicros),
  },
})
