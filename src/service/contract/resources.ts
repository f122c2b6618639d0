import { z } from 'zod'
import { addr, optional, shortText, ts, uintString } from './scalars.ts'

/** Any text of a resource. */
export const text = z.string().max(2_000)
/** Basis points; a rate or a return may be negative. */
export const bps = z.number().int()
/** An object whose members the document does not show. */
export const opaque = z.record(z.string(), z.unknown())

/** Source: service API, "Shared envelope for collections". */
const FRESHNESS_STATUSES = ['current', 'healthy', 'stale', 'missing', 'blocked']

/**
 * How fresh a read is. `status` is one of current, healthy, stale, missing, blocked; a value we do not know
 * parses, and counts as not fresh.
 * Source: service API, "Shared envelope for collections".
 */
export const freshness = z.object({
  status: text.meta({ enum: FRESHNESS_STATUSES }),
  lagSeconds: z.number().int().min(0),
  blockNumber: optional(uintString),
  blockTimestamp: optional(ts),
  projectedAt: optional(ts),
  snapshotAt: optional(ts),
  reason: optional(text),
})
export type Freshness = z.infer<typeof freshness>

/** Source: service API, "Error object (ServiceApiError)". */
export const serviceApiError = z.object({
  ok: z.boolean(),
  code: shortText,
  message: shortText,
  requestId: shortText,
  retryable: z.boolean(),
  blockedReason: optional(text),
  docsUrl: z.string().meta({ format: 'uri' }).optional(),
})
export type ServiceApiError = z.infer<typeof serviceApiError>

/** At most this many items are on a page. Source: service API, "Limits". */
export const PAGE_SIZE_MAX = 100

/**
 * The envelope of a collection page. Items are checked one by one by the reader, so that one bad row does not
 * hide a hundred good ones.
 */
export const collectionEnvelope = z.object({
  items: z.array(z.unknown()).max(PAGE_SIZE_MAX),
  pageInfo: z.object({ hasMore: z.boolean(), nextCursor: z.string().max(4_096).nullable() }),
  freshness,
})

/** Source: service API, "AssetProfileResource". */
export const assetProfile = z.object({
  id: optional(text),
  chainId: optional(z.number().int()),
  address: optional(addr),
  symbol: optional(text),
  name: optional(text),
  decimals: optional(z.number().int().min(0).max(36)),
  logoUrl: optional(text),
  topCategory: optional(text),
  subcategory: optional(text),
  economicsTaxonomy: optional(opaque),
  kycRequired: optional(z.boolean()),
  priceUsd: optional(text),
  priceAsOf: optional(ts),
  issuer: optional(z.object({ configured: z.boolean(), name: optional(text), website: optional(text) })),
})

/** Source: service API, "Asset (AssetResource)". */
export const assetResource = z.object({
  id: text,
  chainId: z.number().int(),
  address: addr,
  symbol: text,
  name: optional(text),
  decimals: z.number().int().min(0).max(36),
  topCategory: optional(text),
  subcategory: optional(text),
  economicsTaxonomy: optional(opaque),
  kycRequired: optional(z.boolean()),
  priceUsd: optional(text),
  priceAsOf: optional(ts),
  logoUrl: optional(text),
})
export type AssetResource = z.infer<typeof assetResource>

/** Source: service API, "Market (MarketResource)"; `oracle` member. */
const marketOracle = z.object({
  address: optional(addr),
  priceWad: optional(uintString),
  state: optional(text),
  sourceAsOf: optional(ts),
  lastUpdated: optional(ts),
})

/** Source: service API, "MarketAllocatorResource". */
export const marketAllocator = z.object({
  marketId: text,
  marketAddress: addr,
  vaultId: text,
  vaultAddress: addr,
  vaultName: optional(text),
  vaultSymbol: optional(text),
  listed: optional(z.boolean()),
  approved: optional(z.boolean()),
  allocationEnabled: optional(z.boolean()),
  allocatedAssets: optional(uintString),
  availableLiquidity: optional(uintString),
  absoluteCapAssets: optional(uintString),
  relativeCapBps: optional(bps),
  blockNumber: optional(uintString),
})

/** Source: service API, "MarketHistoryResource". */
export const marketHistory = z.object({
  marketId: text,
  marketAddress: addr,
  interval: text,
  bucketStart: optional(ts),
  bucketEnd: optional(ts),
  utilizationSpotWad: optional(uintString),
  utilizationEffectiveWad: optional(uintString),
  borrowRateAprBps: optional(bps),
  lendingApyBps: optional(bps),
  protocolApyBps: optional(bps),
  totalSupplied: optional(uintString),
  totalDebt: optional(uintString),
  availableLiquidity: optional(uintString),
  totalBadDebt: optional(uintString),
  oracleState: optional(text),
  blockNumber: optional(uintString),
})
export type MarketHistoryResource = z.infer<typeof marketHistory>

