import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Decision, PassedOver } from '../agent.ts'
import { bidAtAuction } from './auction.ts'
import { commitmentsOf } from './commitments.ts'
import { judgeLot, type Scene } from './lot.ts'
import type { RfqBidderPolicy } from './policy.ts'
import { answerRfq } from './rfq.ts'
import type { AuctionSeen, Observed, RfqSeen } from './seen.ts'
import { claimRefunds, finalizeClosed, reportUnpaid } from './settle.ts'
import { usdMicrosOf } from './value.ts'

/**
 * Decide what to bid for, what to change and take back, and what to finalize and claim; say of everything else why not.
 * Pure. Where limits leave too little for all lots, those that are worth most above their reserve come first. What is
 * ours follows from the bids that the service shows, so that nothing is forgotten by a restart.
 */
export function decide(seen: Observed, policy: RfqBidderPolicy): Decision {
  const self = seen.signer.toLowerCase() as Observed['signer']
  const scene: Scene = { seen, policy, self, commitments: commitmentsOf(seen, self, policy) }
  const answers = [
    ...(seen.freshness.ok ? seen.rfqs.flatMap((rfq) => settle(rfq, scene)) : []),
    ...seen.auctions.flatMap((lot) => reportUnpaid(lot, self, seen.deployment)),
    ...openOffers(scene).map((offer) =>
      'terms' in offer ? answerRfq(offer, scene) : bidAtAuction(offer, scene),
    ),
  ]
  const proposals = answers.filter((answer): answer is Proposal => 'workflowType' in answer)
  const passedOver = answers.filter((answer): answer is PassedOver => 'check' in answer)
  const againAtMs = nextTimeMs(seen, policy)
  return { proposals, passedOver, ...(againAtMs === null ? {} : { lookAgainAtMs: againAtMs }) }
}

function settle(rfq: RfqSeen, scene: Scene): readonly (Proposal | PassedOver)[] {
  const refunds = claimRefunds(rfq, scene)
  return rfq.status === 'closed' ? [...refunds, finalizeClosed(rfq, scene)] : refunds
}

/** What takes bids, what promises most first; then by name, so that ties never move. */
function openOffers(scene: Scene): readonly (RfqSeen | AuctionSeen)[] {
  const { rfqs, auctions } = scene.seen
  return [...rfqs, ...auctions]
    .filter(({ status }) => status === 'open')
    .map((offer) => ({ offer, promise: promiseOf(offer, scene) }))
    .toSorted((one, other) =>
      one.promise !== other.promise
        ? one.promise > other.promise
          ? -1
          : 1
        : one.offer.id < other.offer.id
          ? -1
          : 1,
    )
    .map(({ offer }) => offer)
}

/** What an offer is worth above its reserve, millionths of a US dollar; 0 for one that is not bid for. */
function promiseOf(offer: RfqSeen | AuctionSeen, scene: Scene): bigint {
  const valued = judgeLot(offer, [], scene)
  if ('check' in valued || valued.worth.valueAssets <= offer.reserveAssets) return 0n
  return usdMicrosOf(valued.worth.valueAssets - offer.reserveAssets, valued.priced.quote)
}

/** The next time at which an offer changes by itself: its last call or its
 * window begins, it closes, the winner's time ends. */
function nextTimeMs({ rfqs, auctions, chain, nowMs }: Observed, policy: RfqBidderPolicy): number | null {
  const timesS = [
    ...rfqs.flatMap(({ closesAtS }) => [
      closesAtS - policy.rfq.lastCallS,
      closesAtS,
      closesAtS + policy.rfq.finalizeLostAfterS,
    ]),
    ...auctions.map(({ closesAtS }) => closesAtS - policy.auction.windowS),
  ].filter((timeS) => timeS > chain.timestampS)
  return timesS.length === 0 ? null : nowMs + (Math.min(...timesS) - chain.timestampS) * 1_000
}
