import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import { address, createView, uint, type View } from '../../reads/views.ts'

/** What RFQs and their bids are judged by: the desk. */
export const DESK_VIEWS = parseAbi([
  'struct Rfq { address seller; uint8 state; uint64 closesAt; bool sellerIsContract; uint256 holdingId; address asset; uint256 amount; address quoteAsset; uint256 reserveAssets; uint256 winningBidId; }',
  'struct Bid { address bidder; uint8 state; uint64 expiresAt; uint256 rfqId; uint256 assets; uint256 turn; }',
  'function rfq(uint256 rfqId) view returns (Rfq found)',
  'function bid(uint256 bidId) view returns (Bid found)',
  'function refundable(uint256 bidId) view returns (bool)',
  'function bookedBids(uint256 rfqId) view returns (Bid[] booked)',
])
/** What an auction's lots are judged by. */
export const AUCTION_VIEWS = parseAbi([
  'struct Lot { address seller; uint8 state; uint64 closesAt; uint64 closesAtMax; bool sellerIsContract; uint256 holdingId; address asset; uint256 amount; address quoteAsset; uint256 reserveAssets; address bestBidder; uint256 bestAssets; }',
  'function lot(uint256 lotId) view returns (Lot found)',
  'function minIncrementBps() view returns (uint256)',
])
/** What all bids together are judged by: every venue that holds one's money. */
export const ESCROW_VIEWS = parseAbi([
  'function commitments(address bidder, address asset, address quoteAsset) view returns (uint256 escrowAssets, uint256 winnableAmount)',
])
const viewEscrow = createView(ESCROW_VIEWS)
const viewDesk = createView(DESK_VIEWS)
const viewAuction = createView(AUCTION_VIEWS)

/** What is sold, to whom it may go, and until when; `state` 1 is open. */
const offer = {
  seller: address,
  state: uint,
  closesAt: uint,
  asset: address,
  amount: uint,
  quoteAsset: address,
  reserveAssets: uint,
}
const rfqRead = z.object(offer)
const lotRead = z.object({ ...offer, bestBidder: address, bestAssets: uint })
/** A lot of an auction; `bestAssets` is 0 while nobody has bid. */
export type LotRead = z.output<typeof lotRead>

/** The desk's code of a bid that is in a book. */
export const BOOKED = 1n
const bidRead = z.object({ bidder: address, state: uint, expiresAt: uint, rfqId: uint, assets: uint })
/** A bid on an RFQ. */
export type BidRead = z.output<typeof bidRead>
/** What an RFQ and a lot of an auction have in common. */
export type OfferRead = z.output<typeof rfqRead>

/** Read an RFQ; one that never was has state 0. */
export const rfqView = (desk: Address, rfqId: bigint): View<OfferRead> =>
  viewDesk('rfq', desk, [rfqId], rfqRead)

/** Read a bid on an RFQ; one that never was belongs to nobody. */
export const bidView = (desk: Address, bidId: bigint): View<BidRead> =>
  viewDesk('bid', desk, [bidId], bidRead)

/** Read the bids on an RFQ that may win, expired ones among them. */
export const bookView = (desk: Address, rfqId: bigint): View<readonly BidRead[]> =>
  viewDesk('bookedBids', desk, [rfqId], z.array(bidRead))

/** What a venue counts of one bidder, for one asset in one quote asset. */
export type CommitmentRead = { readonly escrowAssets: bigint; readonly winnableAmount: bigint }

/** Read what a bidder has in escrow at a venue and is not paid back, and what its bids there may win; base units. */
export const commitmentsView = (
  venue: Address,
  bidder: Address,
  asset: Address,
  quoteAsset: Address,
): View<CommitmentRead> =>
  viewEscrow(
    'commitments',
    venue,
    [bidder, asset, quoteAsset],
    z.tuple([uint, uint]).transform(([escrowAssets, winnableAmount]) => ({ escrowAssets, winnableAmount })),
  )

/** Read whether a bid's escrow can be claimed. */
export const refundableView = (desk: Address, bidId: bigint): View<boolean> =>
  viewDesk('refundable', desk, [bidId], z.boolean())

/** Read an auction's lot, with its best bid. */
export const lotView = (auction: Address, lotId: bigint): View<LotRead> =>
  viewAuction('lot', auction, [lotId], lotRead)

/** Read how much a bid must be above the best one, basis points of it. */
export const incrementView = (auction: Address): View<bigint> =>
  viewAuction('minIncrementBps', auction, [], uint)