/** Source: service API, "Market (MarketResource)". */
export const marketResource = z.object({
  id: text,
  chainId: z.number().int(),
  address: addr,
  symbol: optional(text),
  name: optional(text),
  loanAssetAddress: optional(addr),
  collateralAssetAddress: optional(addr),
  loanSymbol: optional(text),
  collateralSymbol: optional(text),
  loanDecimals: optional(z.number().int().min(0).max(36)),
  collateralDecimals: optional(z.number().int().min(0).max(36)),
  oracleAddress: optional(addr),
  interestRateModelAddress: optional(addr),
  loanAsset: optional(assetProfile),
  collateralAsset: optional(assetProfile),
  totalSupplied: optional(uintString),
  totalDebt: optional(uintString),
  totalBadDebt: optional(uintString),
  availableLiquidity: optional(uintString),
  utilizationWad: optional(uintString),
  currentBorrowRatePerSecond: optional(uintString),
  currentSupplyRatePerSecond: optional(uintString),
  targetUtilizationPct: optional(z.number()),
  borrowRateAprBps: optional(bps),
  lendingApyBps: optional(bps),
  reserveFactorBps: optional(bps),
  lltvBps: optional(bps),
  displayLtvBps: optional(bps),
  liquidationThresholdBps: optional(bps),
  closeFactorBps: optional(bps),
  liquidationBonusBps: optional(bps),
  oracleState: optional(text),
  marketRegimeState: optional(text),
  marketLive: optional(z.boolean()),
  paused: optional(z.boolean()),
  vaultOnlySupply: optional(z.boolean()),
  borrowGateEnabled: optional(z.boolean()),
  collateralGateEnabled: optional(z.boolean()),
  kycVendorKycRequired: optional(z.boolean()),
  borrowPolicy: optional(text),
  oracle: optional(marketOracle),
  funding: optional(
    z.object({
      partitionCount: optional(z.number().int()),
      totalAllocatedAssets: optional(uintString),
      largestSourceAssets: optional(uintString),
      largestSourceVaultId: optional(text),
      largestSourceVaultAddress: optional(addr),
    }),
  ),
  allocators: optional(z.array(marketAllocator).max(100)),
  history: optional(z.array(marketHistory).max(2_000)),
  freshness: optional(freshness),
})
export type MarketResource = z.infer<typeof marketResource>

/** Source: service API, "Position". */
export const positionResource = z.object({
  marketId: text,
  chainId: z.number().int(),
  marketAddress: addr,
  walletAddress: addr,
  collateralAssets: optional(uintString),
  debtAssets: optional(uintString),
  debtShares: optional(uintString),
  maxBorrowableAssets: optional(uintString),
  healthFactorWad: optional(uintString),
  liquidatable: optional(z.boolean()),
  monitorState: optional(text),
})
export type PositionResource = z.infer<typeof positionResource>

/** Source: service API, "Credit facility". */
export const creditFacilityResource = z.object({
  marketId: text,
  vaultId: text,
  chainId: z.number().int(),
  marketAddress: addr,
  vaultAddress: addr,
  borrowerAddress: addr,
  principalAssets: optional(uintString),
  debtAssets: optional(uintString),
  maxBorrowableAssets: optional(uintString),
  healthFactorWad: optional(uintString),
  monitorState: optional(text),
})
export type CreditFacilityResource = z.infer<typeof creditFacilityResource>

/** Source: service API, "Liquidation recovery item". */
export const liquidationRecoveryResource = z.object({
  marketId: text,
  vaultId: text,
  chainId: z.number().int(),
  marketAddress: addr,
  vaultAddress: addr,
  borrowerAddress: addr,
  healthFactorWad: optional(uintString),
  liquidatable: optional(z.boolean()),
  executable: optional(z.boolean()),
  blockedReason: optional(text),
  repayAssets: optional(uintString),
  collateralSeizedAssets: optional(uintString),
  residualBadDebtAssets: optional(uintString),
})
export type LiquidationRecoveryResource = z.infer<typeof liquidationRecoveryResource>

/** Source: service API, "Eligibility item". */
export const eligibilityResource = z.object({
  chainId: z.number().int(),
  walletAddress: addr,
  actionType: text,
  scopeAddress: addr,
  authorizationStatus: text,
})
export type EligibilityResource = z.infer<typeof eligibilityResource>

/** Source: service API, "Activity item". */
export const activityResource = z.object({
  resourceType: text,
  resourceId: text,
  chainId: z.number().int(),
  address: addr,
  type: text,
  amount: optional(uintString),
  txHash: text,
  logIndex: z.number().int(),
  blockNumber: optional(uintString),
  timestampEpochMs: z.number().int(),
})
export type ActivityResource = z.infer<typeof activityResource>
