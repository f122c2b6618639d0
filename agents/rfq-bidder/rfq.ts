import { moment, native, plural, span } from '../../src/readable.js'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { type PassedOver, passOver, type Stop } from '../agent.ts'
import { isEnough } from '../protocol/experience.ts'
import { BPS } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import { enter } from './commitments.ts'
import { type Headroom, headroomFor } from './headroom.ts'
import {
  bookName,
  endingStop,
  inFlightStop,
  judgeLot,
  lateStop,
  nearness,
  type Scene,
  type Valued,
} from './lot.ts'
import { cancel, place, replace } from './propose.ts'
import { type RfqBidSeen, type RfqSeen, tokensOf } from './seen.ts'
import { CANCEL, REPLACE } from './steps.ts'
import { usdMicrosOf } from './value.ts'

/**
 * Answer an RFQ that takes bids: one bid of ours at most. It is placed, changed when it is beaten or lies too far from
 * what would be bid now, and taken back when no bid is worth its place: the price is in doubt, the lot is not for us, or
 * others pay more than our limit. Enters what it bids into the commitments; otherwise pure.
 */
export function answerRfq(rfq: RfqSeen, scene: Scene): Proposal | PassedOver {
  const busy = endingStop(rfq, scene.seen, CANCEL)
  if (busy !== null) return passOver(rfq.id, busy)
  const answer = freeAnswer(rfq, scene)
  const waiting = inFlightStop(rfq, scene.seen)
  const isTakenBack = 'workflowType' in answer && answer.workflowType === CANCEL
  return waiting === null || isTakenBack ? answer : passOver(rfq.id, waiting)
}

/** So many sealed bids that were lost lead all the way from the least to what is bid with experience. */
const EXPLORING_STEPS = 10n

/** The answer as if nothing were under way. */
function freeAnswer(rfq: RfqSeen, scene: Scene): Proposal | PassedOver {
  const { self } = scene
  const live = rfq.bids.filter(({ status }) => status === 'live')
  const own = live.filter(({ bidder }) => bidder === self).toSorted(byAssets)
  const [current, spare] = own
  const late = lateStop(rfq, scene)
  if (late !== null) return passOver(rfq.id, late)
  // Two bids of ours: a crash, or one ordered by a person. The better one stays.
  if (spare !== undefined) return cancel(rfq, spare, 'second_bid', 'another bid of ours is better')

  const stop = (found: Stop) =>
    current === undefined ? passOver(rfq.id, found) : cancel(rfq, current, found.check, found.message)
  const unfit = termsStop(rfq)
  if (unfit !== null) return stop(unfit)
  const valued = judgeLot(rfq, bidders(rfq), scene)
  if ('check' in valued) return stop(valued)

  const standing = current?.assets ?? 0n
  const headroom = headroomFor(valued.priced, 'rfq', standing, scene.commitments, scene.policy)
  const commitments = readBook(rfq, scene)
  const wanted = wantedBid(rfq, valued, headroom, standing, commitments, scene)
  return current === undefined
    ? first(rfq, valued, headroom, commitments, wanted, scene)
    : next(rfq, valued, headroom, commitments, wanted, current, scene)
}

/** Others' bids that count, as far as the book shows them, and ours. */
const bidders = ({ bids }: RfqSeen) =>
  bids.filter(({ status }) => status === 'live').map(({ bidder }) => bidder)

const byAssets = (one: RfqBidSeen, other: RfqBidSeen) =>
  one.assets === other.assets ? 0 : one.assets > other.assets ? -1 : 1

/** What we cannot trade. */
function termsStop({ terms }: RfqSeen): Stop | null {
  if (terms.side !== 'bidder_buys') {
    return { check: 'side_not_traded', message: `The side is ${terms.side}; we buy what is sold.` }
  }
  if (terms.escrow !== 'whole_bid') {
    return { check: 'escrow_not_traded', message: `The escrow is ${terms.escrow}; we bid with all of it.` }
  }
  return null
}

/** What the book shows of others, and the least that leads it. */
type OpenBook = { readonly bestRival: bigint; readonly rivals: bigint; readonly leadAssets: bigint }

/** Read the book. Of equal bids the earliest may win: then more is needed to lead. Pure. */
function readBook({ bids, reserveAssets, terms }: RfqSeen, { self, policy }: Scene): OpenBook {
  const others = bids.filter(({ bidder, status }) => status === 'live' && bidder !== self)
  const rivals = BigInt(new Set(others.map(({ bidder }) => bidder)).size)
  const bestRival = others.reduce((most, { assets }) => (assets > most ? assets : most), 0n)
  if (bestRival === 0n) return { bestRival, rivals, leadAssets: reserveAssets }
  const step = (bestRival * BigInt(policy.rfq.leadByBps)) / BPS
  const least = bestRival + (step === 0n && terms.ties === 'earliest' ? 1n : step)
  return { bestRival, rivals, leadAssets: least > reserveAssets ? least : reserveAssets }
}

