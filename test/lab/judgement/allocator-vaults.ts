import { decide } from '../../../agents/allocator/decide.ts'
import { allocatorPolicy } from '../../../agents/allocator/policy.ts'
import { shippedPolicyOf } from '../../support/policies.ts'
import type { Decide } from './allocator-vaults-agent.ts'
import {
  fillDaily,
  fillFree,
  playWay,
  standStill,
  useEqually,
  type Way,
  weighEqually,
} from './allocator-vaults-besides.ts'
import { missingOnAverage, missingOnWay, playKeeper, playTogether } from './allocator-vaults-plays.ts'
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
    weather: false,
    deployed: false,
    holders: 2 + Math.floor(9 * unit),
    baseFeeGwei: 1,
  }),
  'crowded-markets': () => ({ ...usual, hours: 720, holders: 1, baseFeeGwei: 10, crowd: true }),
  'notice-queues': (unit: number) => ({
    ...usual,
    redemptions: true,
    holders: 1 + Math.floor(3 * unit),
    baseFeeGwei: 10,
  }),
} as const satisfies Partial<Record<ScenarioName, (unit: number) => Draw>>
type World = keyof typeof DRAWS

/** What others would do, by the figure that ours is beside theirs in; and in words. */
const WAYS = {
  earnedUsd: [standStill, 'standing still, leavers paid'],
  earnedBesideWaterFillingUsd: [fillDaily, 'water-filling daily'],
  earnedBesideEqualWeightsUsd: [weighEqually, 'equal weights daily'],
  earnedBesideEqualUtilisationUsd: [useEqually, 'equal utilisation daily'],
} as const satisfies Readonly<Record<string, readonly [Way, string]>>

const { earnedUsd: _, ...CROWDED } = WAYS

const figuresOf = <Figure extends string>(beside: Readonly<Record<Figure, unknown>>) =>
  Object.keys(beside) as Figure[]

const besideBounds = (beside: typeof WAYS | typeof CROWDED | typeof TOGETHER) =>
  Object.fromEntries(
    Object.entries(beside).map(([figure, [, words]]) => [
      figure,
      { notBelowBaseline: true, beside: words } as const,
    ]),
  )

const playedOn = remember((seed: number, draw: Draw, figure: keyof typeof WAYS) =>
  playWay(seed, draw, WAYS[figure][0]),
)
const playedFree = remember((seed: number, draw: Draw) => playWay(seed, draw, fillFree))

/** What came of it by the world's ledger, dollars, beside others; what was expected counts against it, and for nothing. */
function weatherScores(seed: number, draw: Draw, decideOne: Decide): Readonly<Record<string, Score>> {
  const run = playKeeper(seed, draw, decideOne)
  const filled = playedOn(seed, draw, 'earnedBesideWaterFillingUsd')
  const free = playedFree(seed, draw).earned
  const beside = figuresOf(WAYS).map((figure) => [
    figure,
    { ours: run.earned, baseline: playedOn(seed, draw, figure).earned },
  ])
  return {
    ...Object.fromEntries(beside),
    saidUsd: { ours: run.said, baseline: run.realised },
    hourlyRegretUsd: { ours: free - run.earned, baseline: free - filled.earned },
    moves: { ours: run.moves, baseline: filled.moves },
    lateHours: { ours: run.late, baseline: filled.late },
  }
}

/**
 * Beside others whose lenders stay where they are, nothing is to be had where lenders come wherever it pays: what it cost to
 * learn that, and what is still said too much in the second half, in parts of what standing still earns.
 */
function crowdScores(seed: number, draw: Draw, decideOne: Decide): Readonly<Record<string, Score>> {
  const run = playKeeper(seed, draw, decideOne)
  const stood = playedOn(seed, draw, 'earnedUsd').earned
  return {
    ofStandingStillPercent: { ours: (100 * run.earned) / stood, baseline: null },
    saidTooMuchLaterPercent: { ours: (100 * (run.later.said - run.later.realised)) / stood, baseline: null },
    ...Object.fromEntries(
      figuresOf(CROWDED).map((figure) => [
        figure,
        { ours: run.earned, baseline: playedOn(seed, draw, figure).earned },
      ]),
    ),
    moves: { ours: run.moves, baseline: null },
  }
}

