import type { Address } from 'viem'
import { z } from 'zod'
import { invariant } from '../../errors.ts'
import { type Refusal, refuse } from '../../workflow/verdict.ts'
import { asAddress, asUint } from '../paths.ts'
import { count } from '../scalars.ts'
import { balanceView } from '../views.ts'
import { type About, judgedBy, type Look, type Sanity, unread } from './look.ts'
import {
  AUCTION_VIEWS,
  bidView,
  DESK_VIEWS,
  incrementView,
  lotView,
  type OfferRead,
  PRICE_VIEWS,
  type PriceRead,
  priceView,
  refundableView,
  rfqView,
} from './rfq-bidder-views.ts'

const bidLimits = z.strictObject({
  /** Oldest price, by the oracle's own source time against the block simulated. */
  priceAgeSMax: count('seconds', 1, 86_400),
  /** How far the oracle's price may be from the one that was decided on. */
  priceDivergenceBpsMax: count('basis points', 0, 10_000).transform(BigInt),
  /** Most of a bid, of what the lot is worth at the oracle's price. */
  bidBpsMax: count('basis points', 1, 10_000).transform(BigInt),
  /** How long after the close a bid may expire. */
  bindsAfterCloseSMax: count('seconds', 1, 2_592_000).transform(BigInt),
})
type BidLimits = z.output<typeof bidLimits>

const WAD = 10n ** 18n
const BPS = 10_000n
/** The contracts' and the oracle's codes. */
const OPEN = 1n
const BOOKED = 1n
const HEALTHY = 1n

/** A member of a request: its schema was checked before, so that it is there. */
function uintOf({ subject }: About, member: string): bigint {
  const value = asUint(subject.input[member])
  invariant(value !== undefined, `a request of this type has ${member}`)
  return value
}
function addressOf({ subject }: About, member: string): Address {
  const value = asAddress(subject.input[member])
  invariant(value !== undefined, `a request of this type has ${member}`)
  return value
}

/**
 * Judge the lot that a bid is for: open for long enough, sold by nobody of ours for what we pay with, at least at its
 * reserve, and not above our own part of the oracle's price, which is healthy, fresh and the one decided on.
 */
function createBidJudgement(limits: BidLimits, { subject, proposal, before }: About, assets: bigint) {
  const { deployment, self } = subject
  const { token } = proposal.exposure
  invariant(token !== null, 'a bid is paid for')
  const prices = deployment.markets.map((market) => ({ market, read: before.ask(priceView(market.oracle)) }))
  const funds = before.ask(balanceView(token, self))
  const decimalsOf = (asset: Address) => deployment.assets.find(({ address }) => address === asset)?.decimals

  function judge(found: OfferRead | null, timestampS: number, freshAssets: bigint): Refusal | null {
    if (found === null) return unread('the lot')
    const { seller, asset, quoteAsset, reserveAssets } = found
    const closed = checkOpen(found, timestampS)
    if (closed !== null) return closed
    if (seller === self || deployment.funds.some(({ address }) => address === seller)) {
      return refuse('seller_is_ours', `${seller} sells it, which is ours.`)
    }
    if (quoteAsset !== token) {
      return refuse('other_quote_asset', `It is paid for in ${quoteAsset}; ${token} was decided on.`)
    }
    if (assets < reserveAssets) {
      return refuse('below_reserve', `The bid is ${assets} base units; the reserve is ${reserveAssets}.`)
    }
    const market = prices.find(
      ({ market: { collateralAsset, loanAsset } }) => collateralAsset === asset && loanAsset === quoteAsset,
    )
    if (market === undefined) return refuse('asset_not_priced', `No pinned market prices ${asset}.`)
    const price = market.read()
    const wrong = checkPrice(price, timestampS)
    if (wrong !== null) return wrong
    const [assetDecimals, quoteDecimals] = [decimalsOf(asset), decimalsOf(quoteAsset)]
    if (price === null || assetDecimals === undefined || quoteDecimals === undefined)
      return unread('the price')
    const most =
      (found.amount * price.priceWad * 10n ** BigInt(quoteDecimals) * limits.bidBpsMax) /
      (10n ** BigInt(assetDecimals) * WAD * BPS)
    if (assets > most) {
      return refuse(
        'bid_above_value',
        `The bid is ${assets} base units; ${limits.bidBpsMax} basis points of the oracle's price are ${most}.`,
      )
    }
    const have = funds()
    if (have === null) return unread('our balance')
    if (have >= freshAssets) return null
    return refuse('insufficient_balance', `We hold ${have} base units; the bid takes ${freshAssets}.`)
  }

  function checkPrice(price: PriceRead | null, timestampS: number): Refusal | null {
    if (price === null) return unread('the oracle')
    if (price.state !== HEALTHY || price.priceWad === 0n) {
      return refuse('oracle_not_healthy', `The oracle's state is ${price.state}; healthy is ${HEALTHY}.`)
    }
    const ageS = BigInt(timestampS) - price.sourceAsOfS
    if (ageS > BigInt(limits.priceAgeSMax)) {
      return refuse('price_stale', `The price is ${ageS} s old; the policy allows ${limits.priceAgeSMax} s.`)
    }
    const decided = asUint(proposal.reason.priceWad)
    if (decided === undefined || decided === 0n) {
      return refuse('price_not_stated', 'The proposal does not state the price that it was decided on.')
    }
    const apart = price.priceWad > decided ? price.priceWad - decided : decided - price.priceWad
    if (apart * BPS <= decided * limits.priceDivergenceBpsMax) return null
    return refuse(
      'price_moved',
      `The oracle's price is ${price.priceWad} wad; ${decided} was decided on, and the policy allows ${limits.priceDivergenceBpsMax} basis points between them.`,
    )
  }
  return judge
}

function checkOpen({ state, closesAt }: OfferRead, timestampS: number): Refusal | null {
  if (state !== OPEN) return refuse('lot_not_open', `Its state is ${state}; open is ${OPEN}.`)
  if (BigInt(timestampS) < closesAt) return null
  return refuse('lot_closed', `It closed at second ${closesAt}; the next block is at ${timestampS}.`)
}

function checkExpiry(about: About, { closesAt }: OfferRead, limits: BidLimits): Refusal | null {
  const expiresS = uintOf(about, 'expiresTimestamp')
  if (expiresS > closesAt && expiresS <= closesAt + limits.bindsAfterCloseSMax) return null
  return refuse(
    'expiry_out_of_range',
    `The bid expires at second ${expiresS}; it must bind past the close at ${closesAt}, by ${limits.bindsAfterCloseSMax} s at most.`,
  )
}

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
