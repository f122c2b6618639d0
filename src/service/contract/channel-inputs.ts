import { z } from 'zod'
import { address, bps, name, symbol, uintString, website } from './workflow-inputs.ts'

/** Assumed: members of `input` of what partners, curators, investors and asset issuers do, written as those of the other types. */

/** Whether the curator shows a market of a vault to its public. */
export const marketListingInput = z.strictObject({
  vaultAddress: address,
  marketAddress: address,
  listed: z.boolean(),
})

/** Who wants to offer a vault to others; it is reviewed. */
export const partnerApplicationInput = z.strictObject({
  vaultAddress: address,
  partnerName: name,
  website,
  useCase: z.string().min(20).max(4_000),
})

/**
 * A channel, which is an ERC-4626 wrapper of one vault; `target` of its intent is null. `resellerFeeBps` is a year's fee on
 * what it holds, `borrowerFeeBps` a part of the interest that borrowers pay on it.
 */
export const channelDeployInput = z.strictObject({
  vaultAddress: address,
  assetAddress: address,
  resellerAddress: address,
  curatorAddress: address,
  name,
  symbol,
  shareClass: name,
  resellerFeeBps: bps,
  borrowerFeeBps: bps,
  capAssets: uintString,
})

/** Whether an account may use a channel; the channel's own address stands for everybody. */
export const channelBlockedInput = z.strictObject({
  channelAddress: address,
  accountAddress: address,
  blocked: z.boolean(),
})

/** A deposit through a wrapper, for at least so many of its shares. */
export const wrapperDepositInput = z.strictObject({
  wrapperAddress: address,
  assets: uintString,
  receiverAddress: address,
  minShares: uintString,
})

/** Shares of a wrapper, redeemed for at least so many assets. */
export const wrapperRedeemInput = z.strictObject({
  wrapperAddress: address,
  shares: uintString,
  receiverAddress: address,
  minAssets: uintString,
})

/** What borrowers' interest has brought a channel's reseller, paid out in assets. */
export const borrowerFeeClaimInput = z.strictObject({
  channelAddress: address,
  recipientAddress: address,
  minAssets: uintString,
})

/** Shares of a channel that its reseller earned by its fee. */
export const feeSharesClaimInput = z.strictObject({
  channelAddress: address,
  shares: uintString,
  recipientAddress: address,
})

/** What a holder does with the mobility of its shares. */
export const investorMobilityInput = z.discriminatedUnion('action', [
  z.strictObject({
    vaultAddress: address,
    action: z.literal('transfer'),
    recipientAddress: address,
    shares: uintString,
  }),
  z.strictObject({ vaultAddress: address, action: z.literal('restore') }),
])

/** An asset that its issuer wants to be listed; it is reviewed. */
export const assetSubmissionInput = z.strictObject({
  assetAddress: address,
  name,
  symbol,
  decimals: z.number().int().min(0).max(36),
  issuerName: name,
  website,
  topCategory: name,
})
