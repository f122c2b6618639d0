import type { Address } from 'viem'
import type {
  VaultLiquidityResource,
  VaultResource,
  VaultShareMobilityResource,
} from '../../src/service/contract/vault-resources.ts'
import { TRANSFER_PROFILES } from '../../src/service/contract/workflow-inputs.ts'
import type { VaultState } from './chain-reader.ts'
import { exitTermKind, freeAssets, paysAtOnce, requestDueAtS } from './exit-terms.ts'
import { lower } from './logs.ts'
import { isoOrNull } from './rows.ts'
import type { MarketRead, VaultRead } from './state.ts'
import { type RedemptionRequest, WITHDRAWALS_WINDOW_S } from './vault-book.ts'

/** Requests shown of each queue: the oldest that wait, and the newest that are paid. */
const WAITING_SHOWN_MAX = 100
const PAID_SHOWN_MAX = 20

const orNull = (text: string): string | null => (text === '' ? null : text)
const secondsOrNull = (seconds: bigint): string | null => (seconds === 0n ? null : String(seconds))

/** Describe when holders are paid; a figure that the kind does not use is null. Pure. */
export const exitTermsOf = (state: VaultState) => ({
  exitTermKind: exitTermKind(state.exitTerms),
  noticeSeconds: secondsOrNull(state.exitTerms.noticeSeconds),
  intervalSeconds: secondsOrNull(state.exitTerms.intervalSeconds),
  maturityTimestamp: isoOrNull(state.exitTerms.maturityTimestamp),
  tighteningLocked: state.tighteningLocked,
})

/**
 * Describe what a vault could pay. Available at once is what is idle and not needed by the redemption queue. The assets and
 * the markets of the sandbox have no lock-up. Pure. Source: service API, "VaultLiquidityResource".
 */
export function liquidityRow(
  { address, state }: VaultRead,
  markets: readonly MarketRead[],
): VaultLiquidityResource {
  const known = (market: Address) => markets.find((one) => one.address === lower(market))
  const { allocations, mobility } = state
  const bufferAssets = (state.totalAssets * BigInt(state.liquidityBufferBps) + 9_999n) / 10_000n
  return {
    vaultId: address,
    vaultAddress: address,
    idleAssets: String(state.idleAssets),
    totalAllocatedAssets: String(state.totalAssets - state.idleAssets),
    immediatelyAvailableAssets: String(freeAssets(state)),
    liquidityBufferBps: state.liquidityBufferBps,
    baseAssetLockupPeriod: '0',
    portfolioLockupStatus: 'none',
    longestKnownLockupPeriod: '0',
    attachedMarketCount: allocations.length,
    exposedMarketCount: allocations.filter((one) => one.allocatedAssets > 0n).length,
    unverifiedMarketCount: allocations.filter((one) => known(one.market) === undefined).length,
    ...exitTermsOf(state),
    stressCoverageStatus: freeAssets(state) >= bufferAssets ? 'covered' : 'short',
    // Nothing here is locked up, so everyone who may leave can be paid.
    durationCompatible: true,
    blockedReason: mobility.redeemFreezeReason === '' ? null : 'redemption_frozen',
    marketLiquidity: allocations.map((one) => ({
      marketAddress: lower(one.market),
      allocatedAssets: String(one.allocatedAssets),
      withdrawableAssets: String(one.cashAssets),
      utilizationWad: known(one.market)?.state.utilizationWad.toString() ?? null,
    })),
  }
}

/**
 * Describe whether shares may move, and the redemption queue. Pure. Who may hold shares does not depend on who asks: a
 * wallet's eligibility is whether it has to be a trusted recipient. Source: service API, "VaultShareMobilityResource".
 */
