import type { Address } from 'viem'
import { type Refusal, refuse } from '../../../errors.ts'
import { amountText, time } from '../../../units.ts'
import {
  isOurs,
  type JudgedCase,
  type Judgement,
  type RoleSanity,
  type SanityCheck,
  unread,
} from '../judgement.ts'
import { PRICE_VIEWS } from '../price.ts'
import { referencesOf } from '../second-price.ts'
import {
  addressOf,
  type BidLimits,
  bidLimits,
  checkExpiry,
  checkOpen,
  createBidJudgement,
  OPEN,
  uintOf,
} from './bid.ts'
import { askEscrow } from './escrow.ts'
import { bidderIsOurs, boundByBook, checkRaise } from './rivals.ts'
import {
  AUCTION_VIEWS,
  BOOKED,
  bidView,
  DESK_VIEWS,
  ESCROW_VIEWS,
  incrementView,
  lotView,
  type OfferRead,
  refundableView,
  rfqView,
} from './views.ts'

/** Refuse unless a token's balance changes by exactly so much: who pays whom, and how much. */
function checkChange(
  { subject: { deployment } }: JudgedCase,
  token: Address,
  actual: bigint,
  expected: bigint,
): Refusal | null {
  if (actual === expected) return null
  const say = (assets: bigint) => amountText(assets, token, deployment)
  return refuse(
    'change_unexpected',
    `Our balance would change by ${say(actual)}; the contract's own figures say ${say(expected)}.`,
  )
}

function judgePlace(limits: BidLimits, about: JudgedCase): Judgement {
  const desk = addressOf(about, 'rfqAddress')
  const assets = uintOf(about, 'bidAssets')
  const rfqId = uintOf(about, 'rfqId')
  const rfq = about.before.ask(rfqView(desk, rfqId))
  const judge = createBidJudgement(limits, about, assets, boundByBook(limits, about, desk, rfqId, true))
  const escrow = askEscrow(limits, about, desk, rfq)
  return {
    checkState: (timestampS) => {
      const found = rfq()
      if (found === null) return unread('the RFQ')
      return judge(found, timestampS, assets) ?? checkExpiry(about, found, limits)
    },
    checkOutcome: ({ changeOf }) => {
      const found = rfq()
      if (found === null) return unread('the RFQ')
      return checkPaid(about, found, changeOf, assets) ?? escrow.check()
    },
    holdings: escrow.holdings,
  }
}

/** A bid pays its escrow in the quote asset, and moves the asset neither way. */
const checkPaid = (
  about: JudgedCase,
  { quoteAsset, asset }: OfferRead,
  changeOf: (token: Address) => bigint,
  assets: bigint,
): Refusal | null =>
  checkChange(about, quoteAsset, changeOf(quoteAsset), -assets) ??
  checkChange(about, asset, changeOf(asset), 0n)

function judgeReplace(limits: BidLimits, about: JudgedCase): Judgement {
  const assets = uintOf(about, 'bidAssets')
  const { rfq, bid, checkOwn, desk, rfqId } = askOwnBid(about)
  const judge = createBidJudgement(limits, about, assets, boundByBook(limits, about, desk, rfqId, false))
  const escrow = askEscrow(limits, about, desk, rfq)
  return {
    checkState: (timestampS) => {
      const [found, own] = [rfq(), bid()]
      if (found === null || own === null) return unread('the RFQ and its bid')
      // A lower bid takes less than nothing of our balance.
      const more = assets - own.assets
      return checkOwn() ?? judge(found, timestampS, more) ?? checkExpiry(about, found, limits)
    },
    checkOutcome: ({ changeOf }) => {
      const [found, own] = [rfq(), bid()]
      if (found === null || own === null) return unread('the RFQ and its bid')
      const paid = checkPaid(about, found, changeOf, assets - own.assets)
      // Above a limit, a bid may still be lowered.
      return paid ?? (assets > own.assets ? escrow.check() : null)
    },
    holdings: () => (assets > (bid()?.assets ?? 0n) ? escrow.holdings() : []),
  }
}

