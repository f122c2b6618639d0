import type { Address } from 'viem'
import { native, usd } from '../../src/readable.js'
import { counted } from '../../src/units.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Decision, Observation, PassedOver } from '../agent.ts'
import { repayThatFits } from '../protocol/liquidation.ts'
import { tokens } from '../protocol/text.ts'
import type { Funds } from './funds.ts'
import { type Candidate, positionKey } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import { proposeLiquidation } from './propose.ts'
import type { LiquidatorSeen } from './seen.ts'
import { sizesOf } from './size-quote.ts'
import { type Bound, type Quote, quote, tightest } from './size-search.ts'
import { assetsFor, heldOf, pays, type SizedCandidate, want } from './sized-candidate.ts'
import { createShares, offerOf, sharesGiven } from './tips.ts'

/**
 * Choose the liquidations to propose: the set, and the sizes, that bring most together under funds, inventory, gas and
 * the hour's limits, all of a collateral sold at one depth with what we hold and await of it. Spends `funds` in place;
 * otherwise pure.
 */
export function chooseAffordable(
  candidates: readonly Candidate[],
  funds: Funds,
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
): Decision {
  const shareOf = createShares(sharesGiven(seen, funds, policy), seen.recent, policy.gas.tipShareBpsMax)
  const { signer } = seen
  const wanted = candidates.map((candidate) => want(candidate, funds, policy)).toSorted(byYield)
  const { sizes, gapBps } = sizesOf(
    wanted.filter(({ best }) => pays(best, policy)),
    funds,
    policy,
  )
  const sized = wanted.flatMap((one) => {
    const size = sizes.get(one)
    return size === undefined ? [] : [sizeWithin(one, size, funds)]
  })
  const proposals: Proposal[] = []
  const passedOver: PassedOver[] = []
  const taken = new Set<string>()
  for (const one of sized) {
    const size = togetherWith(sized, one)
    if (!pays(size, policy)) {
      passedOver.push(stopOf(one.wanted, taken, funds, signer, policy))
      continue
    }
    taken.add(positionOf(one.wanted))
    const tip = offerOf(size.profitUsdMicros, shareOf(size.profitUsdMicros), funds, policy)
    const { limitedBy } = one.bound
    const { candidate } = one.wanted
    proposals.push(
      proposeLiquidation(candidate, size, { limitedBy, gapBps, tip, gas: funds.liquidation }, signer, policy),
    )
  }
  for (const one of wanted) if (!sizes.has(one)) passedOver.push(stopOf(one, taken, funds, signer, policy))
  return { proposals, passedOver }
}

const positionOf = ({ candidate: { facility } }: SizedCandidate) =>
  positionKey(facility.marketAddress, facility.borrower)

/** Highest profit for each unit repaid first; then the larger profit; then by name, so that ties never move. */
function byYield(one: SizedCandidate, other: SizedCandidate): number {
  const left = one.best.profitUsdMicros * other.best.repayUsdMicros
  const right = other.best.profitUsdMicros * one.best.repayUsdMicros
  if (left !== right) return left > right ? -1 : 1
  const more = other.best.profitUsdMicros - one.best.profitUsdMicros
  if (more !== 0n) return more < 0n ? -1 : 1
  return one.candidate.subject < other.candidate.subject ? -1 : 1
}

/** One of the set, at a size that fits to the base unit. */
type Sized = { readonly wanted: SizedCandidate; readonly bound: Bound; readonly alone: Quote }

const quoteOf = (
  { candidate: { figures }, terms }: SizedCandidate,
  { repayAssets }: Bound,
  besideAssets: bigint,
): Quote => quote(repayAssets, figures.collateralAssets, { ...terms, besideAssets })

/** Fit one of the set into what is left, and take what it needs. */
function sizeWithin(wanted: SizedCandidate, sized: Bound, funds: Funds): Sized {
  const { candidate, terms } = wanted
  const { market } = candidate
  const heldAssets = heldOf(candidate, funds)
  const haveAssets = haveOf(wanted, funds)
  const bound = tightest(
    { limitedBy: 'inventory', repayAssets: repayThatFits(roomAssets(wanted, funds), terms) },
    { limitedBy: 'hour_usd_max', repayAssets: assetsFor(funds.hourUsdMicros, terms) },
    { limitedBy: 'funds', repayAssets: haveAssets },
    sized,
  )
  const alone = quoteOf(wanted, bound, terms.besideAssets)
  funds.nativeWei -= funds.liquidation.reserveWei
  funds.reverts -= 1n
  funds.hourUsdMicros -= alone.repayUsdMicros
  funds.tokens.set(market.loanAsset, haveAssets - alone.repayAssets)
  funds.held.set(market.collateralAsset, heldAssets + alone.seizeAssets)
  return { wanted, bound, alone }
}

