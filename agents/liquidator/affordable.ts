import type { Address } from 'viem'
import { counted, native } from '../../src/units.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Decision, PassedOver } from '../agent.ts'
import { repayThatFits } from '../protocol/liquidation.ts'
import { dollars, tokens } from '../protocol/text.ts'
import type { Funds } from './funds.ts'
import { type Candidate, positionKey } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import { proposeLiquidation } from './propose.ts'
import { sizesOf } from './sizes.ts'
import { type Bound, type Quote, quote, tightest } from './sizing.ts'
import { assetsFor, pays, type Wanted, want } from './wanted.ts'

/**
 * Choose the liquidations to propose: the set, and the sizes, that bring most together under funds, inventory, gas and
 * the hour's limits; those left over follow while room is left for them. Spends `funds` in place; otherwise pure.
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
  const { sizes, gapBps } = sizesOf(
    wanted.filter(({ best }) => pays(best, policy)),
    funds,
    policy,
  )
  const take = (one: Wanted) => {
    const { marketAddress, borrower } = one.candidate.facility
    const position = positionKey(marketAddress, borrower)
    const outcome = taken.has(position)
      ? passOver(
          one,
          'borrower_taken',
          'Another debt of this borrower comes first; its collateral is shared.',
        )
      : takeOne(one, sizes.get(one) ?? one.bound, gapBps, funds, signer, policy)
    if ('check' in outcome) passedOver.push(outcome)
    else {
      taken.add(position)
      proposals.push(outcome)
    }
  }
  for (const one of wanted) if (sizes.has(one)) take(one)
  for (const one of wanted) if (!sizes.has(one)) take(one)
  return { proposals, passedOver }
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

/** Propose it at most at a size, as far as funds go, and take what it needs; or say which limit stops it. */
function takeOne(
  wanted: Wanted,
  sized: Bound,
  gapBps: number,
  funds: Funds,
  signer: Address,
  policy: LiquidatorPolicy,
): Proposal | PassedOver {
  const { candidate, terms, best } = wanted
  const { figures, market, collateral } = candidate
  const loan = (assets: bigint) => tokens(assets, market.loanDecimals, market.loanSymbol)
  const seized = (assets: bigint) => tokens(assets, market.collateralDecimals, market.collateralSymbol)
  const sizeOf = ({ repayAssets }: Bound) => quote(repayAssets, figures.collateralAssets, terms)
  if (!pays(best, policy)) {
    const message = `At best it repays ${loan(best.repayAssets)} for ${dollars(best.profitUsdMicros)}; the policy asks ${dollars(policy.profitUsdMicrosMin)}.`
    return passOver(wanted, 'profit_below_floor', message)
  }

  const heldAssets = funds.held.get(market.collateralAsset) ?? market.collateralBalance
  const roomAssets = positive(collateral.inventoryAssetsMax - heldAssets)
  const roomy = tightest(sized, { limitedBy: 'inventory', repayAssets: repayThatFits(roomAssets, terms) })
  if (!pays(sizeOf(roomy), policy)) {
    const message = `We hold, claim or await ${seized(heldAssets)}; the policy allows ${seized(collateral.inventoryAssetsMax)}. Fix: sell some, or raise inventoryMax.`
    return passOver(wanted, 'inventory_full', message, { heldAssets: String(heldAssets) })
  }
  const hourly = tightest(roomy, {
    limitedBy: 'hour_usd_max',
    repayAssets: assetsFor(funds.hourUsdMicros, terms),
  })
  if (!pays(sizeOf(hourly), policy)) {
    const message = `${dollars(funds.hourUsdMicros)} are left of the ${dollars(policy.repayUsdMicrosPerHourMax)} that the policy allows to repay in an hour.`
    return passOver(wanted, 'hour_limit_reached', message, { hourUsdMicros: String(funds.hourUsdMicros) })
  }
  if (funds.reverts < 1n) {
    const message = `Were it to revert, the hour's reverted gas could pass the policy's ${counted(policy.lostRace.revertedGasPerHourMax, 'gas')}.`
    return passOver(wanted, 'revert_budget_spent', message)
  }

  const haveAssets = positive(funds.tokens.get(market.loanAsset) ?? market.loanBalance)
  const bound = tightest(hourly, { limitedBy: 'funds', repayAssets: haveAssets })
  const size = sizeOf(bound)
  const short = !pays(size, policy)
  if (short || funds.nativeWei < funds.liquidation.wei) {
    const need = short
      ? `${loan(hourly.repayAssets)}; ${loan(haveAssets)} are left`
      : `${native(funds.liquidation.wei)} for gas; ${native(funds.nativeWei)} are left`
    return passOver(wanted, 'out_of_funds', `It needs ${need}. Fix: send it to ${signer}.`, {
      haveAssets: String(haveAssets),
      needAssets: String(hourly.repayAssets),
      haveWei: String(funds.nativeWei),
      needWei: String(funds.liquidation.wei),
    })
  }
  spend(funds, size, candidate, haveAssets, heldAssets)
  return proposeLiquidation(
    candidate,
    size,
    { limitedBy: bound.limitedBy, gapBps, gas: funds.liquidation },
    signer,
    policy,
  )
}

function spend(
  funds: Funds,
  size: Quote,
  { market }: Candidate,
  haveAssets: bigint,
  heldAssets: bigint,
): void {
  funds.nativeWei -= funds.liquidation.wei
  funds.reverts -= 1n
  funds.hourUsdMicros -= size.repayUsdMicros
  funds.tokens.set(market.loanAsset, haveAssets - size.repayAssets)
  funds.held.set(market.collateralAsset, heldAssets + size.seizeAssets)
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