/** What we would bid if we had not yet; null when that is above our limit, or the headroom that is left. */
function wantedBid(
  rfq: RfqSeen,
  { worth }: Valued,
  headroom: Headroom,
  standing: bigint,
  commitments: OpenBook,
  scene: Scene,
): bigint | null {
  const most = worth.limitAssets < headroom.assets ? worth.limitAssets : headroom.assets
  if (commitments.leadAssets > most || most === 0n) return null
  const aimed =
    rfq.terms.book === 'sealed'
      ? sealedBid(rfq, worth.sealedAssets, standing, commitments.leadAssets, scene)
      : isLastCall(rfq, scene)
        ? lastBid(worth, commitments)
        : commitments.leadAssets
  const bounded = aimed < most ? aimed : most
  return bounded > commitments.leadAssets ? bounded : commitments.leadAssets
}

/**
 * Before enough were won in sealed books, what is paid is what is lost if the seller knows more: the first bid is the least.
 * Each that was lost says that others pay more, and is a step of the way from there to what is bid with experience. A bid that
 * stands is not raised for such a step.
 */
function sealedBid(
  rfq: RfqSeen,
  sealedAssets: bigint,
  standing: bigint,
  leadAssets: bigint,
  { seen }: Scene,
): bigint {
  const known = seen.experience.find(({ of }) => of === bookName(rfq))
  const [decided, won] = [known?.decided ?? 0, known?.won ?? 0]
  if (isEnough(won)) return sealedAssets
  const lost = BigInt(Math.round(decided - won))
  const steps = lost < EXPLORING_STEPS ? lost : EXPLORING_STEPS
  const step = leadAssets + ((sealedAssets - leadAssets) * steps) / EXPLORING_STEPS
  return standing > 0n && standing < step ? standing : step
}

/** Whether nobody has the time to answer any more, we as little as others. */
const isLastCall = ({ closesAtS }: RfqSeen, { seen, policy }: Scene) =>
  closesAtS - seen.chain.timestampS <= policy.rfq.lastCallS

/**
 * The last bid on an open book is a sealed one. Who shows a bid has gone about as far as they like by then; that some go
 * on, or come now, is met by a part of the way to our limit that grows with how many there are.
 */
function lastBid({ limitAssets, sealedAssets }: Valued['worth'], { bestRival, rivals }: OpenBook): bigint {
  if (rivals === 0n || limitAssets <= bestRival) return 0n
  const onTheWay = bestRival + ((limitAssets - bestRival) * rivals) / (rivals + 5n)
  return onTheWay < sealedAssets ? onTheWay : sealedAssets
}

function first(
  rfq: RfqSeen,
  valued: Valued,
  headroom: Headroom,
  { leadAssets }: OpenBook,
  wanted: bigint | null,
  scene: Scene,
): Proposal | PassedOver {
  if (wanted === null) return passOver(rfq.id, tooDear(rfq, valued, headroom, leadAssets))
  if (rfq.terms.book === 'open' && !isLastCall(rfq, scene)) return passOver(rfq.id, tooEarly(rfq, scene))
  const gas = scene.commitments.bidGas
  if (scene.commitments.nativeWei < gas.wei) return passOver(rfq.id, outOfGas(scene))
  const ownBids = rfq.bids.filter(({ bidder }) => bidder === scene.self).length
  const bid = { ...valued, assets: wanted, limitedBy: limitOf(headroom, leadAssets, wanted), gas }
  enter(
    scene.commitments,
    rfq,
    { assets: wanted, usdMicros: usdMicrosOf(wanted, valued.priced.quote) },
    'rfq',
  )
  return place(rfq, bid, ownBids, rfq.closesAtS + scene.policy.rfq.expiryAfterCloseS)
}

