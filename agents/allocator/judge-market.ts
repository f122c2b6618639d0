import { span } from '../../src/readable.js'
import { HEALTHY_ORACLE_STATE, NORMAL_MARKET_REGIME } from '../../src/service/contract/assumptions.ts'
import type { Moment, Stop } from '../agent.ts'
import { BPS } from '../protocol/health.ts'
import { ORACLE_HEALTHY } from '../protocol/lending-views.ts'
import { assetsText, priceText } from '../protocol/text.ts'
import type { AllocatorPolicy } from './policy.ts'
import type { AllocationSeen, IntelligenceSeen, MarketLook, VaultBooks } from './seen.ts'

/**
 * What must be left: bad by the chain's own word. What the service says of it, or what is not known, is no reason to leave: it
 * only keeps us from supplying more.
 */
export function impairment(
  { address, pausedOnChain, oracle, badDebtAssets, debtAssets, cashAssets }: MarketLook,
  { listing }: AllocationSeen,
  { leaving }: AllocatorPolicy,
  { chain, deployment }: Moment,
): Stop | null {
  if (listing?.approved === false) {
    return { check: 'market_delisted', message: 'The vault lists this market no longer.' }
  }
  if (pausedOnChain === true) return { check: 'market_paused', message: 'The market is paused.' }
  if (oracle !== null && (oracle.state !== ORACLE_HEALTHY || oracle.priceWad === 0n)) {
    const message = `Our reading of the oracle is state ${oracle.state}, price ${priceText(oracle.priceWad)}; state 1 and a price are needed.`
    return { check: 'oracle_not_healthy', message }
  }
  const ageS = oracle === null ? 0 : Math.abs(chain.timestampS - oracle.sourceAsOfS)
  if (ageS > leaving.priceAgeSMax) {
    const message = `The price is ${span(ageS * 1_000)} from the head's time; the policy allows ${span(leaving.priceAgeSMax * 1_000)}.`
    return { check: 'price_too_old', message }
  }
  if (badDebtAssets === null || debtAssets === null || cashAssets === null) return null
  const limit = ((debtAssets + cashAssets) * BigInt(leaving.badDebtBpsMax)) / BPS
  if (badDebtAssets <= limit) return null
  const pinned = deployment.markets.find((market) => market.address === address)
  const loan = (assets: bigint) => assetsText(assets, pinned?.loanAsset, deployment)
  const message = `Its bad debt is ${loan(badDebtAssets)}; the policy allows ${loan(limit)}.`
  return { check: 'bad_debt', message }
}

/** What keeps us from supplying more, though what is there may stay. What is not known does. */
export function supplyStop(
  market: MarketLook,
  allocation: AllocationSeen,
  policy: AllocatorPolicy,
): Stop | null {
  const doubted = doubt(market, allocation)
  if (doubted !== null) return doubted
  if (allocation.listing === null || allocation.listed !== true || allocation.approved !== true) {
    const message = `listed is ${allocation.listed} and approved ${allocation.approved}; both must be true, and the vault must say so.`
    return { check: 'market_not_approved', message }
  }
  if (!allocation.listing.allocationEnabled || allocation.allocationEnabled !== true) {
    const message = `allocationEnabled is ${allocation.allocationEnabled}, by the vault ${allocation.listing.allocationEnabled}; both must be true.`
    return { check: 'allocation_disabled', message }
  }
  if (allocation.absoluteCapAssets === null || allocation.relativeCapBps === null) {
    return {
      check: 'caps_unknown',
      message: 'The service does not say absoluteCapAssets and relativeCapBps.',
    }
  }
  if ('unknown' in market.curve) return { check: 'curve_unknown', message: market.curve.unknown }
  const flags = [market.pausedOnChain, market.paused, market.marketLive, market.marketRegimeState]
  const figures = [market.oracleState, market.oracle, market.badDebtAssets]
  if ([...flags, ...figures].some((known) => known === null)) {
    const message = 'Its pause, liveness, regime, oracle or bad debt is not known; all must be.'
    return { check: 'market_state_unknown', message }
  }
  if (market.collateralSymbol === null || policy.collaterals[market.collateralSymbol] === undefined) {
    const message = `The policy's collaterals do not list ${market.collateralSymbol ?? 'its collateral'}.`
    return { check: 'collateral_not_allowed', message }
  }
  return null
}

/** What the service says against a market; null where it says nothing. */
function doubt(
  { paused, marketLive, marketRegimeState, oracleState }: MarketLook,
  { approved, listed }: AllocationSeen,
): Stop | null {
  if (approved === false || listed === false) {
    return {
      check: 'market_delisted',
      message: 'The service says that the vault lists this market no longer.',
    }
  }
  if (paused === true) {
    return { check: 'market_paused', message: 'The service says that the market is paused.' }
  }
  if (marketLive === false) {
    return { check: 'market_not_live', message: 'marketLive is false; it must be true.' }
  }
  if (marketRegimeState !== null && marketRegimeState !== NORMAL_MARKET_REGIME) {
    const message = `marketRegimeState is ${marketRegimeState}; it must be ${NORMAL_MARKET_REGIME}.`
    return { check: 'regime_not_normal', message }
  }
  if (oracleState === null || oracleState === HEALTHY_ORACLE_STATE) return null
  const message = `The service says the oracle is ${oracleState}; it must be ${HEALTHY_ORACLE_STATE}.`
  return { check: 'oracle_not_healthy', message }
}

/** Most that may lie in a market by the vault's caps, the service's, and the policy's share; base units. */
export function capAssets(
  { listing, absoluteCapAssets, relativeCapBps }: AllocationSeen,
  { totalAssets }: VaultBooks,
  shareBpsMax: number,
  headroomBps: number,
): bigint {
  if (listing === null || absoluteCapAssets === null || relativeCapBps === null) return 0n
  const share = Math.min(listing.relativeCapBps, relativeCapBps, shareBpsMax)
  const caps = [listing.absoluteCapAssets, absoluteCapAssets, (totalAssets * BigInt(share)) / BPS]
  const least = caps.reduce((low, cap) => (cap < low ? cap : low))
  return (least * (BPS - BigInt(headroomBps))) / BPS
}

/** What the service's own proposals leave of what we would supply more; base units, null without a limit. */
export function intelligenceLimit(
  items: readonly IntelligenceSeen[],
  { intelligence }: AllocatorPolicy,
  nowMs: number,
): bigint | null {
  const heard = items.filter(
    ({ confidenceBps, createdAtMs, modelVersion, policyVersion }) =>
      confidenceBps !== null &&
      confidenceBps >= intelligence.confidenceBpsMin &&
      createdAtMs !== null &&
      Math.abs(nowMs - createdAtMs) <= intelligence.ageSMax * 1_000 &&
      intelligence.modelVersions.includes(modelVersion ?? 'none') &&
      intelligence.policyVersions.includes(policyVersion ?? 'none'),
  )
  const limits = heard.flatMap(({ action, amountAssets }) => {
    if (action === 'deallocate') return [0n]
    return action === 'allocate' && amountAssets !== null ? [amountAssets] : []
  })
  return limits.length === 0 ? null : limits.reduce((low, limit) => (limit < low ? limit : low))
}