export function mobilityRow({ address, state, entry }: VaultRead): VaultShareMobilityResource {
  const { mobility } = state
  const all = [...entry.requests.values()]
  const waiting = all.filter((request) => request.paid === null)
  const paid = all.filter((request) => request.paid !== null)
  return {
    vaultId: address,
    vaultAddress: address,
    transferProfile: TRANSFER_PROFILES[mobility.transferProfile] ?? null,
    shareMobilityPaused: mobility.paused,
    restoreAfter: isoOrNull(mobility.restoreAfter),
    redeemFreezeReason: orNull(mobility.redeemFreezeReason),
    systemReason: orNull(mobility.pauseReason),
    mobilityEpoch: String(mobility.epoch),
    shareTokens: [
      {
        address,
        symbol: state.symbol,
        name: state.name,
        decimals: state.decimals,
        totalSupply: String(state.totalSupply),
      },
    ],
    redemptionQueue: {
      waitingCount: waiting.length,
      waitingShares: String(state.queuedShares),
      waitingAssets: String(state.queuedAssets),
      requests: [...waiting.slice(0, WAITING_SHOWN_MAX), ...paid.slice(-PAID_SHOWN_MAX)].map((request) =>
        requestRow(request, state),
      ),
    },
    trustedRecipientPolicy: {
      required: TRANSFER_PROFILES[mobility.transferProfile] === 'trusted_recipients',
      recipients: mobility.trustedRecipients.map(lower),
    },
    walletEligibility: { required: TRANSFER_PROFILES[mobility.transferProfile] === 'trusted_recipients' },
  }
}

function requestRow(request: RedemptionRequest, state: VaultState) {
  const { paid } = request
  const dueAtS = requestDueAtS(state.exitTerms, request)
  const due = Number(state.blockTimestamp) >= dueAtS
  return {
    requestId: request.requestId,
    status: paid !== null ? 'paid' : due ? 'due' : 'waiting',
    ownerAddress: request.owner,
    receiverAddress: request.receiver,
    shares: String(request.shares),
    requestedAt: isoOrNull(request.requestedAtS),
    dueAt: isoOrNull(dueAtS),
    paidAssets: paid === null ? null : String(paid.assets),
    paidAt: paid === null ? null : isoOrNull(paid.atS),
    paidTransactionHash: paid?.txHash ?? null,
  }
}

/** Describe a vault's figures for the public, all from its own logs and state. Pure. Source: service API, "VaultPublicMetricsResource". */
export function metricsRow({ state, entry }: VaultRead): NonNullable<VaultResource['publicMetrics']> {
  const sinceS = Number(state.blockTimestamp) - WITHDRAWALS_WINDOW_S
  const waits = [...entry.requests.values()].flatMap(({ paid, requestedAtS }) =>
    paid !== null && paid.atS >= sinceS ? [paid.atS - requestedAtS] : [],
  )
  const largest = entry.largestWithdrawals.find(({ atS }) => atS >= sinceS)
  const exposure = state.allocations
    .filter((one) => one.allocatedAssets > 0n)
    .map((one) => ({
      marketAddress: lower(one.market),
      allocatedAssets: String(one.allocatedAssets),
      exposureBps: Number((one.allocatedAssets * 10_000n) / state.totalAssets),
    }))
    .toSorted((a, b) => b.exposureBps - a.exposureBps)
  const oldest = [...entry.requests.values()].find((request) => request.paid === null)
  return {
    averageRedemptionSettlementSeconds:
      waits.length === 0 ? null : Math.round(waits.reduce((sum, wait) => sum + wait, 0) / waits.length),
    averageRedemptionSampleSize: waits.length,
    estimateModelVersion: null,
    largestWithdrawal30dAssets: largest === undefined ? null : String(largest.assets),
    largestWithdrawal30dTransactionHash: largest?.txHash ?? null,
    largestWithdrawal30dTimestampMs: largest === undefined ? null : String(largest.atS * 1_000),
    ecosystemConcentrationMarketAddress: exposure[0]?.marketAddress ?? null,
    ecosystemConcentrationBps: exposure[0]?.exposureBps ?? null,
    ecosystemExposure: exposure,
    queueStatus: {
      paysAtOnce: paysAtOnce(state),
      waitingAssets: String(state.queuedAssets),
      fundedAssets: String(state.idleAssets < state.queuedAssets ? state.idleAssets : state.queuedAssets),
      oldestRequestedAt: oldest === undefined ? null : isoOrNull(oldest.requestedAtS),
    },
    truthSource: 'chain',
  }
}
