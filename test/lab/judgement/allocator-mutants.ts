import { decide } from '../../../agents/allocator/decide.ts'
import {
  type AllocatorDecide,
  allocatorCrowdJudge,
  allocatorNoticeJudge,
  allocatorSpikesJudge,
  allocatorTogetherJudge,
} from './allocator-vaults.ts'
import type { Mutant } from './judgement.ts'

type Seen = Parameters<AllocatorDecide>[0]

/** Sees something that is not so. */
const seeing =
  (change: (seen: Seen) => Partial<Seen>): AllocatorDecide =>
  (seen, policy) =>
    decide({ ...seen, ...change(seen) }, policy)

const doubled: AllocatorDecide = (seen, policy) => {
  const decided = decide(seen, policy)
  const double = ({ gainUsdMicros = 0n }) => 2n * gainUsdMicros
  return { ...decided, proposals: decided.proposals.map((one) => ({ ...one, gainUsdMicros: double(one) })) }
}
/** A market is taken for so large that what comes to it of ours does not move its rate. */
const holdingsIgnored = seeing(({ markets }) => ({
  markets: markets.map((market) => ({
    ...market,
    debtAssets: 1_000n * (market.debtAssets ?? 0n),
    cashAssets: 1_000n * (market.cashAssets ?? 0n),
  })),
}))
const persistenceForgotten: AllocatorDecide = (seen, policy) =>
  decide(
    { ...seen, borrowing: {} },
    { ...policy, yields: { ...policy.yields, persistenceS: policy.yields.horizonS } },
  )
const togetherForgotten: AllocatorDecide = (seen, policy) => {
  const alone = seen.vaults.map((vault) => decide({ ...seen, vaults: [vault] }, policy))
  return {
    proposals: alone.flatMap(({ proposals }) => proposals),
    passedOver: alone.flatMap(({ passedOver }) => passedOver),
  }
}
const gasForgotten = seeing(({ chain }) => ({
  chain: { ...chain, baseFeePerGasWei: 0n, priorityFeePerGasWei: 0n },
}))
const experienceForgotten = seeing(() => ({ experience: [] }))
const queueForgotten = seeing(({ vaults }) => ({
  vaults: vaults.map((vault) => ({
    ...vault,
    books: vault.books === null ? null : { ...vault.books, queuedAssets: 0n, requests: [] },
  })),
}))

/** Deadly mistakes of the allocator. */
export const allocatorMutants: readonly Mutant[] = [
  {
    name: 'gain doubled',
    judge: allocatorTogetherJudge(doubled),
    scenario: 'shared-markets',
    figure: 'saidUsd',
    seed: 1,
  },
  {
    name: 'own holdings ignored',
    judge: allocatorSpikesJudge(holdingsIgnored),
    scenario: 'spikes-10-gwei',
    figure: 'earnedUsd',
    seed: 2,
  },
  {
    name: 'persistence forgotten',
    judge: allocatorSpikesJudge(persistenceForgotten),
    scenario: 'spikes-30-gwei',
    figure: 'earnedUsd',
    seed: 2,
  },
  {
    name: 'gas forgotten',
    judge: allocatorSpikesJudge(gasForgotten),
    scenario: 'spikes-30-gwei',
    figure: 'saidUsd',
    seed: 3,
  },
  {
    name: 'together forgotten',
    judge: allocatorTogetherJudge(togetherForgotten),
    scenario: 'shared-markets',
    figure: 'missingOfJointOptimumPercent',
    seed: 1,
  },
  {
    name: 'experience forgotten',
    judge: allocatorCrowdJudge(experienceForgotten),
    scenario: 'crowded-markets',
    figure: 'ofStandingStillPercent',
    seed: 2,
  },
  {
    name: 'queue forgotten',
    judge: allocatorNoticeJudge(queueForgotten),
    scenario: 'notice-queues',
    figure: 'lateHours',
    seed: 3,
  },
]
