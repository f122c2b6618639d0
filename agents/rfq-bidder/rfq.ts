import type { PassedOver, Proposal } from '../../src/agent.ts'
import { BPS } from '../../src/protocol/health.ts'
import { tokens } from '../../src/protocol/text.ts'
import { enter } from './book.ts'
import { inFlightStop, judgeLot, lateStop, nearness, passOver, type Scene, type Valued } from './lot.ts'
import type { Stop } from './price.ts'
import { cancel, place, replace } from './propose.ts'
import { type Room, roomFor } from './room.ts'
import type { RfqBidSeen, RfqSeen } from './seen.ts'
import { REPLACE } from './steps.ts'
import { usdMicrosOf } from './value.ts'

/**
 * Answer an RFQ that takes bids: one bid of ours at most. It is placed, changed when it is beaten or lies too far from
 * what would be bid now, and taken back when no bid is worth its place: the price is in doubt, the lot is not for us, or
 * others pay more than our limit. Enters what it bids into the book; otherwise pure.
 */
export function answerRfq(rfq: RfqSeen, scene: Scene): Proposal | PassedOver {
  const { seen, self } = scene
  const busy = inFlightStop(rfq.id, seen)
  if (busy !== null) return passOver(rfq, busy)
  const live = rfq.bids.filter(({ status }) => status === 'live')
  const own = live.filter(({ bidder }) => bidder === self).toSorted(byAssets)
  const rivals = live.filter(({ bidder }) => bidder !== self)
  const [current, spare] = own
  const late = lateStop(rfq, scene)
  if (late !== null) return passOver(rfq, late)
  // Two bids of ours: a crash or a hand. The better one stays.
  if (spare !== undefined) return cancel(rfq, spare, 'second_bid', 'another bid of ours is better')

  const stop = (found: Stop) =>
    current === undefined ? passOver(rfq, found) : cancel(rfq, current, found.check, found.message)
  const unfit = termsStop(rfq)
  if (unfit !== null) return stop(unfit)
  const valued = judgeLot(rfq, bidders(rfq), scene)
  if ('check' in valued) return stop(valued)

  const standing = current?.assets ?? 0n
  const room = roomFor(valued.priced, 'rfq', standing, scene.book, scene.policy)
  const bestRival = rivals.reduce((most, { assets }) => (assets > most ? assets : most), 0n)
  const leadAssets = leadOver(bestRival, rfq, scene.policy)
  const wanted = wantedBid(rfq, valued, room, leadAssets)
  return current === undefined
    ? first(rfq, valued, room, leadAssets, wanted, scene)
    : next(rfq, valued, room, leadAssets, wanted, current, bestRival, scene)
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

/** The least that wins as the book stands. Of equal bids the earliest may win: then more is needed. Pure. */
function leadOver(bestRival: bigint, { reserveAssets, terms }: RfqSeen, { rfq }: Scene['policy']): bigint {
  if (bestRival === 0n) return reserveAssets
  const step = (bestRival * BigInt(rfq.leadByBps)) / BPS
  const least = bestRival + (step === 0n && terms.ties === 'earliest' ? 1n : step)
  return least > reserveAssets ? least : reserveAssets
}

/** What we would bid if we had not yet; null when that is above our limit, or the room that is left. */
function wantedBid(rfq: RfqSeen, { worth }: Valued, room: Room, leadAssets: bigint): bigint | null {
  const most = worth.limitAssets < room.assets ? worth.limitAssets : room.assets
  if (leadAssets > most || most === 0n) return null
  if (rfq.terms.book === 'open') return leadAssets
  const shaded = worth.sealedAssets < most ? worth.sealedAssets : most
  return shaded > leadAssets ? shaded : leadAssets
}

function first(
  rfq: RfqSeen,
  valued: Valued,
  room: Room,
  leadAssets: bigint,
  wanted: bigint | null,
  scene: Scene,
): Proposal | PassedOver {
  if (wanted === null) return passOver(rfq, tooDear(rfq, valued, room, leadAssets))
  const gas = scene.book.bidGas
  if (scene.book.nativeWei < gas.wei) return passOver(rfq, outOfGas(scene))
  const ownBids = rfq.bids.filter(({ bidder }) => bidder === scene.self).length
  const bid = { ...valued, assets: wanted, limitedBy: limitOf(rfq, room, wanted), gas }
  enter(scene.book, rfq, { assets: wanted, usdMicros: usdMicrosOf(wanted, valued.priced.quote) }, 'rfq')
  return place(rfq, bid, ownBids, rfq.closesAtS + scene.policy.rfq.expiryAfterCloseS)
}

function next(
  rfq: RfqSeen,
  valued: Valued,
  room: Room,
  leadAssets: bigint,
  wanted: bigint | null,
  current: RfqBidSeen,
  bestRival: bigint,
  scene: Scene,
): Proposal | PassedOver {
  const { policy, seen, book } = scene
  const leads = rfq.terms.book === 'sealed' || current.assets > bestRival
  const binds = current.expiresAtS > rfq.closesAtS
  const driftAssets = (current.assets * BigInt(policy.rfq.replaceBps)) / BPS
  const apart = (assets: bigint) =>
    assets > current.assets ? assets - current.assets : current.assets - assets
  if (wanted === null) {
    // Within the drift it is still below what the lot is worth: the spread is wider.
    if (leads && binds && current.assets <= valued.worth.limitAssets + driftAssets) {
      return passOver(rfq, stands(rfq, valued, current))
    }
    const dear = tooDear(rfq, valued, room, leadAssets)
    return cancel(rfq, current, dear.check, dear.message)
  }
  if (binds && leads && apart(wanted) <= driftAssets) return passOver(rfq, stands(rfq, valued, current))
  const ended = seen.recent.filter(
    ({ workflowType, state, input }) =>
      workflowType === REPLACE && state === 'succeeded' && input.bidId === current.bidId,
  )
  const raises = ended.filter(({ kind }) => kind === 'raise').length
  const isRaise = wanted > current.assets
  if (isRaise && raises >= policy.rfq.raisesMax) {
    const message = `Bid ${current.bidId} was raised ${raises} times today; the policy allows ${policy.rfq.raisesMax}.`
    return passOver(rfq, { check: 'raises_used_up', message, reason: { raises } })
  }
  if (book.nativeWei < book.bidGas.wei) return passOver(rfq, outOfGas(scene))
  const takenAssets = isRaise ? wanted - current.assets : 0n
  const bid = {
    ...valued,
    assets: wanted,
    limitedBy: limitOf(rfq, room, wanted),
    gas: book.bidGas,
  }
  enter(book, rfq, { assets: takenAssets, usdMicros: usdMicrosOf(takenAssets, valued.priced.quote) }, 'rfq')
  return replace(rfq, bid, current, ended.length, rfq.closesAtS + policy.rfq.expiryAfterCloseS)
}

const limitOf = (rfq: RfqSeen, room: Room, assets: bigint): string =>
  assets === room.assets ? room.limitedBy : rfq.terms.book === 'open' ? 'lead' : 'shade'

/** Why what would win is above what we bid: the lot is not worth it, or there is no room for it. */
function tooDear(
  { reserveAssets }: RfqSeen,
  { priced, worth }: Valued,
  room: Room,
  leadAssets: bigint,
): Stop {
  const paid = (assets: bigint) => tokens(assets, priced.quote.decimals, priced.quote.symbol)
  const reason = {
    leadAssets: String(leadAssets),
    reserveAssets: String(reserveAssets),
    limitAssets: String(worth.limitAssets),
    valueAssets: String(worth.valueAssets),
    markAssets: String(worth.markAssets),
    roomAssets: String(room.assets),
  }
  if (leadAssets <= worth.limitAssets) {
    const message = `${paid(leadAssets)} would lead, and ${room.limitedBy} leaves ${paid(room.assets)}.`
    return { check: room.limitedBy, message, reason, near: nearness(room.assets, leadAssets) }
  }
  const check = leadAssets === reserveAssets ? 'reserve_above_limit' : 'rivals_above_limit'
  const message = `${paid(leadAssets)} would lead; our limit is ${paid(worth.limitAssets)}.`
  return { check, message, reason, near: nearness(worth.limitAssets, leadAssets) }
}

const stands = (rfq: RfqSeen, { priced, worth }: Valued, { bidId, assets }: RfqBidSeen): Stop => ({
  check: 'bid_stands',
  message: `Our bid ${bidId} of ${tokens(assets, priced.quote.decimals, priced.quote.symbol)} ${rfq.terms.book === 'open' ? 'leads' : 'stands'}.`,
  reason: { bidAssets: String(assets), limitAssets: String(worth.limitAssets), closesAtS: rfq.closesAtS },
})

const outOfGas = ({ seen, book }: Scene): Stop => ({
  check: 'out_of_gas',
  message: `A bid needs ${book.bidGas.wei} wei for gas; ${book.nativeWei} wei are left. Fix: send native coin to ${seen.signer}.`,
  reason: { haveWei: String(book.nativeWei), needWei: String(book.bidGas.wei) },
})