/** Ask for a bid that the request names, and for its RFQ. */
function askOwnBid(about: JudgedCase) {
  const { before, subject } = about
  const desk = addressOf(about, 'rfqAddress')
  const rfqId = uintOf(about, 'rfqId')
  const rfq = before.ask(rfqView(desk, rfqId))
  const bid = before.ask(bidView(desk, uintOf(about, 'bidId')))
  return {
    desk,
    rfqId,
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
      return refuse('bid_not_booked', `Our bid is not in the book: its state is ${own.state}, not ${BOOKED}.`)
    },
  }
}

function judgeCancel(about: JudgedCase): Judgement {
  const { rfq, bid, checkOwn } = askOwnBid(about)
  return {
    checkState: (timestampS) => {
      const found = rfq()
      return checkOwn() ?? (found === null ? unread('the RFQ') : checkOpen(found, timestampS))
    },
    checkOutcome: ({ changeOf }) => checkPaidBack(about, rfq(), bid(), changeOf),
  }
}

/** What is taken back is the whole bid. */
function checkPaidBack(
  about: JudgedCase,
  rfq: OfferRead | null,
  bid: { readonly assets: bigint } | null,
  changeOf: (token: Address) => bigint,
): Refusal | null {
  if (rfq === null || bid === null) return unread('the RFQ and its bid')
  return checkChange(about, rfq.quoteAsset, changeOf(rfq.quoteAsset), bid.assets)
}

function judgeClaim(about: JudgedCase): Judgement {
  const { subject, before } = about
  const bidId = uintOf(about, 'bidId')
  const { rfq, bid } = askOwnBid(about)
  const refundable = before.ask(refundableView(addressOf(about, 'rfqAddress'), bidId))
  return {
    checkState: () => {
      const own = bid()
      const isRefundable = refundable()
      if (own === null || isRefundable === null) return unread('our bid')
      if (own.bidder !== subject.self) return refuse('bid_not_ours', `The bid is ${own.bidder}'s.`)
      return isRefundable ? null : refuse('bid_not_refundable', `Bid ${bidId} has nothing to be claimed.`)
    },
    checkOutcome: ({ changeOf }) => checkPaidBack(about, rfq(), bid(), changeOf),
  }
}

/** Judge that an RFQ is closed and not finalized; what we are to win must come in whole, anything else is nothing. */
function judgeFinalize(about: JudgedCase): Judgement {
  const { before, proposal, subject } = about
  const rfq = before.ask(rfqView(addressOf(about, 'rfqAddress'), uintOf(about, 'rfqId')))
  return {
    checkState: (timestampS) => {
      const found = rfq()
      if (found === null) return unread('the RFQ')
      if (found.state !== OPEN) {
        return refuse(
          'rfq_finalized',
          `It is not open to be finalized: its state is ${found.state}, not ${OPEN}.`,
        )
      }
      if (found.closesAt <= BigInt(timestampS)) return null
      return refuse(
        'rfq_not_closed',
        `It closes at ${time(found.closesAt)}; the next block is of ${time(timestampS)}.`,
      )
    },
    checkOutcome: ({ changeOf }) => {
      const found = rfq()
      if (found === null) return unread('the RFQ')
      const gained = changeOf(found.asset)
      const mayLose = proposal.reason.wins !== 'true'
      if (gained === found.amount || (gained === 0n && mayLose)) return null
      const say = (assets: bigint) => amountText(assets, found.asset, subject.deployment)
      return refuse('win_not_paid', `${say(gained)} would come in; the RFQ sells ${say(found.amount)}.`)
    },
  }
}

