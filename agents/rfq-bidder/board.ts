import type { Decision, Moment } from '../agent.ts'
import { type Board, byClosing, judgedBy, type LotRow, ROWS_MAX } from '../board.ts'
import { tokens } from '../protocol/text.ts'
import type { AuctionSeen, OfferSeen, RfqBidderSeen, RfqSeen } from './seen.ts'

type Observed = Moment & RfqBidderSeen

/** Show what is on offer with the bids that its book shows, what closes first before all, what is closed last. Pure. */
export function board(seen: Observed, decided: Decision): Board {
  const self = seen.signer.toLowerCase()
  const judged = judgedBy(decided)
  const limits = new Map(
    [...decided.proposals, ...decided.passedOver].map(({ subject, reason }) => [subject, reason.limitAssets]),
  )
  const rows = [
    ...seen.rfqs.map((rfq) => ({ offer: rfq, venue: 'rfq' as const, bids: bidsOfRfq(rfq) })),
    ...seen.auctions.map((lot) => ({ offer: lot, venue: 'auction' as const, bids: bidsOfAuction(lot) })),
  ].map(({ offer, venue, bids }): LotRow => {
    const { text, number } = quoteOf(offer, seen)
    const limit = limits.get(offer.id)
    return {
      subject: offer.id,
      ...judged(offer.id),
      venue,
      what: whatOf(offer, seen),
      reserve: text(offer.reserveAssets),
      reserveAmount: number(offer.reserveAssets),
      closesAtS: offer.closesAtS,
      status: offer.status,
      limit: limit === undefined ? null : text(BigInt(limit)),
      limitAmount: limit === undefined ? null : number(BigInt(limit)),
      bids: bids
        .toSorted((one, other) => (one.assets > other.assets ? -1 : 1))
        .slice(0, ROWS_MAX)
        .map(({ bidder, assets, status }) => ({
          who: bidder,
          ours: bidder === self,
          status,
          text: text(assets),
          amount: number(assets),
        })),
    }
  })
  return { lots: rows.toSorted(byClosing(seen.chain.timestampS)).slice(0, ROWS_MAX) }
}

const bidsOfRfq = ({ bids }: RfqSeen) =>
  bids.map(({ bidder, assets, status }) => ({ bidder, assets, status: status as string }))

const bidsOfAuction = ({ bids, bestBidder, bestAssets }: AuctionSeen) =>
  bids.map(({ bidder, assets }) => ({
    bidder,
    assets,
    status: bidder === bestBidder && assets === bestAssets ? 'leading' : 'outbid',
  }))

function quoteOf({ quoteAsset }: OfferSeen, { deployment }: Observed) {
  const quote = deployment.assets.find(({ address }) => address === quoteAsset)
  return {
    text: (assets: bigint) => (quote === undefined ? '?' : tokens(assets, quote.decimals, quote.symbol)),
    number: (assets: bigint) => Number(assets) / 10 ** (quote?.decimals ?? 0),
  }
}

function whatOf({ asset, amount }: OfferSeen, { deployment }: Observed): string {
  const found = deployment.assets.find(({ address }) => address === asset)
  return found === undefined ? '?' : tokens(amount, found.decimals, found.symbol)
}
