import { type Address, type Hex, hexToString, zeroAddress } from 'viem'
import { tradeEntityId } from '../../src/service/contract/trade-resources.ts'
import { type IndexedLog, lower } from './logs.ts'

/** What an RFQ, an auction lot or an acquisition lot offers, as the logs have it; amounts in base units. */
export type OfferEntry = {
  readonly contract: Address
  readonly number: string
  readonly seller: Address
  readonly asset: Address
  readonly assetAmount: bigint
  readonly quoteAsset: Address
  readonly reserveAssets: bigint
  readonly openedAtS: number
  readonly closesAtS: number
  /** Null while it is open; `winner` is null when it was not sold. */
  readonly outcome: { readonly winner: Address | null; readonly proceedsAssets: bigint } | null
}

/** A bid on an RFQ; whether a booked one is live or lost follows from the time and the RFQ. */
export type RfqBidEntry = {
  readonly bidId: string
  readonly bidder: Address
  readonly assets: bigint
  readonly placedAtS: number
  readonly updatedAtS: number
  readonly expiresAtS: number
  readonly state: 'booked' | 'displaced' | 'cancelled' | 'won' | 'refunded'
}

export type RfqEntry = OfferEntry & {
  readonly holdingId: string
  readonly winningBidId: string | null
  /** Oldest first. */
  readonly bids: readonly RfqBidEntry[]
}

/** A bid that raised a lot: the last one leads. */
export type RaiseEntry = { readonly bidder: Address; readonly assets: bigint; readonly placedAtS: number }

export type AuctionEntry = OfferEntry & {
  readonly holdingId: string
  readonly nextBidAssets: bigint
  readonly raises: readonly RaiseEntry[]
  /** What outbid bidders have not withdrawn. */
  readonly owed: ReadonlyMap<Address, bigint>
}

export type AcquisitionEntry = OfferEntry & {
  readonly positionId: Hex
  readonly lane: string
  readonly market: Address
  readonly borrower: Address
  readonly raises: readonly RaiseEntry[]
}

/** By `contract:number`, oldest first. */
export type TradeBook = {
  readonly rfqs: ReadonlyMap<string, RfqEntry>
  readonly auctions: ReadonlyMap<string, AuctionEntry>
  readonly acquisitions: ReadonlyMap<string, AcquisitionEntry>
}

export const EMPTY_TRADE_BOOK: TradeBook = { rfqs: new Map(), auctions: new Map(), acquisitions: new Map() }

/** What is over and still kept, of each kind. */
export const TRADES_OVER_MAX = 500
/** Bids on one RFQ that are kept though they are paid back: placing and cancelling costs a bidder next to nothing. */
export const RFQ_BIDS_SPENT_MAX = 100

/** Return the book with these logs added, in chain order. Pure: the given book stays as it is. */
export function foldTrades(book: TradeBook, logs: readonly IndexedLog[]): TradeBook {
  const rfqs = new Map(book.rfqs)
  const auctions = new Map(book.auctions)
  const acquisitions = new Map(book.acquisitions)
  for (const log of logs) {
    noteRfq(rfqs, log)
    noteAuction(auctions, log)
    noteAcquisition(acquisitions, log)
  }
  for (const entries of [rfqs, auctions, acquisitions]) forgetOldest(entries)
  return { rfqs, auctions, acquisitions }
}

function noteRfq(rfqs: Map<string, RfqEntry>, { event, address, timestampS }: IndexedLog): void {
  const change = (rfqId: bigint, by: (rfq: RfqEntry) => Partial<RfqEntry>) =>
    update(rfqs, tradeEntityId(address, String(rfqId)), by)
  const changeBid = (rfqId: bigint, bidId: bigint, changes: Partial<RfqBidEntry>) =>
    change(rfqId, ({ bids }) => ({
      bids: bids.map((bid) => (bid.bidId === String(bidId) ? { ...bid, ...changes } : bid)),
    }))
  switch (event.eventName) {
    case 'RfqOpened': {
      const { rfqId, holdingId } = event.args
      const entry = { ...offerOf(event.args, rfqId, address, timestampS), holdingId: String(holdingId) }
      rfqs.set(tradeEntityId(address, entry.number), { ...entry, winningBidId: null, bids: [] })
      return
    }
    case 'RfqBidPlaced': {
      const { rfqId, bidId, bidder, assets, expiresAt } = event.args
      const bid: RfqBidEntry = {
        bidId: String(bidId),
        bidder: lower(bidder),
        assets,
        placedAtS: timestampS,
        updatedAtS: timestampS,
        expiresAtS: Number(expiresAt),
        state: 'booked',
      }
      change(rfqId, ({ bids }) => ({ bids: [...withoutOldSpent(bids), bid] }))
      return
    }
    case 'RfqBidReplaced': {
      const { rfqId, bidId, assets, expiresAt } = event.args
      changeBid(rfqId, bidId, { assets, updatedAtS: timestampS, expiresAtS: Number(expiresAt) })
      return
    }
    case 'RfqBidDisplaced':
      changeBid(event.args.rfqId, event.args.bidId, { state: 'displaced' })
      return
    case 'RfqBidCancelled':
      changeBid(event.args.rfqId, event.args.bidId, { state: 'cancelled' })
      return
    case 'RfqRefundClaimed':
      changeBid(event.args.rfqId, event.args.bidId, { state: 'refunded' })
      return
    case 'RfqFinalized': {
      const { rfqId, bidId, winner, assets } = event.args
      changeBid(rfqId, bidId, { state: 'won' })
      const winningBidId = bidId === 0n ? null : String(bidId)
      change(rfqId, () => ({ outcome: outcomeOf(winner, assets), winningBidId }))
    }
  }
}

