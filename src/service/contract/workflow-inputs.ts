import { z } from 'zod'
import { addr, uintString as digits } from './scalars.ts'

/**
 * Assumed: members of `input` for each workflow type that a role agent proposes, or that the people beside it use.
 * Addresses and figures are named as the resources name them. `…Assets` are base units of the asset that the context
 * names, `…Seconds` and `…Timestamp` are unsigned strings, because the resources write such times so. `max…` and `min…`
 * bound what the caller pays or gets: past them the chain reverts.
 */

/** Every figure goes into calldata, as a uint256 at most. */
export const uintString = digits.refine((text) => /^[0-9]+$/.test(text) && BigInt(text) < 2n ** 256n)

export const name = z.string().min(1).max(64)
export const symbol = z.string().regex(/^[A-Za-z0-9]{1,16}$/)
export const bps = z.number().int().min(0).max(10_000)
export const address = addr
export const website = z.string().regex(/^https:\/\/[\x21-\x7e]{1,192}$/)

/** A liquidation; `recipientAddress` receives what is seized. */
export const liquidateInput = z.strictObject({
  marketAddress: address,
  vaultAddress: address,
  borrowerAddress: address,
  repayAssets: uintString,
  minCollateralAssets: uintString,
  recipientAddress: address,
})
export type LiquidateInput = z.infer<typeof liquidateInput>

/** A claim is named by its market and its number there. */
export const settleLiquidationClaimInput = z.strictObject({ marketAddress: address, claimId: uintString })
export type SettleLiquidationClaimInput = z.infer<typeof settleLiquidationClaimInput>

/** Collateral of a market, sold for its loan asset at a venue that the deployment pins. */
export const sellInput = z.strictObject({
  marketAddress: address,
  venueAddress: address,
  assets: uintString,
  minLoanAssets: uintString,
})

/** The principal borrows from one vault's partition of a market; it receives the loan itself. */
export const borrowInput = z.strictObject({
  marketAddress: address,
  vaultAddress: address,
  assets: uintString,
})

/** Anyone may repay for a borrower; no more than the debt is taken. */
export const repayInput = z.strictObject({
  marketAddress: address,
  vaultAddress: address,
  borrowerAddress: address,
  assets: uintString,
})

/** Collateral of the principal, in or out. */
export const collateralInput = z.strictObject({ marketAddress: address, assets: uintString })

/** A deposit into a vault, for at least so many shares. */
export const depositInput = z.strictObject({
  vaultAddress: address,
  assets: uintString,
  receiverAddress: address,
  minShares: uintString,
})

/** A withdrawal from what is idle, for at most so many shares. */
export const withdrawNowInput = z.strictObject({
  vaultAddress: address,
  assets: uintString,
  receiverAddress: address,
  maxShares: uintString,
})

/** A place in the redemption queue; the shares wait in the vault. */
export const requestWithdrawalInput = z.strictObject({
  vaultAddress: address,
  shares: uintString,
  receiverAddress: address,
})

/** What a due request pays. */
export const claimWithdrawalInput = z.strictObject({ vaultAddress: address, requestId: uintString })

/** A vault's assets into one market, or back. */
export const allocationInput = z.strictObject({
  vaultAddress: address,
  marketAddress: address,
  assets: uintString,
})

const moves = z.array(z.strictObject({ marketAddress: address, assets: uintString })).max(16)
/** Withdrawals come first, then supplies, all or nothing. */
export const reallocationInput = z.strictObject({
  vaultAddress: address,
  withdrawals: moves,
  supplies: moves,
})

/**
 * One NAV report. `value` is in units of 10^-decimals of the quote asset for one whole share. `valuationTimestamp` is
 * unix seconds; `revision` counts from 0 for one valuation time.
 */
export const navReportInput = z.strictObject({
  oracleAddress: address,
  assetAddress: address,
  reportType: z.string().regex(/^[a-z_]{1,32}$/),
  value: uintString,
  decimals: z.number().int().min(0).max(36),
  valuationTimestamp: uintString,
  revision: z.number().int().min(0).max(4_294_967_295),
  revisionLabel: z.string().max(64),
})

/** A fund bids for a distressed position that an acquisition house offers. */
export const acquisitionBidInput = z.strictObject({
  fundAddress: address,
  acquisitionAddress: address,
  lotId: uintString,
  bidAssets: uintString,
})

/** What a fund may do over one channel. */
export const channelPolicyInput = z.strictObject({
  fundAddress: address,
  channel: z.enum(['acquisition', 'auction', 'rfq']),
  enabled: z.boolean(),
  maxAssetsPerEpoch: uintString,
  maxPriceBps: bps,
  maxPositionBps: bps,
})

/** A recovery fund that its manager, the principal, launches. */
export const selfLaunchInput = z.strictObject({
  name,
  symbol,
  quoteAssetAddress: address,
  epochDurationSeconds: uintString,
  minSubscriptionAssets: uintString,
  maxSubscriptionAssets: uintString,
  carryRateBps: bps,
  performanceFeeBps: bps,
  preferredReturnBps: bps,
})

/** How holders leave a vault. */
export const EXIT_TERM_KINDS = ['instant', 'notice', 'interval', 'maturity'] as const

/** A vault that the principal deploys; `target` of its intent is null. Times that its kind does not use are "0". */
export const vaultDeployInput = z.strictObject({
  name,
  symbol,
  baseAssetAddress: address,
  ownerAddress: address,
  allocatorAddress: address,
  managerAddress: address,
  liquidityBufferBps: bps,
  exitTermKind: z.enum(EXIT_TERM_KINDS),
  noticeSeconds: uintString,
  intervalSeconds: uintString,
  maturityTimestamp: uintString,
})

/** Who may receive a vault's shares. */
export const TRANSFER_PROFILES = ['open', 'trusted_recipients', 'frozen'] as const

/** What a vault's manager does to the mobility of its shares. */
export const shareMobilityInput = z.discriminatedUnion('action', [
  z.strictObject({
    vaultAddress: address,
    action: z.literal('pause'),
    /** Unix seconds from which anyone may restore. */
    restoreAfterTimestamp: uintString,
    reason: z.string().min(1).max(64),
  }),
  z.strictObject({ vaultAddress: address, action: z.literal('restore') }),
  z.strictObject({
    vaultAddress: address,
    action: z.literal('set_transfer_profile'),
    transferProfile: z.enum(TRANSFER_PROFILES),
  }),
  z.strictObject({
    vaultAddress: address,
    action: z.literal('set_trusted_recipient'),
    recipientAddress: address,
    trusted: z.boolean(),
  }),
])

/** A bid in an open ascending auction. */
export const auctionBidInput = z.strictObject({
  auctionAddress: address,
  lotId: uintString,
  bidAssets: uintString,
})

/** A bid on an RFQ, its assets held in escrow; `expiresTimestamp` is unix seconds. */
export const rfqPlaceBidInput = z.strictObject({
  rfqAddress: address,
  rfqId: uintString,
  bidAssets: uintString,
  expiresTimestamp: uintString,
})

/** Another price for a bid of ours; the escrow is topped up or paid back. */
export const rfqReplaceBidInput = z.strictObject({
  rfqAddress: address,
  rfqId: uintString,
  bidId: uintString,
  bidAssets: uintString,
  expiresTimestamp: uintString,
})

/** A bid of ours: to cancel, or to take back what it has in escrow. */
export const rfqBidInput = z.strictObject({ rfqAddress: address, rfqId: uintString, bidId: uintString })

/** An RFQ that has closed. */
export const rfqFinalizeInput = z.strictObject({ rfqAddress: address, rfqId: uintString })
