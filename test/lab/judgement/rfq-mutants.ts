import { decide } from '../../../agents/rfq-bidder/decide.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { USD } from '../../agents/rfq-bidder/fixtures.ts'
import type { Mutant } from './judgement.ts'
import { rfqBidderJudge } from './rfq-bidder.ts'
import { type RfqDecide, rfqAdverseJudge, rfqColdJudge, rfqFairJudge, rfqOracleJudge } from './rfq-worlds.ts'

/** Sees something that is not so. */
const seeing =
  (change: (seen: Parameters<RfqDecide>[0]) => Partial<Parameters<RfqDecide>[0]>): RfqDecide =>
  (seen, policy) =>
    decide({ ...seen, ...change(seen) }, policy)

/** Proposes something else than it decided. */
const proposing =
  (change: (proposal: Proposal) => readonly Proposal[]): RfqDecide =>
  (seen, policy) => {
    const decided = decide(seen, policy)
    return { ...decided, proposals: decided.proposals.flatMap(change) }
  }

const doubled = proposing((proposal) => [{ ...proposal, gainUsdMicros: 2n * (proposal.gainUsdMicros ?? 0n) }])
/** What comes back of a bid is taken for what it brings. */
const refundsGained = proposing((proposal) => [
  { ...proposal, gainUsdMicros: (proposal.gainUsdMicros ?? 0n) + proposal.exposure.usdMicros },
])
/** What brought less than was said is taken to have brought more. */
const learnedUpsideDown = seeing(({ experience }) => ({
  experience: experience.map((one) => ({
    ...one,
    errors: -one.errors,
    gains: -one.gains,
    netUsd: -one.netUsd,
  })),
}))
/** Its own bids are taken for a rival's, and outbid. */
const ownBidsForgotten = seeing(({ rfqs, auctions, signer }) => ({
  rfqs: rfqs.map((rfq) => ({ ...rfq, bids: rfq.bids.filter(({ bidder }) => bidder !== signer) })),
  auctions: auctions.map((one) => ({ ...one, bestBidder: null })),
}))
const unlearned = seeing(() => ({ experience: [] }))
/** Nothing is learned of what others pay. */
const lossesForgotten = seeing(({ experience }) => ({
  experience: experience.map((one) => ({ ...one, decided: one.won })),
}))
const costsForgotten = seeing(({ experience }) => ({
  experience: experience.map((one) => ({ ...one, netUsd: 0, unpaidUsd: 0 })),
}))
const secondPriceIgnored = seeing(({ prices }) => ({
  prices: prices.map((price) => ({ ...price, reference: price.oracle })),
}))
const balanceIgnored = seeing(({ balances }) => ({ balances: { ...balances, [USD]: 10n ** 15n } }))
const refundsForgotten = proposing((proposal) => (proposal.kind === 'refund' ? [] : [proposal]))
/** The whole price is bid: haircut, curse, spread and experience are forgotten. */
const haircutsForgotten: RfqDecide = (seen, policy) => {
  const decided = decide(seen, policy)
  const whole = (proposal: Proposal): Proposal => {
    const mark = proposal.reason.markAssets
    return mark === undefined
      ? proposal
      : { ...proposal, input: { ...proposal.input, bidAssets: String(mark) } }
  }
  return { ...decided, proposals: decided.proposals.map(whole) }
}

/** Deadly mistakes of the RFQ bidder. */
export const rfqMutants: readonly Mutant[] = [
  { name: 'gain doubled', judge: rfqFairJudge(doubled), scenario: 'equals', figure: 'saidAboveCamePercent' },
  {
    name: 'haircuts forgotten',
    judge: rfqFairJudge(haircutsForgotten),
    scenario: 'equals',
    figure: 'cameUsd',
  },
  {
    name: 'our own balance ignored',
    judge: rfqFairJudge(balanceIgnored),
    scenario: 'equals',
    figure: 'overdrawnLots',
    seed: 1,
  },
  {
    name: 'experience ignored',
    judge: rfqAdverseJudge(unlearned),
    scenario: 'lemons',
    figure: 'lastQuarterUsd',
  },
  {
    name: 'experience ignored',
    judge: rfqAdverseJudge(unlearned),
    scenario: 'informed-rivals',
    figure: 'lastQuarterUsd',
  },
  {
    name: 'lots that were lost forgotten',
    judge: rfqColdJudge(lossesForgotten),
    scenario: 'near-reserve',
    figure: 'cameUsd',
  },
  {
    name: 'what was paid for nothing forgotten',
    judge: rfqColdJudge(costsForgotten),
    scenario: 'above-worth',
    figure: 'lostAtMostUsd',
    seed: 12,
  },
  {
    name: 'second price ignored',
    judge: rfqOracleJudge(secondPriceIgnored),
    scenario: 'coherent-oracle',
    figure: 'lostUsd',
  },
  {
    name: 'refunds forgotten',
    judge: rfqBidderJudge(refundsForgotten),
    scenario: 'calm',
    figure: 'profitUsd',
  },
  {
    name: 'refunds counted as gained',
    judge: rfqFairJudge(refundsGained),
    scenario: 'equals',
    figure: 'saidAboveCamePercent',
    seed: 1,
  },
  {
    name: 'the sign of what was learned turned',
    judge: rfqAdverseJudge(learnedUpsideDown),
    scenario: 'lemons',
    figure: 'lastQuarterUsd',
  },
  {
    name: 'our own bids forgotten',
    judge: rfqFairJudge(ownBidsForgotten),
    scenario: 'equals',
    figure: 'cameUsd',
  },
]
