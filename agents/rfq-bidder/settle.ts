import type { Address } from 'viem'
import { moment, native } from '../../src/readable.js'
import type { PinnedDeployment } from '../../src/service/contract/deployment.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { type PassedOver, passOver, type Stop } from '../agent.ts'
import { assetsText } from '../protocol/text.ts'
import type { Commitments } from './commitments.ts'
import { claimStop, endingStop, type Scene } from './lot.ts'
import { bidSubject, claim, finalize } from './propose.ts'
import { type AuctionSeen, type RfqBidSeen, type RfqSeen, tokensOf } from './seen.ts'
import { FINALIZE } from './steps.ts'

/** Claim the escrow of every bid of ours that cannot win any more. Takes gas from the commitments; otherwise pure. */
export function claimRefunds(
  rfq: RfqSeen,
  { seen, self, commitments }: Scene,
): readonly (Proposal | PassedOver)[] {
  return rfq.bids
    .filter(({ bidder, refundable }) => bidder === self && refundable)
    .map((bid) => {
      const subject = bidSubject(rfq, bid)
      const stop = claimStop(rfq, bid, seen) ?? gasStop(commitments, seen.signer)
      return stop === null ? claim(rfq, bid, seen.deployment) : passOver(subject, stop)
    })
}

/**
 * Finalize an RFQ that is closed and has a live bid of ours: at once when we won or cannot know, else when those who won
 * had their time, because our escrow is free only then. Takes gas from the commitments; otherwise pure.
 */
export function finalizeClosed(
  rfq: RfqSeen,
  { seen, self, policy, commitments }: Scene,
): Proposal | PassedOver {
  const live = rfq.bids.filter(({ status }) => status === 'live')
  const [bid] = live.filter(({ bidder }) => bidder === self).toSorted(byAssets)
  if (bid === undefined) {
    return passOver(rfq.id, { check: 'rfq_closed', message: 'It is closed, and no bid of ours binds.' })
  }
  const busy = endingStop(rfq, seen, FINALIZE)
  if (busy !== null) return passOver(rfq.id, busy)
  const wins = rfq.terms.book === 'sealed' ? null : doesWin(bid, live)
  const { finalizer } = rfq.terms
  if (finalizer === 'seller' || (finalizer === 'winner' && wins === false)) {
    const message = `It is closed with our bid ${bid.bidId}; only the ${finalizer} finalizes it.`
    return passOver(rfq.id, { check: 'awaits_finalizer', message })
  }
  const oursAtS = rfq.closesAtS + policy.rfq.finalizeLostAfterS
  const leftS = oursAtS - seen.chain.timestampS
  if (wins === false && leftS > 0) {
    const message = `Somebody else won; it is theirs to finalize until ${moment(oursAtS)}.`
    return passOver(rfq.id, { check: 'left_to_winner', message, reason: { leftS } })
  }
  const stop = gasStop(commitments, seen.signer)
  return stop === null ? finalize(rfq, bid, wins) : passOver(rfq.id, stop)
}

/** Say what an auction that is over still has of ours. Pure. */
export function reportUnpaid(
  lot: AuctionSeen,
  self: Address,
  deployment: PinnedDeployment,
): readonly PassedOver[] {
  const unpaid: readonly PassedOver[] =
    lot.owedAssets === 0n
      ? []
      : [
          {
            subject: `${lot.id}:owed`,
            check: 'owed_not_withdrawable',
            message: `${lot.venue} owes ${self} ${assetsText(lot.owedAssets, lot.quoteAsset, deployment)} of lot ${lot.number}, and no workflow type takes them back. Fix: call withdraw(${lot.number}) there by hand.`,
            reason: { owedAssets: String(lot.owedAssets), ...tokensOf(lot) },
          },
        ]
  if (lot.status !== 'closed') return unpaid
  const message =
    lot.bestBidder === self
      ? 'We won it; the seller or anybody else settles it, no workflow type does.'
      : 'It is closed, and we do not lead.'
  return [...unpaid, passOver(lot.id, { check: 'auction_closed', message })]
}

/** Whether a bid beats all live ones; null where another is level: who was first, the desk decides. */
function doesWin(bid: RfqBidSeen, live: readonly RfqBidSeen[]): boolean | null {
  const others = live.filter(({ bidder }) => bidder !== bid.bidder)
  if (others.some(({ assets }) => assets > bid.assets)) return false
  return others.some(({ assets }) => assets === bid.assets) ? null : true
}

const byAssets = (one: RfqBidSeen, other: RfqBidSeen) =>
  one.assets === other.assets ? 0 : one.assets > other.assets ? -1 : 1

/** Take the gas of a step that ends a bid, or say that it is not there. */
function gasStop(commitments: Commitments, signer: Address): Stop | null {
  const { wei } = commitments.settleGas
  if (commitments.nativeWei < wei) {
    const message = `It needs ${native(wei)} for gas; ${native(commitments.nativeWei)} are left. Fix: send native coin to ${signer}.`
    return {
      check: 'out_of_gas',
      message,
      reason: { haveWei: String(commitments.nativeWei), needWei: String(wei) },
    }
  }
  commitments.nativeWei -= wei
  return null
}
