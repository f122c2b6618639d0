import type { Decision, InFlight } from '../agent.ts'
import { type Due, whyDue } from '../protocol/due.ts'
import { assetsText } from '../protocol/text.ts'
import type { RfqBidderPolicy } from './policy.ts'
import { bidSubject } from './propose.ts'
import type { AuctionSeen, Observed, OfferSeen, RfqBidSeen, RfqSeen } from './seen.ts'
import { CLAIM, claims, isAbout } from './steps.ts'

type About = Omit<InFlight, 'held'>

/** Escrow that can be claimed earns nothing and counts in every limit: minutes are a few workflows. */
const REFUND_GRACE_MS = 300_000
/** Until it is finalized its escrow is bound, and the winner's lot not ours; gas and the indexer take seconds. */
const FINALIZE_GRACE_MS = 120_000
/** A person has to act on chain: an hour is a working one. */
const BY_HAND_GRACE_MS = 3_600_000

/** What is done, what the policy wants left alone, and what others have to do. */
const CHOSEN: ReadonlySet<string> = new Set([
  ...[
    'before_last_call',
    'before_window',
    'bid_stands',
    'leads',
    'raises_used_up',
    'left_to_winner',
    'awaits_finalizer',
    'oracle_not_healthy',
  ],
  ...[
    'reserve_above_limit',
    'rivals_above_limit',
    'next_bid_above_limit',
    'experience_against',
    'exploration_spent',
    'gas_above_exploration',
    'inventory_full',
  ],
  ...[
    'bid_max',
    'open_bids_max',
    'asset_bids_max',
    'owed_max',
    'lot_taken',
    'seller_is_ours',
    'bidder_is_ours',
  ],
  ...['side_not_traded', 'escrow_not_traded', 'asset_not_allowed', 'quote_not_allowed', 'market_paused'],
  // Somebody bid more between the decision and the check: a race that was lost is no bid that was missed.
  'below_increment',
  // What could not be done in time was late before.
  'too_late',
])

/** What the RFQ bidder owes: bids while they count, the end of RFQs that it won, and its escrow brought home. Pure. */
export function due(seen: Observed, { passedOver }: Decision, policy: RfqBidderPolicy): readonly Due[] {
  const known = { ...seen, passedOver }
  const self = seen.signer.toLowerCase()
  const owes = (one: Omit<Due, 'message'>, isFor: (one: About) => boolean): Due => {
    const why = whyDue<About>(known, isFor, [one.subject], 'It was proposed just now.')
    return { ...one, ...why, ...(CHOSEN.has(why.check ?? '') ? { chosen: true } : {}) }
  }
  const isOn = (offer: OfferSeen) => (one: About) => one.workflowType !== CLAIM && isAbout(one, offer)
  const refund = (rfq: RfqSeen, bid: RfqBidSeen): Due => {
    const amount = assetsText(bid.assets, rfq.quoteAsset, seen.deployment)
    const place = { what: 'refund', subject: bidSubject(rfq, bid), amount, sinceMs: null }
    return owes({ ...place, graceMs: REFUND_GRACE_MS }, (one) => isAbout(one, rfq) && claims(one, bid))
  }
  const ofRfq = (rfq: RfqSeen): readonly Due[] => {
    const own = rfq.bids.filter(({ bidder }) => bidder === self)
    const refunds = own.filter(({ refundable }) => refundable).map((bid) => refund(rfq, bid))
    if (rfq.status === 'open') {
      const sinceS = rfq.terms.book === 'open' ? rfq.closesAtS - policy.rfq.lastCallS : null
      const place = {
        what: 'RFQ bid',
        subject: rfq.id,
        ...closing(rfq, sinceS, policy.rfq.lastCallS, policy, seen),
      }
      return [...refunds, owes(place, isOn(rfq))]
    }
    if (rfq.status !== 'closed' || !own.some(({ status }) => status === 'live')) return refunds
    const place = { what: 'RFQ to finalize', subject: rfq.id, sinceMs: rfq.closesAtS * 1_000 }
    return [...refunds, owes({ ...place, graceMs: FINALIZE_GRACE_MS }, isOn(rfq))]
  }
  const ofAuction = (lot: AuctionSeen): readonly Due[] => [
    ...(lot.owedAssets === 0n
      ? []
      : [
          owes(
            {
              what: 'withdrawal by hand',
              subject: `${lot.id}:owed`,
              sinceMs: null,
              graceMs: BY_HAND_GRACE_MS,
              amount: assetsText(lot.owedAssets, lot.quoteAsset, seen.deployment),
            },
            () => false,
          ),
        ]),
    ...(lot.status !== 'open'
      ? []
      : [
          owes(
            {
              what: 'auction bid',
              subject: lot.id,
              ...closing(lot, lot.closesAtS - policy.auction.windowS, policy.auction.windowS, policy, seen),
            },
            isOn(lot),
          ),
        ]),
  ]
  return [...seen.rfqs.flatMap(ofRfq), ...seen.auctions.flatMap(ofAuction)]
}

/** Of the time in which a bid counts and lands, half may go by; one that opened within it was not due before it was seen. */
const closing = (
  { closesAtS }: OfferSeen,
  sinceS: number | null,
  windowS: number,
  { landingS }: RfqBidderPolicy,
  { nowMs }: Pick<Observed, 'nowMs'>,
): Pick<Due, 'sinceMs' | 'untilMs' | 'graceMs'> => ({
  sinceMs: sinceS === null || sinceS * 1_000 <= nowMs ? null : sinceS * 1_000,
  untilMs: (closesAtS - landingS) * 1_000,
  graceMs: (windowS - landingS) * 500,
})
