import type { Address } from 'viem'
import type { ClaimSeen, Decision, Observation, PassedOver, Proposal } from '../../src/agent.ts'
import { BPS, ceilDiv } from '../../src/protocol/health.ts'
import { chooseAffordable } from './affordable.ts'
import { type Funds, gasCost } from './funds.ts'
import { type Candidate, type Context, facilitySubject, judge, positionKey } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import { tokens } from './text.ts'

/**
 * Decide what to liquidate and which claims to settle, and say of everything else why not. Pure.
 * Liquidations come first, the most profitable for what is repaid at the head: a claim waits without loss.
 */
export function decide(seen: Observation, policy: LiquidatorPolicy): Decision {
  if (!seen.freshness.ok) return passAllOver(seen)
  const context = contextOf(seen, policy)
  const candidates: Candidate[] = []
  const passedOver: PassedOver[] = []
  for (const facility of seen.facilities) {
    const judged = judge(facility, context)
    if ('check' in judged) passedOver.push(judged)
    else candidates.push(judged)
  }
  const funds = fundsOf(context)
  const liquidations = chooseAffordable(candidates, funds, context)
  const settlements = seen.claims.map((claim) => settle(claim, context, funds))
  return {
    proposals: [...liquidations.proposals, ...settlements.filter(isProposal)],
    passedOver: [
      ...passedOver,
      ...liquidations.passedOver,
      ...settlements.filter((one): one is PassedOver => !isProposal(one)),
    ],
  }
}

const isProposal = (one: Proposal | PassedOver): one is Proposal => 'workflowType' in one

/** Name a claim: a claim's number is its market's own. */
const claimSubject = (claim: ClaimSeen) => `${claim.marketAddress}:claim:${claim.claimId}`.toLowerCase()

function passAllOver(seen: Observation): Decision {
  const subjects = [...seen.facilities.map(facilitySubject), ...seen.claims.map(claimSubject)]
  const stopped = {
    check: 'observation_not_fresh',
    message: seen.freshness.message,
    reason: { ageMs: seen.freshness.ageMs },
  }
  return { proposals: [], passedOver: subjects.map((subject) => ({ subject, ...stopped })) }
}

function contextOf(seen: Observation, policy: LiquidatorPolicy): Context {
  const markets = new Map(seen.markets.map((market) => [market.address.toLowerCase(), market]))
  const busy = new Set(seen.inFlight.map((workflow) => workflow.subject))
  const coming: { readonly token: Address | null | undefined; readonly assets: bigint }[] = seen.claims.map(
    (claim) => ({ token: claim.collateralAsset, assets: claim.collateralAssets }),
  )
  for (const { workflowType, input } of seen.inFlight) {
    if (workflowType !== 'role.liquidator.liquidate') continue
    const { marketAddress = '', borrowerAddress = '', minCollateralAssets = '' } = input
    busy.add(positionKey(marketAddress, borrowerAddress))
    coming.push({
      // Once it is mined, its claim counts too until the workflow ends: for seconds, too much rather than too little.
      token: minCollateralAssets === '' ? null : markets.get(marketAddress.toLowerCase())?.collateralAsset,
      assets: ceilDiv(BigInt(minCollateralAssets) * BPS, BPS - BigInt(policy.slippageBps)),
    })
  }
  return { seen, policy, markets, busy, held: heldWith(seen.balances, coming) }
}

function heldWith(
  balances: Observation['balances'],
  coming: readonly { readonly token: Address | null | undefined; readonly assets: bigint }[],
): ReadonlyMap<string, bigint> | null {
  const held = new Map<string, bigint>(Object.entries(balances))
  for (const { token, assets } of coming) {
    if (token === null || token === undefined) return null
    held.set(token, (held.get(token) ?? 0n) + assets)
  }
  return held
}

/** What may still be spent: balances less what workflows in flight may take, and the room that inventory caps leave. */
function fundsOf({ seen, policy, held }: Context): Funds {
  const liquidation = gasCost(policy.gas.liquidateGas + policy.gas.settleGas, seen, policy)
  const tokensLeft = new Map<string, bigint>(Object.entries(seen.balances))
  for (const { exposure } of seen.inFlight) {
    if (exposure.token === null) continue
    tokensLeft.set(exposure.token, (tokensLeft.get(exposure.token) ?? 0n) - exposure.assets)
  }
  return {
    nativeWei: seen.nativeBalanceWei - BigInt(seen.inFlight.length) * liquidation.wei,
    tokens: tokensLeft,
    held: new Map(held),
    liquidation,
    settlement: gasCost(policy.gas.settleGas, seen, policy),
  }
}

function settle(claim: ClaimSeen, { seen, markets, busy }: Context, funds: Funds): Proposal | PassedOver {
  const subject = claimSubject(claim)
  const reason = {
    claimId: String(claim.claimId),
    collateralAssets: String(claim.collateralAssets),
    settleableAtS: claim.settleableAtS,
    gasWei: String(funds.settlement.wei),
  }
  const waitS = claim.settleableAtS - seen.chain.timestampS
  if (waitS > 0) {
    const message = `Claim ${claim.claimId} can be settled at ${claim.settleableAtS}, in ${waitS} s.`
    return { subject, check: 'claim_not_settleable', message, reason }
  }
  if (busy.has(subject)) {
    return { subject, check: 'already_in_flight', message: 'A workflow of ours settles it already.', reason }
  }
  if (funds.nativeWei < funds.settlement.wei) {
    const message = `Settling needs ${funds.settlement.wei} wei for gas; ${funds.nativeWei} wei are left. Fix: send native coin to ${seen.signer}.`
    return { subject, check: 'out_of_funds', message, reason }
  }
  funds.nativeWei -= funds.settlement.wei
  const market = markets.get(claim.marketAddress.toLowerCase())
  const amount =
    market?.collateralDecimals == null || market.collateralSymbol === null
      ? `${claim.collateralAssets} base units`
      : tokens(claim.collateralAssets, market.collateralDecimals, market.collateralSymbol)
  return {
    workflowType: 'role.liquidator.settleLiquidationClaim',
    kind: 'settle',
    subject,
    occurrence: String(claim.claimId),
    input: { marketAddress: claim.marketAddress, claimId: String(claim.claimId) },
    exposure: { token: null, assets: 0n, usdMicros: 0n },
    summary: `claim ${claim.claimId}: settle ${amount}`,
    reason,
  }
}
