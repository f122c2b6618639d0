import { z } from 'zod'
import { bps, freshness, text } from './resources.ts'
import { addr, optional, ts, uintString } from './scalars.ts'

/** Times are unix seconds as unsigned strings. Source: service API, "FundEpochResource". */
export const fundEpoch = z.object({
  id: text,
  fundAddress: addr,
  epochId: optional(uintString),
  status: text,
  quoteAssetAddress: optional(addr),
  quoteAssetDecimals: optional(z.number().int().min(0).max(36)),
  openedAt: optional(uintString),
  scheduledCloseAt: optional(uintString),
  closedAt: optional(uintString),
  postCloseFundingDeadline: optional(uintString),
  depositedQuoteAmount: optional(uintString),
  withdrawnQuoteAmount: optional(uintString),
  activeScaleRay: optional(uintString),
  activeReservationId: optional(text),
  fundedSidePocketCount: optional(z.number().int()),
  blockNumber: optional(uintString),
})
export type FundEpochResource = z.infer<typeof fundEpoch>

/** Source: service API, "FundHoldingResource". */
export const fundHolding = z.object({
  id: text,
  positionId: text,
  fundAddress: addr,
  assetLane: text,
  holdingStatus: text,
  transferPriceAssets: optional(uintString),
  acquiredAt: optional(ts),
  disposedAt: optional(ts),
  marketAddress: optional(addr),
  borrowerAddress: optional(addr),
  claimableAssets: optional(uintString),
  recoveryValueAssets: optional(uintString),
})
export type FundHoldingResource = z.infer<typeof fundHolding>

/** Source: service API, "Recovery fund (FundResource)". */
export const fundResource = z.object({
  id: text,
  chainId: z.number().int(),
  address: addr,
  name: optional(text),
  status: optional(text),
  navAssets: optional(uintString),
  navAsOf: optional(ts),
  quoteAssetAddress: optional(addr),
  quoteAssetDecimals: optional(z.number().int().min(0).max(36)),
  managerAddress: optional(addr),
  managerName: optional(text),
  assetManagerEntityId: optional(text),
  fundReadinessApproved: optional(z.boolean()),
  quoteAssetProfileApproved: optional(z.boolean()),
  impairmentStatus: optional(text),
  purchasesEnabled: optional(z.boolean()),
  shareTokenActive: optional(z.boolean()),
  subscriptionStatusCode: optional(z.number().int()),
  defaultEligibilityStatusCode: optional(z.number().int()),
  subscriptionStatus: optional(text),
  investorEligibilityStatus: optional(text),
  minSubscriptionAssets: optional(uintString),
  maxSubscriptionAssets: optional(uintString),
  shareTokenAddress: optional(addr),
  sharePrice: optional(text),
  totalSupply: optional(uintString),
  totalHoldings: optional(z.number().int()),
  liquidHoldings: optional(z.number().int()),
  restrictedHoldings: optional(z.number().int()),
  carryRateBps: optional(bps),
  performanceFeeBps: optional(bps),
  preferredReturnBps: optional(bps),
  effectiveEpochId: optional(uintString),
  epochDurationSeconds: optional(uintString),
  currentEpoch: optional(fundEpoch),
  epochs: optional(z.array(fundEpoch).max(1_000)),
  holdings: optional(z.array(fundHolding).max(1_000)),
  freshness: optional(freshness),
})
export type FundResource = z.infer<typeof fundResource>

/** Source: service API, "NAV report". */
export const navReportResource = z.object({
  id: text,
  asset: text,
  assetName: optional(text),
  oracleAddress: addr,
  submittedAtEpochMs: z.number().int(),
  reportType: text,
  value: text,
  decimals: z.number().int().min(0).max(36),
  revisionLabel: optional(text),
  txHash: optional(text),
  signerAddress: optional(addr),
})
export type NavReportResource = z.infer<typeof navReportResource>