function noteAuction(auctions: Map<string, AuctionEntry>, { event, address, timestampS }: IndexedLog): void {
  const change = (lotId: bigint, by: (lot: AuctionEntry) => Partial<AuctionEntry>) =>
    update(auctions, tradeEntityId(address, String(lotId)), by)
  switch (event.eventName) {
    case 'AuctionOpened': {
      const { lotId, holdingId, reserveAssets: nextBidAssets } = event.args
      const entry = { ...offerOf(event.args, lotId, address, timestampS), holdingId: String(holdingId) }
      auctions.set(tradeEntityId(address, entry.number), {
        ...entry,
        nextBidAssets,
        raises: [],
        owed: new Map(),
      })
      return
    }
    case 'AuctionBid': {
      const { lotId, assets, closesAt, leastNextAssets: nextBidAssets } = event.args
      const bidder = lower(event.args.bidder)
      change(lotId, ({ raises, owed }) => ({
        raises: [...raises, { bidder, assets, placedAtS: timestampS }],
        owed: debtAfter(owed, raises.at(-1), bidder),
        closesAtS: Number(closesAt),
        nextBidAssets,
      }))
      return
    }
    case 'AuctionWithdrawn': {
      const bidder = lower(event.args.bidder)
      change(event.args.lotId, ({ owed }) => ({ owed: new Map([...owed].filter(([who]) => who !== bidder)) }))
      return
    }
    case 'AuctionSettled': {
      const { lotId, winner, assets } = event.args
      change(lotId, () => ({ outcome: outcomeOf(winner, assets) }))
    }
  }
}

function noteAcquisition(
  acquisitions: Map<string, AcquisitionEntry>,
  { event, address, timestampS }: IndexedLog,
): void {
  const change = (lotId: bigint, by: (lot: AcquisitionEntry) => Partial<AcquisitionEntry>) =>
    update(acquisitions, tradeEntityId(address, String(lotId)), by)
  switch (event.eventName) {
    case 'LotOpened': {
      const { lotId, seller, terms } = event.args
      const offer = offerOf({ ...terms, seller }, lotId, address, timestampS)
      acquisitions.set(tradeEntityId(address, offer.number), {
        ...offer,
        positionId: terms.positionId,
        lane: hexToString(terms.lane, { size: 32 }),
        market: lower(terms.market),
        borrower: lower(terms.borrower),
        raises: [],
      })
      return
    }
    case 'LotBid': {
      const { lotId, fund, assets } = event.args
      const raise = { bidder: lower(fund), assets, placedAtS: timestampS }
      change(lotId, ({ raises }) => ({ raises: [...raises, raise] }))
      return
    }
    case 'LotAwarded': {
      const { lotId, fund, assets } = event.args
      change(lotId, () => ({ outcome: outcomeOf(fund, assets) }))
    }
  }
}

type OpenedTrade = {
  readonly seller: Address
  readonly asset: Address
  readonly amount: bigint
  readonly quoteAsset: Address
  readonly reserveAssets: bigint
  readonly closesAt: bigint
}

const offerOf = (opened: OpenedTrade, number: bigint, contract: Address, openedAtS: number): OfferEntry => ({
  contract,
  number: String(number),
  seller: lower(opened.seller),
  asset: lower(opened.asset),
  assetAmount: opened.amount,
  quoteAsset: lower(opened.quoteAsset),
  reserveAssets: opened.reserveAssets,
  openedAtS,
  closesAtS: Number(opened.closesAt),
  outcome: null,
})

const outcomeOf = (winner: Address, proceedsAssets: bigint): OfferEntry['outcome'] => ({
  winner: winner === zeroAddress ? null : lower(winner),
  proceedsAssets,
})

/** Who raises its own bid is owed nothing for it. */
function debtAfter(
  owed: ReadonlyMap<Address, bigint>,
  outbid: RaiseEntry | undefined,
  bidder: Address,
): ReadonlyMap<Address, bigint> {
  if (outbid === undefined || outbid.bidder === bidder) return owed
  return new Map(owed).set(outbid.bidder, (owed.get(outbid.bidder) ?? 0n) + outbid.assets)
}

function withoutOldSpent(bids: readonly RfqBidEntry[]): readonly RfqBidEntry[] {
  const spent = bids.filter(({ state }) => state === 'cancelled' || state === 'refunded')
  const old = new Set(spent.slice(0, Math.max(0, spent.length - RFQ_BIDS_SPENT_MAX)))
  return bids.filter((bid) => !old.has(bid))
}

function update<Entry>(entries: Map<string, Entry>, id: string, by: (entry: Entry) => Partial<Entry>): void {
  const entry = entries.get(id)
  if (entry !== undefined) entries.set(id, { ...entry, ...by(entry) })
}

function forgetOldest(entries: Map<string, OfferEntry>): void {
  const over = [...entries].filter(([, { outcome }]) => outcome !== null)
  for (const [id] of over.slice(0, Math.max(0, over.length - TRADES_OVER_MAX))) entries.delete(id)
}
