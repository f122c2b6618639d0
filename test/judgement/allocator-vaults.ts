import { decide } from '../../agents/allocator/decide.ts'
import { allocatorPolicy } from '../../agents/allocator/policy.ts'
import { shippedPolicyOf } from '../support/policies.ts'
import { playFree, playKeeper, playStill, playTogether, playWaterFill } from './allocator-vaults-plays.ts'
import type { Draw } from './allocator-vaults-world.ts'
import { createDice } from './dice.ts'
import type { Judge, ScenarioName, Score } from './judgement.ts'
import { remember } from './remember.ts'

/** A `decide` of the role, as it is or with a mistake in it. */
export type AllocatorDecide = typeof decide
const policy = allocatorPolicy.parse(shippedPolicyOf('allocator').strategy)
const FORTNIGHT_H = 336
const usual = { hours: FORTNIGHT_H, weather: true, redemptions: false, deployed: true }

const DRAWS = {
  'spikes-1-gwei': () => ({ ...usual, holders: 1, baseFeeGwei: 1 }),
  'spikes-10-gwei': () => ({ ...usual, holders: 1, baseFeeGwei: 10 }),
  'spikes-30-gwei': () => ({ ...usual, holders: 1, baseFeeGwei: 30 }),
  'shared-markets': (unit: number) => ({
    ...usual,
    hours: 720,
    ...{ weather: false, deployed: false, holders: 2 + Math.floor(9 * unit), baseFeeGwei: 1 },
  }),
  'notice-queues': (unit: number) => ({
    ...usual,
    ...{ redemptions: true, holders: 1 + Math.floor(3 * unit), baseFeeGwei: 10 },
  }),
} as const satisfies Partial<Record<ScenarioName, (unit: number) => Draw>>
type World = keyof typeof DRAWS

const drawOf = (world: World, seed: number): Draw => DRAWS[world](createDice(-seed).unit())

/** The others in a world: the same for every mutant of ours. */
const besides = remember((world: World, seed: number) => {
  const draw = drawOf(world, seed)
  return { still: playStill(seed, draw), filled: playWaterFill(seed, draw), free: playFree(seed, draw) }
})

/** What came of it by the world's ledger, dollars, beside others; what was said counts against it, and for nothing. */
function scoresOf(world: World, seed: number, decideOne: AllocatorDecide): Readonly<Record<string, Score>> {
  const draw = drawOf(world, seed)
  const proposals = (seen: Parameters<AllocatorDecide>[0]) => decideOne(seen, policy).proposals
  if (!draw.weather) {
    const { rounds, missing, said, realised } = playTogether(seed, draw, proposals)
    return {
      roundsToSettle: { ours: rounds, baseline: null },
      missingOfJointOptimumPercent: { ours: 100 * missing, baseline: null },
      saidUsd: { ours: said, baseline: realised },
    }
  }
  const run = playKeeper(seed, draw, proposals)
  const { still, filled, free } = besides(world, seed)
  return {
    earnedUsd: { ours: run.earned, baseline: still.earned },
    earnedBesideWaterFillingUsd: { ours: run.earned, baseline: filled.earned },
    saidUsd: { ours: run.said, baseline: run.realised },
    hourlyRegretUsd: { ours: free.earned - run.earned, baseline: free.earned - filled.earned },
    moves: { ours: run.moves, baseline: filled.moves },
    lateHours: { ours: run.late, baseline: filled.late },
  }
}

const judgeOf = (
  scenarios: readonly World[],
  bounds: Judge['bounds'],
  decideOne: AllocatorDecide,
): Judge => ({
  role: 'allocator',
  baseline: 'standing still; marginal water-filling once a day',
  scenarios,
  bounds,
  play: (scenario, seed) => {
    const world = scenarios.find((one) => one === scenario)
    if (world === undefined) throw new RangeError(`no keeper is played in ${scenario}`)
    return scoresOf(world, seed, decideOne)
  },
})

/** Borrowers come for an hour to a week and leave: a gain counts for as long as it lasts. */
export const allocatorSpikesJudge = (decideOne: AllocatorDecide = decide): Judge =>
  judgeOf(
    ['spikes-1-gwei', 'spikes-10-gwei', 'spikes-30-gwei'],
    {
      earnedUsd: { aboveBaseline: true },
      earnedBesideWaterFillingUsd: { notBelowBaseline: true, beside: 'water-filling daily' },
      // A few long spikes make most of the sum: three seeds may be off by twice.
      saidUsd: { sumWithin: [0.5, 2] },
    },
    decideOne,
  )

/** Vaults over the same markets: settled in three rounds, about as well as one that had all their money. */
export const allocatorTogetherJudge = (decideOne: AllocatorDecide = decide): Judge =>
  judgeOf(
    ['shared-markets'],
    {
      roundsToSettle: { max: 3 },
      missingOfJointOptimumPercent: { medianMax: 1 },
      saidUsd: { sumWithin: [0.75, 1.5] },
    },
    decideOne,
  )

/** Holders leave with notice: paid in time, and what they wait for earns meanwhile. */
export const allocatorNoticeJudge = (decideOne: AllocatorDecide = decide): Judge =>
  judgeOf(
    ['notice-queues'],
    {
      lateHours: { max: 0 },
      earnedBesideWaterFillingUsd: { notBelowBaseline: true, beside: 'water-filling daily' },
    },
    decideOne,
  )
