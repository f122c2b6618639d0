import type { Address } from 'viem'
import type { RfqTerms } from '../../src/service/contract/assumptions.ts'
import type { Moment } from '../agent.ts'
import type { PriceRead } from '../protocol/price.ts'

/** What an RFQ or an auction lot offers. Addresses are lower case, amounts base units, times chain seconds. */
export type OfferSeen = {
  /** As the service names it, `contract:number`. */
  readonly id: string
  /** The position behind it: what a fund sells is one lot wherever it is on offer. */
  readonly lot: string
  readonly venue: Address
  readonly number: string
  readonly seller: Address
  readonly asset: Address
  readonly amount: bigint
  readonly quoteAsset: Address
  readonly reserveAssets: bigint
  readonly closesAtS: number
  readonly status: 'open' | 'closed' | 'over'
}

/** Name the tokens that amounts of a decision about it are of. Pure. */
export const tokensOf = ({ asset, quoteAsset }: OfferSeen) => ({ asset, quoteAsset })

/** A bid on an RFQ. `refundable` says that its escrow can be claimed now. */
export type RfqBidSeen = {
  readonly bidId: string
  readonly bidder: Address
  readonly assets: bigint
  readonly expiresAtS: number
  readonly status: 'live' | 'expired' | 'displaced' | 'lost' | 'won' | 'cancelled' | 'refunded'
  readonly refundable: boolean
}

/** An RFQ with its bids, of which a sealed book shows ours alone; oldest first. */
export type RfqSeen = OfferSeen & { readonly terms: RfqTerms; readonly bids: readonly RfqBidSeen[] }

/** A lot of an open ascending auction. */
export type AuctionSeen = OfferSeen & {
  readonly bestBidder: Address | null
  readonly bestAssets: bigint | null
  /** The least that the next bid may be. */
  readonly nextAssets: bigint
  /** Oldest first. */
  readonly bids: readonly { readonly bidder: Address; readonly assets: bigint }[]
  /** What we were outbid with and have not withdrawn. */
  readonly owedAssets: bigint
}

/** What is known of an asset's price in a quote asset, by one pinned market. Null means that it was not said. */
export type PriceSeen = {
  readonly market: Address
  readonly asset: Address
  readonly quoteAsset: Address
  /** Our own readings of the market's oracle, and of the second source that the policy names. */
  readonly oracle: PriceRead | null
  readonly reference: PriceRead | null
  /** Our own reading of the market. */
  readonly paused: boolean | null
  readonly servicePriceWad: bigint | null
  readonly serviceOracleState: string | null
}

/** What the RFQ bidder sees. */
export type RfqBidderSeen = {
  readonly rfqs: readonly RfqSeen[]
  readonly auctions: readonly AuctionSeen[]
  readonly prices: readonly PriceSeen[]
}

/** Everything that it decides on. */
export type Observed = Moment & RfqBidderSeen
