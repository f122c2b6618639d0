import type { Address } from 'viem'
import type { z } from 'zod'
import { type Refusal, refuse } from '../../../errors.ts'
import { bps, seconds, settings } from '../../../service/contract/yaml-scalars.ts'
import { amountText } from '../../../units.ts'
import { isOurs, type JudgedCase, unread } from '../judgement.ts'
import { BPS } from '../units.ts'
import { type BidRead, BOOKED, bookView, type LotRead, type OfferRead } from './views.ts'

/** Members of the RFQ bidder's `guard.sanity` that bound a bid by the bids of others, as the venue itself shows them. */
export const rivalLimits = {
  /** How far above the least that an auction takes a bid may be. */
  raiseBpsMax: bps().transform(BigInt),
  /** Absent where the desk shows no book: what the lot is worth bounds a bid alone. */
  book: settings({
    /** How far above the best rival a bid may be. */
    leadBpsMax: bps().transform(BigInt),
    /** So near to the close a bid may go part of the way to `bidMax` at once. */
    lastCallS: seconds(0, 86_400).transform(BigInt),
  }).optional(),
}
type RivalLimits = Readonly<z.output<z.ZodObject<typeof rivalLimits>>>

/** What bounds a bid from above: by others' bids, at a block's time. `worthMost` is the most by what the lot is worth. */
export type Bound = (
  found: OfferRead,
  bid: { readonly assets: bigint; readonly worthMost: bigint; readonly timestampS: number },
) => Refusal | null

/**
 * Bound a bid on an RFQ by the book on chain. Rivals that only the service knows raise nothing: without one the
 * reserve is the price; with some, a lead above the best of them, and in the last call as far towards the lot's worth
 * as so many rivals can drive it. Where it is our first, none of ours may be there. What a person orders is not bound.
 */
export function boundByBook(
  { book }: RivalLimits,
  { before, subject, proposal }: JudgedCase,
  desk: Address,
  rfqId: bigint,
  isFirst: boolean,
): Bound {
  if (book === undefined || proposal.kind === 'order') return () => null
  const read = before.ask(bookView(desk, rfqId))
  return (found, { assets, worthMost, timestampS }) => {
    const booked = read()
    if (booked === null) return unread('the book of the RFQ')
    if (isFirst && booked.some(({ bidder }) => bidder === subject.self)) {
      return refuse('bid_stands', 'The book holds a bid of ours on this RFQ already.')
    }
    const live = booked.filter(
      ({ bidder, state, expiresAt }) =>
        bidder !== subject.self && state === BOOKED && expiresAt > BigInt(timestampS),
    )
    const other = live.find(({ bidder }) => isOurs(bidder, subject))
    if (other !== undefined) return bidderIsOurs(other.bidder)
    const isLastCall = found.closesAt - BigInt(timestampS) <= book.lastCallS
    const most = mostAgainst(live, found.reserveAssets, isLastCall ? worthMost : 0n, book.leadBpsMax)
    return above(assets, most, (amount) => amountText(amount, found.quoteAsset, subject.deployment))
  }
}

/** Refuse to outbid one of us: whom the service hides is in the book all the same. Pure. */
export const bidderIsOurs = (bidder: Address): Refusal =>
  refuse('bidder_is_ours', `${bidder} bids for it, which is ours.`)

/** The most that so many live bids of others are a reason to bid; `towards` is 0 before the last call. */
function mostAgainst(
  rivals: readonly BidRead[],
  reserveAssets: bigint,
  towards: bigint,
  leadBpsMax: bigint,
): bigint {
  const best = rivals.reduce((most, { assets }) => (assets > most ? assets : most), 0n)
  if (best === 0n) return reserveAssets
  const count = BigInt(new Set(rivals.map(({ bidder }) => bidder)).size)
  const lead = best + highest((best * leadBpsMax) / BPS, 1n)
  const last = best + ((towards - best) * count) / (count + 1n)
  return highest(reserveAssets, highest(lead, last))
}

const highest = (one: bigint, other: bigint) => (one > other ? one : other)

/** Demand the least that an auction takes, and not much more; only the latter is a person's to decide. Pure. */
export function checkRaise(
  { reserveAssets, bestAssets, quoteAsset }: LotRead,
  assets: bigint,
  incrementBps: bigint,
  { raiseBpsMax }: RivalLimits,
  { subject, proposal }: JudgedCase,
): Refusal | null {
  const paid = (amount: bigint) => amountText(amount, quoteAsset, subject.deployment)
  const step = (bestAssets * incrementBps + BPS - 1n) / BPS
  const least = bestAssets === 0n ? reserveAssets : bestAssets + highest(step, 1n)
  if (assets < least) {
    return refuse('below_increment', `The bid is ${paid(assets)}; the next is ${paid(least)} at least.`)
  }
  return proposal.kind === 'order' ? null : above(assets, least + (least * raiseBpsMax) / BPS, paid)
}

function above(assets: bigint, most: bigint, paid: (amount: bigint) => string): Refusal | null {
  if (assets <= most) return null
  return refuse(
    'bid_above_rivals',
    `The bid is ${paid(assets)}; by the bids that the chain shows, ${paid(most)} are enough.`,
  )
}
