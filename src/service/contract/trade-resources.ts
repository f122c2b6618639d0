import { z } from 'zod'
import { entityIdOf } from './assumptions.ts'
import { addr, hash32, shortText, ts, uintString } from './scalars.ts'

/**
 * Assumed: how RFQs, auctions and acquisition lots are read, which the document leaves "not shown". Addresses and
 * numbers are named as the workflow inputs name them; amounts are base units of the asset or of the quote asset. An
 * `id` is the contract's address and the number there, `contract:number`. Every member is present.
 */

/** What any of them offers: an amount of an asset, for at least the reserve in the quote asset, until the close. */
const offer = {
  id: shortText,
  chainId: z.number().int(),
  sellerAddress: addr,
  assetAddress: addr,
  assetAmount: uintString,
  quoteAssetAddress: addr,
  reserveAssets: uintString,
  openedAt: ts,
  closesAt: ts,
  /** What it was sold for, and to whom; null before, and when it was not. */
  winnerAddress: addr.nullable(),
  proceedsAssets: uintString.nullable(),
}

/**
 * Assumed: a bid on an RFQ. A `live` one may win, and one that is live at the close stays so until the RFQ is
 * finalized; `expired`, `displaced` and `lost` ones are `refundable`; `cancelled` and `refunded` ones are paid back.
 * Its id is `desk:bid`.
 */
export const rfqBidResource = z.object({
  id: shortText,
  bidId: uintString,
  bidderAddress: addr,
  assets: uintString,
  placedAt: ts,
  /** When it was last replaced; equal bids win by this order. */
  updatedAt: ts,
  expiresAt: ts,
  status: z.enum(['live', 'expired', 'displaced', 'lost', 'won', 'cancelled', 'refunded']),
  refundable: z.boolean(),
})
export type RfqBidResource = z.infer<typeof rfqBidResource>

/** Assumed: an RFQ with its bids, oldest first. It is `closed` when its time is over and nobody has finalized it. */
export const rfqResource = z.object({
  ...offer,
  rfqAddress: addr,
  rfqId: uintString,
  /** Of the selling fund; "0" where no fund sells. */
  holdingId: uintString,
  status: z.enum(['open', 'closed', 'sold', 'unsold']),
  /** Of the live bids; null without one. */
  bestBidAssets: uintString.nullable(),
  winningBidId: uintString.nullable(),
  bids: z.array(rfqBidResource),
})
export type RfqResource = z.infer<typeof rfqResource>

/** Assumed: a bid that raised a lot. Its id is `contract:lot:number`, counted from 1 within the lot. */
const raisingBid = {
  id: shortText,
  assets: uintString,
  placedAt: ts,
  status: z.enum(['leading', 'outbid', 'won']),
}

/** Assumed: a lot of an open ascending auction. */
export const auctionResource = z.object({
  ...offer,
  auctionAddress: addr,
  lotId: uintString,
  holdingId: uintString,
  status: z.enum(['open', 'closed', 'sold', 'unsold']),
  bestBidderAddress: addr.nullable(),
  bestBidAssets: uintString.nullable(),
  /** The least that the next bid may be. */
  nextBidAssets: uintString,
  bids: z.array(z.object({ ...raisingBid, bidderAddress: addr })),
  /** What outbid bidders could not be paid back at once, and have not withdrawn. */
  owed: z.array(z.object({ bidderAddress: addr, assets: uintString })),
})
export type AuctionResource = z.infer<typeof auctionResource>

/** Assumed: a distressed position that funds bid for; an outbid fund is paid back at once. */
export const acquisitionResource = z.object({
  ...offer,
  acquisitionAddress: addr,
  lotId: uintString,
  positionId: hash32,
  lane: shortText,
  marketAddress: addr,
  borrowerAddress: addr,
  status: z.enum(['open', 'closed', 'awarded', 'unsold']),
  bestFundAddress: addr.nullable(),
  bestBidAssets: uintString.nullable(),
  bids: z.array(z.object({ ...raisingBid, fundAddress: addr })),
})
export type AcquisitionResource = z.infer<typeof acquisitionResource>

/** Assumed: postconditions and activity name an RFQ, an RFQ's bid, or a lot as `contract:number`, lower case. Pure. */
export const tradeEntityId = (contract: string, number: string) =>
  entityIdOf(contract, String(BigInt(number)))
