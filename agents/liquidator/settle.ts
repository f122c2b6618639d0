import { moment, native, usd } from '../../src/readable.js'
import { baseUnits } from '../../src/units.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Observation, PassedOver } from '../agent.ts'
import { BPS, tokenUnit, WAD } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import type { Funds } from './funds.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { ClaimSeen, LiquidatorSeen, MarketSeen } from './seen.ts'

const USD_MILLION_MICROS = 10n ** 12n

/** Name a claim, as workflows and `explain` do: its number is its market's own. Pure. */
export const claimSubject = (claim: ClaimSeen): string =>
  `${claim.marketAddress}:claim:${claim.claimId}`.toLowerCase()

/**
 * Propose to settle a claim of ours, or say why not (yet). Takes its gas from `funds`; otherwise pure. What it brings
 * is ours already, so its market's state is not judged: only whether it is worth its gas, which waits until gas is cheaper.
 * One whose worth is not known is settled.
 */
export function settle(
  claim: ClaimSeen,
  seen: Observation<LiquidatorSeen>,
  busy: ReadonlySet<string>,
  funds: Funds,
  policy: LiquidatorPolicy,
): Proposal | PassedOver {
  const subject = claimSubject(claim)
  const market = seen.markets.find(({ address }) => address === claim.marketAddress)
  const worthUsdMicros = worthOf(claim, market, funds, policy)
  const reason = {
    claimId: String(claim.claimId),
    collateralAssets: String(claim.collateralAssets),
    settleableAtS: claim.settleableAtS,
    gasWei: String(funds.settlement.wei),
    gasUsdMicros: String(funds.settlement.usdMicros),
    worthUsdMicros: String(worthUsdMicros ?? 'unknown'),
  }
  const waitS = claim.settleableAtS - seen.chain.timestampS
  if (waitS > 0) {
    const message = `Claim ${claim.claimId} can be settled from ${moment(claim.settleableAtS)} on.`
    return { subject, check: 'claim_not_settleable', message, reason }
  }
  if (busy.has(subject)) {
    return { subject, check: 'already_in_flight', message: 'A workflow of ours settles it already.', reason }
  }
  if (worthUsdMicros !== null && worthUsdMicros <= funds.settlement.usdMicros) {
    const message = `It would bring ${usd(worthUsdMicros)} after the exit haircut; settling costs ${usd(funds.settlement.usdMicros)} now. It waits for cheaper gas.`
    return { subject, check: 'claim_not_worth_gas', message, reason }
  }
  if (funds.nativeWei < funds.settlement.reserveWei) {
    const message = `Settling needs ${native(funds.settlement.reserveWei)} for gas; ${native(funds.nativeWei)} are left. Fix: send native coin to ${seen.signer}.`
    return { subject, check: 'out_of_funds', message, reason }
  }
  funds.nativeWei -= funds.settlement.reserveWei
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
    ...(worthUsdMicros === null ? {} : { worthUsdMicros }),
    summary: `claim ${claim.claimId}: settle ${amount}`,
    reason,
  }
}

/** What the collateral of a claim brings, sold with all else that we hold of it; null where its market does not say. */
function worthOf(
  { collateralAssets }: ClaimSeen,
  market: MarketSeen | undefined,
  { held }: Funds,
  { collaterals }: LiquidatorPolicy,
): bigint | null {
  const priceWad = market?.oracle?.priceWad ?? market?.priceWad ?? null
  const { loanPriceUsdMicros = null, collateralDecimals = null, collateralAsset = null } = market ?? {}
  if (priceWad === null || loanPriceUsdMicros === null || collateralDecimals === null) return null
  const usdMicrosOf = (assets: bigint) =>
    (assets * priceWad * loanPriceUsdMicros) / (WAD * tokenUnit(collateralDecimals))
  const terms = collaterals[market?.collateralSymbol ?? '']
  const beside = (held.get(collateralAsset ?? '') ?? collateralAssets) - collateralAssets
  const soldUsdMicros = usdMicrosOf(2n * beside + collateralAssets)
  const kept =
    (BPS - BigInt(terms?.exitHaircutBaseBps ?? 0)) * USD_MILLION_MICROS -
    BigInt(terms?.exitHaircutPerMillionUsdBps ?? 0) * soldUsdMicros
  return (usdMicrosOf(collateralAssets) * (kept > 0n ? kept : 0n)) / (BPS * USD_MILLION_MICROS)
}
