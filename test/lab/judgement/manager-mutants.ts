import { decide } from '../../../agents/asset-manager/decide.ts'
import type { Bidding } from '../../../agents/asset-manager/policy.ts'
import type { Mutant } from './judgement.ts'
import {
  type ManagerDecide,
  managerAdverseJudge,
  managerFairJudge,
  managerLearningJudge,
  managerOracleJudge,
} from './manager-worlds.ts'

type Seen = Parameters<ManagerDecide>[0]

/** Sees something that is not so. */
const seeing =
  (change: (seen: Seen) => Partial<Seen>): ManagerDecide =>
  (seen, policy) =>
    decide({ ...seen, ...change(seen) }, policy)

/** Forgets something that its policy says. */
const forgetting =
  (change: (bidding: Bidding) => Partial<Bidding>): ManagerDecide =>
  (seen, policy) =>
    decide(seen, { ...policy, bidding: { ...policy.bidding, ...change(policy.bidding) } })

const doubled: ManagerDecide = (seen, policy) => {
  const decided = decide(seen, policy)
  const twice = decided.proposals.map((one) => ({ ...one, gainUsdMicros: 2n * (one.gainUsdMicros ?? 0n) }))
  return { ...decided, proposals: twice }
}
/** What a bid pays is taken for what it brings. */
const paidForGained: ManagerDecide = (seen, policy) => {
  const decided = decide(seen, policy)
  const proposals = decided.proposals.map((one) => ({
    ...one,
    gainUsdMicros: (one.gainUsdMicros ?? 0n) + one.exposure.usdMicros,
  }))
  return { ...decided, proposals }
}
const costOfMoneyForgotten = forgetting(() => ({ capitalCostBpsPerYear: 0 }))
/** What brought less than was said is taken to have brought more. */
const learnedUpsideDown = seeing(({ experience }) => ({
  experience: experience.map((one) => ({
    ...one,
    errors: -one.errors,
    gains: -one.gains,
    netUsd: -one.netUsd,
  })),
}))
const unlearned = seeing(() => ({ experience: [] }))
const secondPriceIgnored = seeing(({ markets }) => ({
  markets: markets.map((market) => ({ ...market, reference: market.oracle })),
}))
const feesForgotten = forgetting(() => ({ purchaseFeeBps: 0, saleFeeBps: 0 }))
const haircutsForgotten = forgetting(({ lanes }) => ({
  lanes: Object.fromEntries(
    Object.entries(lanes).map(([name, lane]) => [name, { ...lane, haircutBps: 0, recoveryBps: 10_000 }]),
  ),
}))
const earlyBird = forgetting(() => ({ lastCallS: 3_600 }))

/** Deadly mistakes of the asset manager. */
export const managerMutants: readonly Mutant[] = [
  {
    name: 'gain doubled',
    judge: managerFairJudge(doubled),
    scenario: 'equals',
    figure: 'saidAboveCamePercent',
    seed: 1,
  },
  {
    name: 'fees forgotten',
    judge: managerFairJudge(feesForgotten),
    scenario: 'equals',
    figure: 'saidAboveCamePercent',
    seed: 1,
  },
  {
    name: 'haircuts forgotten',
    judge: managerFairJudge(haircutsForgotten),
    scenario: 'equals',
    figure: 'saidAboveCamePercent',
    seed: 1,
  },
  {
    name: 'leading from the opening',
    judge: managerFairJudge(earlyBird),
    scenario: 'equals',
    figure: 'cameUsd',
    seed: 1,
  },
  {
    name: 'experience ignored',
    judge: managerLearningJudge(unlearned),
    scenario: 'lanes-bring-less',
    figure: 'saidAboveCameLaterPercent',
    seed: 1,
  },
  {
    name: 'experience ignored',
    judge: managerAdverseJudge(unlearned),
    scenario: 'lemons',
    figure: 'cameOfPaidPercent',
    seed: 1,
  },
  {
    name: 'second price ignored',
    judge: managerOracleJudge(secondPriceIgnored),
    scenario: 'coherent-oracle',
    figure: 'lostUsd',
    seed: 1,
  },
  {
    name: 'what is paid counted as gained',
    judge: managerFairJudge(paidForGained),
    scenario: 'equals',
    figure: 'saidAboveCamePercent',
    seed: 1,
  },
  {
    name: 'cost of money forgotten',
    judge: managerFairJudge(costOfMoneyForgotten),
    scenario: 'equals',
    figure: 'saidAboveCamePercent',
    seed: 1,
  },
  {
    name: 'the sign of what was learned turned',
    judge: managerAdverseJudge(learnedUpsideDown),
    scenario: 'lemons',
    figure: 'cameOfPaidPercent',
    seed: 1,
  },
]
