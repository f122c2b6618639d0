import { z } from 'zod'
import { assetProfile, bps, freshness, opaque, text } from './resources.ts'
import { addr, optional, ts, uintString } from './scalars.ts'

/** Source: service API, "VaultAllocationResource". */
export const vaultAllocation = z.object({
  vaultId: text,
  vaultAddress: addr,
  marketId: text,
  marketAddress: addr,
  listed: optional(z.boolean()),
  approved: optional(z.boolean()),
  allocationEnabled: optional(z.boolean()),
  capAssets: optional(text),
  allocatedAssets: optional(text),
  allocationBps: optional(bps),
  availableMarketLiquidity: optional(text),
  marketUtilizationWad: optional(text),
  marketBorrowRateAprBps: optional(bps),
  marketLendingApyBps: optional(bps),
  liquidityProfile: optional(text),
  blockNumber: optional(text),
})

export type VaultAllocationResource = z.infer<typeof vaultAllocation>

/** Source: service API, "VaultLiquidityResource". */
export const vaultLiquidity = z.object({
  vaultId: text,
  vaultAddress: addr,
  idleAssets: optional(text),
  totalAllocatedAssets: optional(text),
  immediatelyAvailableAssets: optional(text),
  liquidityBufferBps: optional(bps),
  baseAssetLockupPeriod: optional(text),
  portfolioLockupStatus: optional(text),
  longestKnownLockupPeriod: optional(text),
  attachedMarketCount: optional(z.number().int()),
  exposedMarketCount: optional(z.number().int()),
  unverifiedMarketCount: optional(z.number().int()),
  exitTermKind: optional(text),
  noticeSeconds: optional(text),
  intervalSeconds: optional(text),
  maturityTimestamp: optional(ts),
  tighteningLocked: optional(z.boolean()),
  stressCoverageStatus: optional(text),
  durationCompatible: optional(z.boolean()),
  blockedReason: optional(text),
  marketLiquidity: optional(z.array(opaque).max(1_000)),
  freshness: optional(freshness),
})
export type VaultLiquidityResource = z.infer<typeof vaultLiquidity>

/** Source: service API, "VaultShareMobilityResource". */
export const vaultShareMobility = z.object({
  vaultId: text,
  vaultAddress: addr,
  transferProfile: optional(text),
  shareMobilityPaused: optional(z.boolean()),
  restoreAfter: optional(ts),
  redeemFreezeReason: optional(text),
  systemReason: optional(text),
  mobilityEpoch: optional(text),
  shareTokens: optional(z.array(opaque).max(100)),
  redemptionQueue: optional(opaque),
  trustedRecipientPolicy: optional(opaque),
  walletEligibility: optional(opaque),
  freshness: optional(freshness),
})
export type VaultShareMobilityResource = z.infer<typeof vaultShareMobility>

/** Source: service API, "VaultPublicMetricsResource". */
export const vaultPublicMetrics = z.object({
  averageRedemptionSettlementSeconds: optional(z.number().int()),
  averageRedemptionSampleSize: optional(z.number().int()),
  estimateModelVersion: optional(text),
  largestWithdrawal30dAssets: optional(text),
  largestWithdrawal30dTransactionHash: optional(text),
  largestWithdrawal30dTimestampMs: optional(text),
  ecosystemConcentrationMarketAddress: optional(text),
  ecosystemConcentrationBps: optional(bps),
  ecosystemExposure: optional(z.array(opaque).max(1_000)),
  queueStatus: optional(opaque),
  truthSource: optional(text),
})

/** Source: service API, "VaultHistoryResource". */
export const vaultHistory = z.object({
  vaultId: text,
  vaultAddress: addr,
  interval: text,
  bucketStart: optional(ts),
  bucketEnd: optional(ts),
  sharePrice: optional(text),
  netApyBps: optional(bps),
  totalAssets: optional(text),
  totalAllocatedAssets: optional(text),
  idleAssets: optional(text),
  tvlUsd: optional(text),
  blockNumber: optional(text),
})
export type VaultHistoryResource = z.infer<typeof vaultHistory>

/** Fees of a vault: rates, and what has accrued in base units. Source: service API, "feeAccruals members". */
export const vaultFees = z.object({
  managementFeeRateBps: optional(bps),
  performanceFeeRateBps: optional(bps),
  borrowerManagerFeeRateBps: optional(bps),
  resellerFeeRateBps: optional(bps),
  accruedManagementFeeAssets: optional(text),
  accruedPerformanceFeeAssets: optional(text),
  accruedBorrowerManagerFeeAssets: optional(text),
  accruedResellerFeeAssets: optional(text),
})

/** Source: service API, "assetManager (ResourceProvider)". */
const provider = z.object({
  id: optional(text),
  address: optional(text),
  name: optional(text),
  website: optional(text),
  logoUrl: optional(text),
})

/** Source: service API, "Vault (VaultResource)"; the tranches list returns these too. */
export const vaultResource = z.object({
  id: text,
  chainId: z.number().int(),
  address: addr,
  symbol: optional(text),
  name: optional(text),
  baseAssetAddress: optional(addr),
  baseAsset: optional(assetProfile),
  assetSymbol: optional(text),
  assetDecimals: optional(z.number().int().min(0).max(36)),
  shareClass: optional(text),
  inceptionAt: optional(ts),
  assetManager: optional(provider),
  totalAssets: optional(uintString),
  totalSupply: optional(uintString),
  totalAllocatedAssets: optional(uintString),
  idleAssets: optional(uintString),
  tvlUsd: optional(text),
  sharePrice: optional(text),
  grossApyBps: optional(bps),
  netApyBps: optional(bps),
  riskScore: optional(z.number().int()),
  status: optional(text),
  depositPolicy: optional(text),
  kycVendorKycRequired: optional(z.boolean()),
  minDepositAssets: optional(uintString),
  maxDepositAssets: optional(uintString),
  listedMarketAddresses: optional(z.array(addr).max(1_000)),
  allocations: optional(z.array(vaultAllocation).max(1_000)),
  portfolioLiquidity: optional(vaultLiquidity),
  exitTerms: optional(opaque),
  shareMobility: optional(vaultShareMobility),
  publicMetrics: optional(vaultPublicMetrics),
  history: optional(z.array(vaultHistory).max(2_000)),
  feeAccruals: optional(vaultFees),
  freshness: optional(freshness),
})
export type VaultResource = z.infer<typeof vaultResource>
