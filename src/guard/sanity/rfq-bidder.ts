import type { Address } from 'viem'
import { type Refusal, refuse } from '../../errors.ts'
import { type About, judgedBy, type Look, type Sanity, unread } from './look.ts'
import { PRICE_VIEWS } from './price.ts'
import {
  addressOf,
  type BidLimits,
  bidLimits,
  checkExpiry,
  checkOpen,
  createBidJudgement,
  OPEN,
  uintOf,
} from './rfq-bidder-bid.ts'
import {
  AUCTION_VIEWS,
  bidView,
  DESK_VIEWS,
  incrementView,
  lotView,
  type OfferRead,
  refundableView,
  rfqView,
} from './rfq-bidder-views.ts'

const BPS = 10_000n
/** The desk's code of a bid that is in a book. */
const BOOKED = 1n

/** Refuse unless a token's balance changes by exactly so much: who pays whom, and how much. */
function checkChange(token: Address, actual: bigint, expected: bigint): Refusal | null {
  if (actual === expected) return null
  return refuse(
    'change_unexpected',
    `Our balance of ${token} would change by ${actual} base units; the contract's own figures say ${expected}.`,
  )
}

function lookAtPlace(limits: BidLimits, about: About): Look {
  const desk = addressOf(about, 'rfqAddress')
  const assets = uintOf(about, 'bidAssets')
  const rfq = about.before.ask(rfqView(desk, uintOf(about, 'rfqId')))
  const judge = createBidJudgement(limits, about, assets)
  return {
    position: (timestampS) => {
      const found = rfq()
      const wrong = judge(found, timestampS, assets)
      return wrong ?? (found === null ? unread('the RFQ') : checkExpiry(about, found, limits))
    },
    outcome: ({ changeOf }) => checkPaid(rfq(), changeOf, assets),
  }
}

/** A bid pays its escrow in the quote asset, and moves the asset neither way. */
function checkPaid(
  found: OfferRead | null,
  changeOf: (token: Address) => bigint,
  assets: bigint,
): Refusal | null {
  if (found === null) return unread('the lot')
  return (
    checkChange(found.quoteAsset, changeOf(found.quoteAsset), -assets) ??
    checkChange(found.asset, changeOf(found.asset), 0n)
  )
}

function lookAtReplace(limits: BidLimits, about: About): Look {
  const assets = uintOf(about, 'bidAssets')
  const { rfq, bid, checkOwn } = askOwnBid(about)
  const judge = createBidJudgement(limits, about, assets)
  return {
    position: (timestampS) => {
      const [found, own] = [rfq(), bid()]
      if (found === null || own === null) return unread('the RFQ and its bid')
      const more = assets > own.assets ? assets - own.assets : 0n
      return checkOwn() ?? judge(found, timestampS, more) ?? checkExpiry(about, found, limits)
    },
    outcome: ({ changeOf }) => {
      const own = bid()
      return own === null ? unread('our bid') : checkPaid(rfq(), changeOf, assets - own.assets)
    },
  }
}

/** Ask for a bid that the request names, and for its RFQ. */
function askOwnBid(about: About) {
  const { before, subject } = about
  const desk = addressOf(about, 'rfqAddress')
  const rfqId = uintOf(about, 'rfqId')
  const rfq = before.ask(rfqView(desk, rfqId))
  const bid = before.ask(bidView(desk, uintOf(about, 'bidId')))
  return {
    rfq,
    bid,
    /** Refuse a bid that is not ours, not of this RFQ, or not in the book. */
    checkOwn: (): Refusal | null => {
      const own = bid()
      if (own === null) return unread('our bid')
      if (own.bidder !== subject.self || own.rfqId !== rfqId) {
        return refuse('bid_not_ours', `The bid is ${own.bidder}'s, on RFQ ${own.rfqId}.`)
      }
      if (own.state === BOOKED) return null
      return refuse('bid_not_booked', `The bid's state is ${own.state}; booked is ${BOOKED}.`)
    },
  }
}

function lookAtCancel(about: About): Look {
  const { rfq, bid, checkOwn } = askOwnBid(about)
  return {
    position: (timestampS) => {
      const found = rfq()
      return checkOwn() ?? (found === null ? unread('the RFQ') : checkOpen(found, timestampS))
    },
    outcome: ({ changeOf }) => checkPaidBack(rfq(), bid(), changeOf),
  }
}

/** What is taken back is the whole bid. */
function checkPaidBack(
  rfq: OfferRead | null,
  bid: { readonly assets: bigint } | null,
  changeOf: (token: Address) => bigint,
): Refusal | null {
  if (rfq === null || bid === null) return unread('the RFQ and its bid')
  return checkChange(rfq.quoteAsset, changeOf(rfq.quoteAsset), bid.assets)
}