function judgeRaise(limits: BidLimits, about: JudgedCase): Judgement {
  const auction = addressOf(about, 'auctionAddress')
  const assets = uintOf(about, 'bidAssets')
  const lot = about.before.ask(lotView(auction, uintOf(about, 'lotId')))
  const increment = about.before.ask(incrementView(auction))
  const judge = createBidJudgement(limits, about, assets, () => {
    const [found, incrementBps] = [lot(), increment()]
    if (found === null || incrementBps === null) return unread('the lot')
    return checkRaise(found, assets, incrementBps, limits, about)
  })
  const escrow = askEscrow(limits, about, auction, lot)
  return {
    checkState: (timestampS) => {
      const found = lot()
      if (found === null) return unread('the lot')
      if (!isOurs(found.bestBidder, about.subject)) return judge(found, timestampS, assets)
      if (found.bestBidder !== about.subject.self) return bidderIsOurs(found.bestBidder)
      return refuse(
        'leads_already',
        `We lead with ${amountText(found.bestAssets, found.quoteAsset, about.subject.deployment)}.`,
      )
    },
    checkOutcome: ({ changeOf }) => {
      const found = lot()
      if (found === null) return unread('the lot')
      return checkPaid(about, found, changeOf, assets) ?? escrow.check()
    },
    holdings: escrow.holdings,
  }
}

const PREFIX = 'role.lender.distressedRecoveryFundV3'
const EXPIRY: SanityCheck['revalidations'] = ['intent_not_expired']

/** The RFQ bidder's judgements, from its desk, its auction and the oracles alone. */
export const rfqBidderSanity: RoleSanity<BidLimits> = {
  limits: bidLimits,
  contracts: ({ assets, venues }) => [
    ...referencesOf('assets', assets),
    ...venues.map((name, index) => [`venues.${index}`, name] as const),
  ],
  strategy: [
    { of: 'priceAgeMax', is: 'atMost', to: 'guard.sanity.priceAgeMax' },
    { of: 'inventoryMax', is: 'atMost', to: 'guard.sanity.inventoryMax' },
    { of: 'leadBy', is: 'atMost', to: 'guard.sanity.book.leadMax' },
    { of: 'lastCall', is: 'atMost', to: 'guard.sanity.book.lastCall' },
    { of: 'expiryAfterClose', is: 'atMost', to: 'guard.sanity.bindsAfterCloseMax' },
    { of: 'stepMax', is: 'atMost', to: 'guard.sanity.raiseMax' },
    { of: 'bidMax', is: 'atMost', to: 'limits.perWorkflow.movedMax', coversMore: true },
  ],
  checks: (limits) => {
    const onDesk = (judge: SanityCheck['judge'], relies: readonly string[]): SanityCheck => ({
      views: DESK_VIEWS,
      relies,
      callee: 'rfqAddress',
      revalidations: EXPIRY,
      judge,
    })
    const bidOnDesk = (judge: SanityCheck['judge'], id: string): SanityCheck => ({
      views: [...DESK_VIEWS, ...ESCROW_VIEWS, ...PRICE_VIEWS],
      relies: [id, 'bidAssets', 'expiresTimestamp'],
      callee: 'rfqAddress',
      revalidations: EXPIRY,
      judge,
    })
    return [
      [`${PREFIX}RfqPlaceBid`, bidOnDesk((about) => judgePlace(limits, about), 'rfqId')],
      [`${PREFIX}RfqReplaceBid`, bidOnDesk((about) => judgeReplace(limits, about), 'bidId')],
      [`${PREFIX}RfqCancelBid`, onDesk(judgeCancel, ['bidId'])],
      [`${PREFIX}RfqFinalize`, onDesk(judgeFinalize, ['rfqId'])],
      [`${PREFIX}RfqClaimRefund`, onDesk(judgeClaim, ['bidId'])],
      [
        `${PREFIX}AuctionBid`,
        {
          views: [...AUCTION_VIEWS, ...ESCROW_VIEWS, ...PRICE_VIEWS],
          relies: ['lotId', 'bidAssets'],
          callee: 'auctionAddress',
          revalidations: EXPIRY,
          judge: (about) => judgeRaise(limits, about),
        },
      ],
    ]
  },
}