/** One of the set, with what the sale of all that the set seizes of its collateral loses. */
function togetherWith(all: readonly Sized[], { wanted, bound, alone }: Sized): Quote {
  const { collateralAsset } = wanted.candidate.market
  const seized = all
    .filter((one) => one.wanted.candidate.market.collateralAsset === collateralAsset)
    .reduce((sum, one) => sum + one.alone.seizeAssets, 0n)
  return quoteOf(wanted, bound, wanted.terms.besideAssets + seized - alone.seizeAssets)
}

const haveOf = ({ candidate: { market } }: SizedCandidate, { tokens }: Funds) =>
  positive(tokens.get(market.loanAsset) ?? market.loanBalance)
const roomAssets = ({ candidate }: SizedCandidate, funds: Funds) =>
  positive(candidate.collateral.inventoryAssetsMax - heldOf(candidate, funds))

/** Say which limit stops one that is not in the set, by what the set leaves. */
function stopOf(
  wanted: SizedCandidate,
  taken: ReadonlySet<string>,
  funds: Funds,
  signer: Address,
  policy: LiquidatorPolicy,
): PassedOver {
  const { candidate, terms, best, bound } = wanted
  const { market, collateral } = candidate
  const loan = (assets: bigint) => tokens(assets, market.loanDecimals, market.loanSymbol)
  const seized = (assets: bigint) => tokens(assets, market.collateralDecimals, market.collateralSymbol)
  const atMost = (...bounds: readonly Bound[]) =>
    quoteOf(wanted, tightest(bound, ...bounds), terms.besideAssets)
  if (!pays(best, policy)) {
    const message = `At best it repays ${loan(best.repayAssets)} for ${usd(best.profitUsdMicros)}, sold with the ${seized(terms.besideAssets / 2n)} that we hold, claim or await; the policy asks ${usd(policy.profitUsdMicrosMin)}.`
    return passOver(wanted, 'profit_below_floor', message)
  }
  if (taken.has(positionOf(wanted))) {
    const message = 'Another debt of this borrower comes first; its collateral is shared.'
    return passOver(wanted, 'borrower_taken', message)
  }
  const heldAssets = heldOf(candidate, funds)
  const roomy = { limitedBy: 'inventory', repayAssets: repayThatFits(roomAssets(wanted, funds), terms) }
  if (!pays(atMost(roomy), policy)) {
    const message = `We hold, claim or await ${seized(heldAssets)}; the policy allows ${seized(collateral.inventoryAssetsMax)}. Fix: sell some, or raise inventoryMax.`
    return passOver(wanted, 'inventory_full', message, { heldAssets: String(heldAssets) })
  }
  const hourly = { limitedBy: 'hour_usd_max', repayAssets: assetsFor(funds.hourUsdMicros, terms) }
  if (!pays(atMost(roomy, hourly), policy)) {
    const message = `${usd(funds.hourUsdMicros)} are left of the ${usd(policy.repayUsdMicrosPerHourMax)} that the policy allows to repay in an hour.`
    return passOver(wanted, 'hour_limit_reached', message, { hourUsdMicros: String(funds.hourUsdMicros) })
  }
  if (funds.reverts < 1n) {
    const message = `Were it to revert, the hour's reverted gas could pass the policy's ${counted(policy.lostRace.revertedGasPerHourMax, 'gas')}.`
    return passOver(wanted, 'revert_budget_spent', message)
  }
  const haveAssets = haveOf(wanted, funds)
  const short = !pays(atMost(roomy, hourly, { limitedBy: 'funds', repayAssets: haveAssets }), policy)
  if (short || funds.nativeWei < funds.liquidation.reserveWei) {
    const need = tightest(bound, roomy, hourly).repayAssets
    const message = short
      ? `${loan(need)}; ${loan(haveAssets)} are left`
      : `${native(funds.liquidation.reserveWei)} for gas; ${native(funds.nativeWei)} are left`
    return passOver(wanted, 'out_of_funds', `It needs ${message}. Fix: send it to ${signer}.`, {
      haveAssets: String(haveAssets),
      needAssets: String(need),
      haveWei: String(funds.nativeWei),
      needWei: String(funds.liquidation.reserveWei),
    })
  }
  const message = `Sold with the ${seized(heldAssets)} that we hold, claim or await, it adds less than what is taken already.`
  return passOver(wanted, 'others_bring_more', message, { heldAssets: String(heldAssets) })
}

const positive = (value: bigint) => (value > 0n ? value : 0n)

const passOver = (
  { candidate, best }: SizedCandidate,
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
