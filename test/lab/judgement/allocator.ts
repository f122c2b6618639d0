import { optimize } from '../../../agents/allocator/optimize.ts'
import { allocatorPolicy } from '../../../agents/allocator/policy.ts'
import { shippedPolicyOf } from '../../support/policies.ts'
import { throwPool } from './allocator-instances.ts'
import { certify } from './allocator-solver.ts'
import {
  agentMover,
  beginWorld,
  capOf,
  cashOf,
  type Mover,
  neededOf,
  playStep,
  STEP_S,
  STEPS,
  totalOf,
  type World,
} from './allocator-world.ts'
import { createDice } from './dice.ts'
import type { Judge, ScenarioName } from './judgement.ts'

const policy = allocatorPolicy.parse(shippedPolicyOf('allocator').strategy)

const INSTANCES = 2
const BASELINE_EVERY_STEPS = 12
const YEAR_S = 31_536_000

/**
 * The allocator: its optimiser against a certificate by another method, and its decisions over a week against equal
 * weights and equal utilisation, daily, under the same caps, liquidity, buffer and gas.
 */
export const allocatorJudge: Judge = {
  role: 'allocator',
  baseline: 'equal weights daily',
  scenarios: ['calm', 'volatile', 'crash-with-congestion', 'rate-spike', 'redemption-run', 'indexer-stall'],
  bounds: {
    optimumGapBps: { max: 10 },
    netReturnBpsAYear: { aboveBaseline: true },
    netReturnBesideUtilizationBpsAYear: { aboveBaseline: true, beside: 'equal utilisation daily' },
    lateRedemptionSteps: {},
  },
  play: (scenario, seed) => {
    const ours = playWeek(agentMover(policy), scenario, seed)
    const weights = playWeek(daily(equalWeights), scenario, seed)
    const utilization = playWeek(daily(equalUtilization), scenario, seed)
    return {
      optimumGapBps: { ours: worstGapBps(scenario, seed), baseline: null },
      netReturnBpsAYear: { ours: ours.returnBps, baseline: weights.returnBps },
      netReturnBesideUtilizationBpsAYear: { ours: ours.returnBps, baseline: utilization.returnBps },
      lateRedemptionSteps: { ours: ours.late, baseline: weights.late },
    }
  },
}

function playWeek(mover: Mover, scenario: ScenarioName, seed: number) {
  const dice = createDice(seed)
  const world = beginWorld(dice)
  const began = totalOf(world)
  while (world.step < STEPS) playStep(world, mover, scenario, dice)
  const returnBps = ((totalOf(world) / began - 1) * 10_000 * YEAR_S) / (STEPS * STEP_S)
  return { returnBps, late: world.late }
}

/** How far an optimum lies below what is certified at most, the worst of some instances. */
function worstGapBps(scenario: ScenarioName, seed: number): number {
  const dice = createDice(seed * 1_000 + allocatorJudge.scenarios.indexOf(scenario))
  const gaps = Array.from({ length: INSTANCES }, () => {
    const pool = throwPool(dice)
    const optimum = optimize(pool)
    if (optimum === null) return Number.POSITIVE_INFINITY
    const missed = certify(pool, optimum.value) - optimum.value
    return missed <= 0 ? 0 : (missed / Math.abs(optimum.value)) * 10_000
  })
  return Math.max(...gaps)
}

type Rule = (world: World, budget: number) => readonly number[]

/**
 * Once a day by a rule, and at once when the queue needs more than is idle; within cash, caps and the buffer. It sees no more
 * than we do while the indexer stands still.
 */
const daily = (rule: Rule): Mover => {
  let dueStep = 0
  return (world) => {
    const short = world.queued > world.idle
    if (world.stalled || (!short && world.step < dueStep)) return null
    dueStep = (Math.floor(world.step / BASELINE_EVERY_STEPS) + 1) * BASELINE_EVERY_STEPS
    const held = world.places.reduce((sum, place) => sum + place.held, 0)
    const budget = Math.max(0, held + world.idle - neededOf(world))
    const wanted = rule(world, budget)
    const amounts = world.places.map((place, index) =>
      Math.max(place.held - cashOf(place), Math.min(capOf(world), wanted[index] ?? 0)),
    )
    // What is stuck takes from what would be supplied.
    let excess = amounts.reduce((sum, amount) => sum + amount, 0) - budget
    return amounts.map((amount, index) => {
      const place = world.places[index]
      const stuck = place === undefined ? 0 : place.held - cashOf(place)
      const given = Math.max(0, Math.min(excess, amount - stuck))
      excess -= given
      return amount - given
    })
  }
}

const equalWeights: Rule = ({ places }, budget) => places.map(() => budget / places.length)

/** The utilisation that all markets can be brought to with the budget: more of ours where more is borrowed. */
const equalUtilization: Rule = ({ places }, budget) => {
  const amountsAt = (used: number) => places.map(({ debt, others }) => Math.max(0, debt / used - others))
  let [low, high] = [0.01, 1]
  for (let round = 0; round < 50; round++) {
    const middle = (low + high) / 2
    const total = amountsAt(middle).reduce((sum, amount) => sum + amount, 0)
    if (total > budget) low = middle
    else high = middle
  }
  return amountsAt(high)
}