function lookAtClaim(about: About): Look {
  const { subject, before } = about
  const bidId = uintOf(about, 'bidId')
  const { rfq, bid } = askOwnBid(about)
  const refundable = before.ask(refundableView(addressOf(about, 'rfqAddress'), bidId))
  return {
    position: () => {
      const own = bid()
      const isRefundable = refundable()
      if (own === null || isRefundable === null) return unread('our bid')
      if (own.bidder !== subject.self) return refuse('bid_not_ours', `The bid is ${own.bidder}'s.`)
      return isRefundable ? null : refuse('bid_not_refundable', `Bid ${bidId} has nothing to be claimed.`)
    },
    outcome: ({ changeOf }) => checkPaidBack(rfq(), bid(), changeOf),
  }
}

/** Judge that an RFQ is closed and not finalized; what we are to win must come in whole, anything else is nothing. */
function lookAtFinalize(about: About): Look {
  const { before, proposal } = about
  const rfq = before.ask(rfqView(addressOf(about, 'rfqAddress'), uintOf(about, 'rfqId')))
  return {
    position: (timestampS) => {
      const found = rfq()
      if (found === null) return unread('the RFQ')
      if (found.state !== OPEN) {
        return refuse('rfq_finalized', `Its state is ${found.state}; ${OPEN} is not finalized.`)
      }
      if (found.closesAt <= BigInt(timestampS)) return null
      return refuse(
        'rfq_not_closed',
        `It closes at second ${found.closesAt}; the next block is at ${timestampS}.`,
      )
    },
    outcome: ({ changeOf }) => {
      const found = rfq()
      if (found === null) return unread('the RFQ')
      const gained = changeOf(found.asset)
      const mayLose = proposal.reason.wins !== 'true'
      if (gained === found.amount || (gained === 0n && mayLose)) return null
      return refuse(
        'win_not_paid',
        `${gained} base units of ${found.asset} would come in; the RFQ sells ${found.amount}.`,
      )
    },
  }
}

function lookAtRaise(limits: BidLimits, about: About): Look {
  const auction = addressOf(about, 'auctionAddress')
  const assets = uintOf(about, 'bidAssets')
  const lot = about.before.ask(lotView(auction, uintOf(about, 'lotId')))
  const increment = about.before.ask(incrementView(auction))
  const judge = createBidJudgement(limits, about, assets)
  return {
    position: (timestampS) => {
      const [found, incrementBps] = [lot(), increment()]
      if (found === null || incrementBps === null) return unread('the lot')
      const { bestBidder, bestAssets } = found
      if (bestBidder === about.subject.self) {
        return refuse('leads_already', `We lead with ${bestAssets} base units.`)
      }
      const wrong = judge(found, timestampS, assets)
      if (wrong !== null || bestAssets === 0n) return wrong
      const step = (bestAssets * incrementBps + BPS - 1n) / BPS
      const least = bestAssets + (step > 0n ? step : 1n)
      if (assets >= least) return null
      return refuse('below_increment', `The bid is ${assets} base units; the next is ${least} at least.`)
    },
    outcome: ({ changeOf }) => checkPaid(lot(), changeOf, assets),
  }
}

const PREFIX = 'role.lender.distressedRecoveryFundV3'
const EXPIRY: Sanity['revalidations'] = ['intent_not_expired']

/** The RFQ bidder's judgements, from its desk, its auction and the oracles alone. */
export const rfqBidderSanity = judgedBy(bidLimits, (limits) => {
  const onDesk = (look: Sanity['look']): Sanity => ({ views: DESK_VIEWS, revalidations: EXPIRY, look })
  const bidOnDesk = (look: Sanity['look']): Sanity => ({
    views: [...DESK_VIEWS, ...PRICE_VIEWS],
    revalidations: EXPIRY,
    look,
  })
  return [
    [`${PREFIX}RfqPlaceBid`, bidOnDesk((about) => lookAtPlace(limits, about))],
    [`${PREFIX}RfqReplaceBid`, bidOnDesk((about) => lookAtReplace(limits, about))],
    [`${PREFIX}RfqCancelBid`, onDesk(lookAtCancel)],
    [`${PREFIX}RfqFinalize`, onDesk(lookAtFinalize)],
    [`${PREFIX}RfqClaimRefund`, onDesk(lookAtClaim)],
    [
      `${PREFIX}AuctionBid`,
      {
        views: [...AUCTION_VIEWS, ...PRICE_VIEWS],
        revalidations: EXPIRY,
        look: (about) => lookAtRaise(limits, about),
      },
    ],
  ]
})