/** Of what all vaults could earn together, each beside others that go their way by themselves. */
const TOGETHER = {
  ofOptimumBesideWaterFillingPercent: [fillDaily, 'water-filling daily'],
  ofOptimumBesideEqualWeightsPercent: [weighEqually, 'equal weights daily'],
  ofOptimumBesideEqualUtilisationPercent: [useEqually, 'equal utilisation daily'],
} as const satisfies Readonly<Record<string, readonly [Way, string]>>

const missingOn = remember((seed: number, draw: Draw, figure: keyof typeof TOGETHER) =>
  missingOnWay(seed, draw, TOGETHER[figure][0]),
)
const missingOfAverage = remember(missingOnAverage)

function togetherScores(seed: number, draw: Draw, decideOne: Decide): Readonly<Record<string, Score>> {
  const { rounds, missing, said, realised } = playTogether(seed, draw, decideOne)
  const beside = figuresOf(TOGETHER).map((figure) => [
    figure,
    { ours: 100 * (1 - missing), baseline: 100 * (1 - missingOn(seed, draw, figure)) },
  ])
  return {
    roundsToSettle: { ours: rounds, baseline: null },
    missingOfJointOptimumPercent: { ours: 100 * missing, baseline: 100 * missingOfAverage(seed, draw) },
    ...Object.fromEntries(beside),
    saidUsd: { ours: said, baseline: realised },
  }
}

const judgeOf = (
  scenarios: readonly World[],
  bounds: Judge['bounds'],
  decideOne: AllocatorDecide,
): Judge => ({
  role: 'allocator',
  baseline: 'standing still, leavers paid; water-filling, equal weights, equal utilisation, each daily',
  scenarios,
  bounds,
  play: (scenario, seed) => {
    const world = scenarios.find((one) => one === scenario)
    if (world === undefined) throw new RangeError(`no keeper is played in ${scenario}`)
    const draw = DRAWS[world](createDice(-seed).unit())
    const proposals = (seen: Parameters<AllocatorDecide>[0]) => decideOne(seen, policy).proposals
    if (world === 'crowded-markets') return crowdScores(seed, draw, proposals)
    return draw.weather ? weatherScores(seed, draw, proposals) : togetherScores(seed, draw, proposals)
  },
})

/** Borrowers come for an hour to a week and leave: a gain counts for as long as it lasts. */
export const allocatorSpikesJudge = (decideOne: AllocatorDecide = decide): Judge =>
  judgeOf(
    ['spikes-1-gwei', 'spikes-10-gwei', 'spikes-30-gwei'],
    {
      ...besideBounds(WAYS),
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
      ...besideBounds(TOGETHER),
      saidUsd: { sumWithin: [0.75, 1.25] },
    },
    decideOne,
  )

/** Other lenders follow the rates as well: what a move is said to earn is gone within hours, and that is to be learned. */
export const allocatorCrowdJudge = (decideOne: AllocatorDecide = decide): Judge =>
  judgeOf(
    ['crowded-markets'],
    {
      ofStandingStillPercent: { medianMin: 99, min: 90 },
      saidTooMuchLaterPercent: { medianMax: 0.5 },
      ...besideBounds(CROWDED),
    },
    decideOne,
  )

/** Holders leave with notice: paid in time, and what they wait for earns meanwhile. */
export const allocatorNoticeJudge = (decideOne: AllocatorDecide = decide): Judge =>
  judgeOf(
    ['notice-queues'],
    {
      lateHours: { max: 0 },
      ...besideBounds(WAYS),
    },
    decideOne,
  )
