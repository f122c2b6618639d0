import { baseUnits, duration, native, time } from '../../src/units.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Observation, PassedOver } from '../agent.ts'
import { tokenUnit, WAD } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import type { Funds } from './funds.ts'
import type { ClaimSeen, LiquidatorSeen, MarketSeen } from './seen.ts'

/** Name a claim, as workflows and `explain` do: its number is its market's own. Pure. */
export const claimSubject = (claim: ClaimSeen): string =>
  `${claim.marketAddress}:claim:${claim.claimId}`.toLowerCase()

/**
 * Propose to settle a claim of ours, or say why not (yet). Takes its gas from `funds`; otherwise pure. What it brings
 * is ours already, so neither its market's state nor its profit is judged.
 */
export function settle(
  claim: ClaimSeen,
  seen: Observation<LiquidatorSeen>,
  busy: ReadonlySet<string>,
  funds: Funds,
): Proposal | PassedOver {
  const subject = claimSubject(claim)
  const reason = {
    claimId: String(claim.claimId),
    collateralAssets: String(claim.collateralAssets),
    settleableAtS: claim.settleableAtS,
    gasWei: String(funds.settlement.wei),
  }
  const waitS = claim.settleableAtS - seen.chain.timestampS
  if (waitS > 0) {
    const message = `Claim ${claim.claimId} can be settled from ${time(claim.settleableAtS)} on, in ${duration(waitS * 1_000)}.`
    return { subject, check: 'claim_not_settleable', message, reason }
  }
  if (busy.has(subject)) {
    return { subject, check: 'already_in_flight', message: 'A workflow of ours settles it already.', reason }
  }
  if (funds.nativeWei < funds.settlement.wei) {
    const message = `Settling needs ${native(funds.settlement.wei)} for gas; ${native(funds.nativeWei)} are left. Fix: send native coin to ${seen.signer}.`
    return { subject, check: 'out_of_funds', message, reason }
  }
  funds.nativeWei -= funds.settlement.wei
  const market = seen.markets.find(({ address }) => address === claim.marketAddress)
  const amount =
    market?.collateralDecimals == null || market.collateralSymbol === null
      ? baseUnits(claim.collateralAssets)
      : tokens(claim.collateralAssets, market.collateralDecimals, market.collateralSymbol)
  return {
    workflowType: 'role.liquidator.settleLiquidationClaim',
    kind: 'settle',
    subject,
    occurrence: String(claim.claimId),
    input: { marketAddress: claim.marketAddress, claimId: String(claim.claimId) },
    exposure: { token: null, assets: 0n, usdMicros: 0n },
    ...worthOf(claim, market),
    summary: `claim ${claim.claimId}: settle ${amount}`,
    reason,
  }
}

/** What the collateral of a claim is worth, where its market says so: gas for more than that would be thrown away. */
function worthOf(
  { collateralAssets }: ClaimSeen,
  market: MarketSeen | undefined,
): Pick<Proposal, 'worthUsdMicros'> {
  const priceWad = market?.oracle?.priceWad ?? market?.priceWad ?? null
  const loanPriceUsdMicros = market?.loanPriceUsdMicros ?? null
  const decimals = market?.collateralDecimals ?? null
  if (priceWad === null || loanPriceUsdMicros === null || decimals === null) return {}
  return {
    worthUsdMicros: (collateralAssets * priceWad * loanPriceUsdMicros) / (WAD * tokenUnit(decimals)),
  }
}
