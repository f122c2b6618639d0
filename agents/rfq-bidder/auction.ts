import { moment, native, span } from '../../src/readable.js'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { type PassedOver, passOver } from '../agent.ts'
import { BPS } from '../protocol/health.ts'
import { assetsText, tokens } from '../protocol/text.ts'
import { enter } from './commitments.ts'
import { headroomFor } from './headroom.ts'
import { inFlightStop, judgeLot, lateStop, nearness, type Scene } from './lot.ts'
import { raise } from './propose.ts'
import { type AuctionSeen, tokensOf } from './seen.ts'
import { usdMicrosOf } from './value.ts'

/**
 * Bid in an open ascending auction: late, because an early bid only informs others, and no more than it takes, up to our
 * limit. A bidder by proxy answers at once and for nothing, so that our step weighs gas against overpaying. Enters what
 * it bids into the commitments; otherwise pure.
 */
export function bidAtAuction(lot: AuctionSeen, scene: Scene): Proposal | PassedOver {
  const { seen, policy, self, commitments } = scene
  const busy = inFlightStop(lot, seen)
  if (busy !== null) return passOver(lot.id, busy)
  if (lot.bestBidder === self) {
    return passOver(lot.id, {
      check: 'leads',
      message: `We lead with ${assetsText(lot.bestAssets ?? 0n, lot.quoteAsset, seen.deployment)}.`,
      reason: { bidAssets: String(lot.bestAssets), closesAtS: lot.closesAtS, ...tokensOf(lot) },
    })
  }
  const late = lateStop(lot, scene)
  if (late !== null) return passOver(lot.id, late)
  const valued = judgeLot(
    lot,
    lot.bids.map(({ bidder }) => bidder),
    scene,
  )
  if ('check' in valued) return passOver(lot.id, valued)

  const { priced, worth } = valued
  const headroom = headroomFor(priced, 'auction', 0n, commitments, policy)
  const isRoomy = worth.limitAssets <= headroom.assets
  const most = isRoomy ? worth.limitAssets : headroom.assets
  const leastAssets = lot.nextAssets > lot.reserveAssets ? lot.nextAssets : lot.reserveAssets
  const figures = {
    nextBidAssets: String(leastAssets),
    limitAssets: String(worth.limitAssets),
    valueAssets: String(worth.valueAssets),
    wonAssets: String(worth.wonAssets),
    markAssets: String(worth.markAssets),
    roomAssets: String(headroom.assets),
    ...tokensOf(lot),
  }
  const paid = (assets: bigint) => tokens(assets, priced.quote.decimals, priced.quote.symbol)
  if (leastAssets > most || most === 0n) {
    return passOver(lot.id, {
      check: isRoomy ? 'next_bid_above_limit' : headroom.limitedBy,
      message: `The next bid is ${paid(leastAssets)} at least; ${isRoomy ? 'our limit is' : `${headroom.limitedBy} leaves`} ${paid(most)}.`,
      reason: figures,
      near: nearness(most, leastAssets),
    })
  }
  const leftS = lot.closesAtS - seen.chain.timestampS
  if (leftS > policy.auction.windowS) {
    const message = `It closes at ${moment(lot.closesAtS)}; we bid in the last ${span(policy.auction.windowS * 1_000)}.`
    return passOver(lot.id, { check: 'before_window', message, reason: { ...figures, leftS } })
  }
  if (commitments.nativeWei < commitments.bidGas.wei) {
    const message = `A bid needs ${native(commitments.bidGas.wei)} for gas; ${native(commitments.nativeWei)} are left. Fix: send native coin to ${seen.signer}.`
    return passOver(lot.id, { check: 'out_of_gas', message })
  }
  const stepped = steppedBid(lot, leastAssets, most, worth.gasAssets, policy.auction.stepBpsMax)
  const assets = stepped < most ? stepped : most
  enter(commitments, lot, { assets, usdMicros: usdMicrosOf(assets, priced.quote) }, 'auction')
  const limitedBy = assets === stepped ? 'increment' : isRoomy ? 'limit' : headroom.limitedBy
  return raise(lot, { ...valued, assets, limitedBy, gas: commitments.bidGas })
}

/** The best bid and a step that the gas of many small ones would not pay for; from the least there is as far as allowed. */
function steppedBid(
  { bestAssets }: AuctionSeen,
  leastAssets: bigint,
  most: bigint,
  gasAssets: bigint,
  stepBpsMax: number,
): bigint {
  if (bestAssets === null) return leastAssets
  const stepped = bestAssets + stepWith(most - bestAssets, gasAssets)
  const highest = leastAssets + (leastAssets * BigInt(stepBpsMax)) / BPS
  if (stepped < leastAssets) return leastAssets
  return stepped < highest ? stepped : highest
}

/**
 * How far a bid goes above the best one where others answer. A small step is answered often, and each bid takes gas; a
 * large one overpays by half of itself when it wins. With `most` still to go, `gas·most/step + step/2` is least at
 * `√(2·gas·most)`. Base units of the quote asset.
 */
const stepWith = (mostAssets: bigint, gasAssets: bigint): bigint =>
  // A step is no sum that is booked: the float's error in it does not matter, and it grows with what it is taken of.
  mostAssets <= 0n ? 0n : BigInt(Math.floor(Math.sqrt(2 * Number(gasAssets) * Number(mostAssets))))