function next(
  rfq: RfqSeen,
  valued: Valued,
  headroom: Headroom,
  { leadAssets, bestRival }: OpenBook,
  wanted: bigint | null,
  current: RfqBidSeen,
  scene: Scene,
): Proposal | PassedOver {
  const { policy, seen, commitments } = scene
  const leads = rfq.terms.book === 'sealed' || current.assets > bestRival
  const binds = current.expiresAtS > rfq.closesAtS
  const driftAssets = (current.assets * BigInt(policy.rfq.replaceBps)) / BPS
  const apart = (assets: bigint) =>
    assets > current.assets ? assets - current.assets : current.assets - assets
  if (wanted === null) {
    // Near the limit it stays, leading or not: what is taken back now would be placed again at the next price.
    const isNear = (assets: bigint) =>
      assets <= valued.worth.limitAssets + (assets * BigInt(policy.rfq.replaceBps)) / BPS
    if (binds && isNear(current.assets) && (leads || isNear(leadAssets))) {
      return passOver(rfq.id, stands(rfq, valued, current))
    }
    const dear = tooDear(rfq, valued, headroom, leadAssets)
    return cancel(rfq, current, dear.check, dear.message)
  }
  // Who leads is not raised for fear of a bid that may never come.
  const isEnough = rfq.terms.book === 'open' && wanted >= current.assets
  if (binds && leads && (isEnough || apart(wanted) <= driftAssets))
    return passOver(rfq.id, stands(rfq, valued, current))
  const ended = seen.recent.filter(
    ({ workflowType, state, input }) =>
      workflowType === REPLACE && state === 'succeeded' && input.bidId === current.bidId,
  )
  const raises = ended.filter(({ kind }) => kind === 'raise').length
  const isRaise = wanted > current.assets
  if (isRaise && raises >= policy.rfq.raisesMax) {
    const message = `Bid ${current.bidId} was raised ${plural(raises, 'time')} today; the policy allows ${policy.rfq.raisesMax}.`
    return passOver(rfq.id, { check: 'raises_used_up', message, reason: { raises } })
  }
  if (commitments.nativeWei < commitments.bidGas.wei) return passOver(rfq.id, outOfGas(scene))
  const takenAssets = isRaise ? wanted - current.assets : 0n
  const bid = {
    ...valued,
    assets: wanted,
    limitedBy: limitOf(headroom, leadAssets, wanted),
    gas: commitments.bidGas,
  }
  enter(
    commitments,
    rfq,
    { assets: takenAssets, usdMicros: usdMicrosOf(takenAssets, valued.priced.quote) },
    'rfq',
  )
  return replace(rfq, bid, current, ended.length, rfq.closesAtS + policy.rfq.expiryAfterCloseS)
}

/** Where bids are shown, one that others can still answer informs them and wins nothing. */
const tooEarly = ({ closesAtS }: RfqSeen, { seen, policy }: Scene): Stop => {
  const leftS = closesAtS - seen.chain.timestampS
  const message = `It closes at ${moment(closesAtS)}; where bids are shown we bid in the last ${span(policy.rfq.lastCallS * 1_000)}.`
  return { check: 'before_last_call', message, reason: { leftS } }
}

const limitOf = (headroom: Headroom, leadAssets: bigint, assets: bigint): string =>
  assets === headroom.assets ? headroom.limitedBy : assets === leadAssets ? 'lead' : 'shade'

/** Why what would win is above what we bid: the lot is not worth it, or there is no headroom for it. */
function tooDear(rfq: RfqSeen, { priced, worth }: Valued, headroom: Headroom, leadAssets: bigint): Stop {
  const paid = (assets: bigint) => tokens(assets, priced.quote.decimals, priced.quote.symbol)
  const { reserveAssets } = rfq
  const reason = {
    leadAssets: String(leadAssets),
    reserveAssets: String(reserveAssets),
    limitAssets: String(worth.limitAssets),
    valueAssets: String(worth.valueAssets),
    wonAssets: String(worth.wonAssets),
    markAssets: String(worth.markAssets),
    roomAssets: String(headroom.assets),
    ...tokensOf(rfq),
  }
  if (leadAssets <= worth.limitAssets) {
    const message = `${paid(leadAssets)} would lead, and ${headroom.limitedBy} leaves ${paid(headroom.assets)}.`
    return { check: headroom.limitedBy, message, reason, near: nearness(headroom.assets, leadAssets) }
  }
  const check = leadAssets === reserveAssets ? 'reserve_above_limit' : 'rivals_above_limit'
  const message = `${paid(leadAssets)} would lead; our limit is ${paid(worth.limitAssets)}.`
  return { check, message, reason, near: nearness(worth.limitAssets, leadAssets) }
}

const stands = (rfq: RfqSeen, { priced, worth }: Valued, { bidId, assets }: RfqBidSeen): Stop => ({
  check: 'bid_stands',
  message: `Our bid ${bidId} of ${tokens(assets, priced.quote.decimals, priced.quote.symbol)} stands; our limit is ${tokens(worth.limitAssets, priced.quote.decimals, priced.quote.symbol)}.`,
  reason: {
    bidAssets: String(assets),
    limitAssets: String(worth.limitAssets),
    closesAtS: rfq.closesAtS,
    ...tokensOf(rfq),
  },
})

const outOfGas = ({ seen, commitments }: Scene): Stop => ({
  check: 'out_of_gas',
  message: `A bid needs ${native(commitments.bidGas.wei)} for gas; ${native(commitments.nativeWei)} are left. Fix: send native coin to ${seen.signer}.`,
  reason: { haveWei: String(commitments.nativeWei), needWei: String(commitments.bidGas.wei) },
})
