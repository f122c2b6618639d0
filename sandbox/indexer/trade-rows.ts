import {
  type AcquisitionResource,
  type AuctionResource,
  type RfqBidResource,
  type RfqResource,
  tradeEntityId,
} from '../../src/service/contract/trade-resources.ts'
import type {
  AcquisitionEntry,
  AuctionEntry,
  OfferEntry,
  RaiseEntry,
  RfqBidEntry,
  RfqEntry,
  TradeBook,
} from './trade-book.ts'

/** Everything that is or was on offer at one block, newest first. */
export type TradeRows = {
  readonly rfqs: readonly RfqResource[]
  readonly auctions: readonly AuctionResource[]
  readonly acquisitions: readonly AcquisitionResource[]
}

/** Describe what is on offer at the time of a block, in seconds. Pure. */
export function tradeRows(book: TradeBook, chainId: number, nowS: number): TradeRows {
  return {
    rfqs: [...book.rfqs.values()].map((entry) => rfqRow(entry, chainId, nowS)).reverse(),
    auctions: [...book.auctions.values()].map((entry) => auctionRow(entry, chainId, nowS)).reverse(),
    acquisitions: [...book.acquisitions.values()]
      .map((entry) => acquisitionRow(entry, chainId, nowS))
      .reverse(),
  }
}

const iso = (timeS: number): string => new Date(timeS * 1_000).toISOString()

const offerRow = (entry: OfferEntry, chainId: number) => ({
  id: tradeEntityId(entry.contract, entry.number),
  chainId,
  sellerAddress: entry.seller,
  assetAddress: entry.asset,
  assetAmount: String(entry.assetAmount),
  quoteAssetAddress: entry.quoteAsset,
  reserveAssets: String(entry.reserveAssets),
  openedAt: iso(entry.openedAtS),
  closesAt: iso(entry.closesAtS),
  winnerAddress: entry.outcome?.winner ?? null,
  proceedsAssets:
    entry.outcome === null || entry.outcome.winner === null ? null : String(entry.outcome.proceedsAssets),
})

/** A close is reached with its second: from it on the contracts take no bid. */
function statusOf<Sold extends string>(entry: OfferEntry, nowS: number, sold: Sold) {
  if (entry.outcome !== null) return entry.outcome.winner === null ? 'unsold' : sold
  return nowS < entry.closesAtS ? 'open' : 'closed'
}

function rfqRow(entry: RfqEntry, chainId: number, nowS: number): RfqResource {
  const bids = entry.bids.map((bid) => rfqBidRow(bid, entry, nowS))
  const best = bids
    .filter(({ status }) => status === 'live')
    .reduce((most, { assets }) => (BigInt(assets) > most ? BigInt(assets) : most), 0n)
  return {
    ...offerRow(entry, chainId),
    rfqAddress: entry.contract,
    rfqId: entry.number,
    holdingId: entry.holdingId,
    status: statusOf(entry, nowS, 'sold'),
    bestBidAssets: best === 0n ? null : String(best),
    winningBidId: entry.winningBidId,
    bids,
  }
}

function rfqBidRow(bid: RfqBidEntry, rfq: RfqEntry, nowS: number): RfqBidResource {
  const status = bid.state === 'booked' ? bookedStatus(bid, rfq, nowS) : bid.state
  return {
    id: tradeEntityId(rfq.contract, bid.bidId),
    bidId: bid.bidId,
    bidderAddress: bid.bidder,
    assets: String(bid.assets),
    placedAt: iso(bid.placedAtS),
    updatedAt: iso(bid.updatedAtS),
    expiresAt: iso(bid.expiresAtS),
    status,
    refundable: status === 'expired' || status === 'displaced' || status === 'lost',
  }
}

/** From the close on a bid is what it was at the close: one that was live then binds until someone finalizes. */
function bookedStatus(bid: RfqBidEntry, rfq: RfqEntry, nowS: number) {
  if (rfq.outcome !== null) return 'lost'
  return Math.min(nowS, rfq.closesAtS) < bid.expiresAtS ? 'live' : 'expired'
}

function auctionRow(entry: AuctionEntry, chainId: number, nowS: number): AuctionResource {
  const best = entry.raises.at(-1)
  return {
    ...offerRow(entry, chainId),
    auctionAddress: entry.contract,
    lotId: entry.number,
    holdingId: entry.holdingId,
    status: statusOf(entry, nowS, 'sold'),
    bestBidderAddress: best?.bidder ?? null,
    bestBidAssets: best === undefined ? null : String(best.assets),
    nextBidAssets: String(entry.nextBidAssets),
    bids: raiseRows(entry).map(({ bidder: bidderAddress, ...row }) => ({ ...row, bidderAddress })),
    owed: [...entry.owed].map(([bidderAddress, assets]) => ({ bidderAddress, assets: String(assets) })),
  }
}

function acquisitionRow(entry: AcquisitionEntry, chainId: number, nowS: number): AcquisitionResource {
  const best = entry.raises.at(-1)
  return {
    ...offerRow(entry, chainId),
    acquisitionAddress: entry.contract,
    lotId: entry.number,
    positionId: entry.positionId,
    lane: entry.lane,
    marketAddress: entry.market,
    borrowerAddress: entry.borrower,
    status: statusOf(entry, nowS, 'awarded'),
    bestFundAddress: best?.bidder ?? null,
    bestBidAssets: best === undefined ? null : String(best.assets),
    bids: raiseRows(entry).map(({ bidder: fundAddress, ...row }) => ({ ...row, fundAddress })),
  }
}

function raiseRows(entry: OfferEntry & { readonly raises: readonly RaiseEntry[] }) {
  const best = entry.outcome === null ? ('leading' as const) : ('won' as const)
  return entry.raises.map(({ bidder, assets, placedAtS }, index) => ({
    id: `${tradeEntityId(entry.contract, entry.number)}:${index + 1}`,
    bidder,
    assets: String(assets),
    placedAt: iso(placedAtS),
    status: index === entry.raises.length - 1 ? best : ('outbid' as const),
  }))
}
