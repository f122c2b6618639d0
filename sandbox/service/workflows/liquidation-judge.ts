import { type Address, zeroAddress } from 'viem'
import {
  claimEntityId,
  ELIGIBILITY,
  facilityEntityId,
  HEALTHY_ORACLE_STATE,
  PRICE_SCALE,
} from '../../../src/service/contract/assumptions.ts'
import type { Freshness, MarketResource } from '../../../src/service/contract/resources.ts'
import type {
  LiquidateInput,
  SettleLiquidationClaimInput,
} from '../../../src/service/contract/workflow-inputs.ts'
import type { CanonicalClaim, CanonicalFacility, Snapshot } from '../../indexer/canonical.ts'
import type { CanonicalOracle } from '../../indexer/rows.ts'
import { same } from '../same.ts'
import { staleness } from './preparer.ts'

const BPS = 10_000n

/** The canonical rows that a liquidation is judged by; undefined where there is no such row. */
type LiquidationRows = {
  readonly market: MarketResource | undefined
  readonly oracle: CanonicalOracle | undefined
  readonly facility: CanonicalFacility | undefined
  readonly authorised: boolean
}

/** Find what a liquidation is judged by. Pure. */
export function liquidationRows(
  snapshot: Snapshot,
  input: LiquidateInput,
  principal: Address | null,
): LiquidationRows {
  const facilityId = facilityEntityId(input.marketAddress, input.vaultAddress, input.borrowerAddress)
  return {
    market: snapshot.markets.find((row) => same(row.address, input.marketAddress)),
    oracle: snapshot.oracles.find((row) => same(row.marketAddress, input.marketAddress)),
    facility: snapshot.facilities.find(({ resource }) => {
      const { marketAddress, vaultAddress, borrowerAddress } = resource
      return facilityEntityId(marketAddress, vaultAddress, borrowerAddress) === facilityId
    }),
    authorised: snapshot.eligibility.some(
      (row) =>
        principal !== null &&
        same(row.walletAddress, principal) &&
        same(row.scopeAddress, input.marketAddress) &&
        row.actionType === ELIGIBILITY.liquidate &&
        row.authorizationStatus === ELIGIBILITY.authorized,
    ),
  }
}

/**
 * Say why a liquidation cannot pass; empty means it can. Each reason is a stable name. Pure.
 * @param balanceAssets what the principal holds of the loan asset, base units; null when there is no principal.
 */
export function judgeLiquidation(
  input: LiquidateInput,
  rows: LiquidationRows,
  freshness: Freshness,
  balanceAssets: bigint | null,
): readonly string[] {
  const { market, oracle, facility } = rows
  const repay = BigInt(input.repayAssets)
  const reasons = staleness(freshness)
  if (market === undefined) return [...reasons, 'market_not_found']
  if (market.paused !== false) reasons.push('market_paused')
  if (oracle?.state !== HEALTHY_ORACLE_STATE || market.oracleState !== HEALTHY_ORACLE_STATE) {
    reasons.push('oracle_not_healthy')
  }
  if (market.collateralGateEnabled !== false && !rows.authorised) reasons.push('principal_not_eligible')
  if (repay === 0n) reasons.push('repay_is_zero')
  if (same(input.recipientAddress, zeroAddress)) reasons.push('recipient_is_zero')
  if (balanceAssets === null) reasons.push('principal_required')
  else if (balanceAssets < repay) reasons.push('principal_balance_too_small')
  if (facility === undefined) return [...reasons, 'position_not_found']
  if (!facility.liquidatable) reasons.push('position_not_liquidatable')
  if (repay > repayLimit(facility, market)) reasons.push('repay_above_close_factor')
  if (BigInt(input.minCollateralAssets) > seizable(repay, facility, market, oracle)) {
    reasons.push('min_collateral_above_seizable')
  }
  return reasons
}

/** Say why a claim cannot be settled; empty means it can. Chain time is the judged block's. Pure. */
export function judgeSettlement(
  claim: CanonicalClaim | undefined,
  principal: Address | null,
  blockTimestampS: number,
  freshness: Freshness,
): readonly string[] {
  const reasons = staleness(freshness)
  if (claim === undefined) return [...reasons, 'claim_not_found']
  if (principal === null) reasons.push('principal_required')
  else if (!same(claim.liquidator, principal)) reasons.push('claim_not_yours')
  if (claim.settled) reasons.push('claim_already_settled')
  if (claim.settleableAtS > blockTimestampS) reasons.push('claim_not_settleable_yet')
  return reasons
}

/** Find the claim that an input names. Pure. */
export function claimOf(snapshot: Snapshot, input: SettleLiquidationClaimInput): CanonicalClaim | undefined {
  const id = claimEntityId(input.marketAddress, BigInt(input.claimId).toString())
  return snapshot.claims.find((row) => claimEntityId(row.marketAddress, row.claimId) === id)
}

/** The contract's close limit, on the debt at the judged block: interest only raises it. */
function repayLimit(facility: CanonicalFacility, market: MarketResource): bigint {
  const { debtAssets, debtShares } = facility
  const part = ceilDiv(debtAssets * BigInt(market.closeFactorBps ?? 0), BPS)
  // The contract lets the whole debt go where the part is worth less than one debt share.
  return part * debtShares < debtAssets ? debtAssets : part
}

/** What the contract would seize at the oracle's price: with the bonus, rounded down, capped at what is held. */
function seizable(
  repay: bigint,
  facility: CanonicalFacility,
  market: MarketResource,
  oracle: CanonicalOracle | undefined,
): bigint {
  if (oracle === undefined || oracle.priceWad === 0n) return 0n
  const loanUnit = 10n ** BigInt(market.loanDecimals ?? 0)
  const collateralUnit = 10n ** BigInt(market.collateralDecimals ?? 0)
  const withBonus = repay * (BPS + BigInt(market.liquidationBonusBps ?? 0))
  const seized = (withBonus * collateralUnit * PRICE_SCALE) / (oracle.priceWad * loanUnit * BPS)
  return seized < facility.collateralAssets ? seized : facility.collateralAssets
}

const ceilDiv = (a: bigint, b: bigint) => (a + b - 1n) / b
