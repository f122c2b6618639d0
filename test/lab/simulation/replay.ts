import fc from 'fast-check'
import { crowdedPlan, honestPlan, liarPlan, type Plan, troubledPlan } from './plan.ts'
import { type Outcome, runSchedule } from './schedule.ts'

/** Every fourth seed has a node that lies. */
const LIAR_EVERY = 4

/** Every eighth has what a person has to look at, next to one that has a node that lies. */
const TROUBLE_EVERY = 8
/** Every sixteenth has many opportunities at once: it takes three times as long. */
const CROWD_EVERY = 16

function arbitraryOf(seed: number): fc.Arbitrary<Plan> {
  if (seed % CROWD_EVERY === 1) return crowdedPlan
  if (seed % TROUBLE_EVERY === 1) return troubledPlan
  return seed % LIAR_EVERY === 0 ? liarPlan : honestPlan
}

/** The schedule that a seed stands for, the same on every machine. Pure. */
export function planOf(seed: number): Plan {
  const [plan] = fc.sample(arbitraryOf(seed), { seed, numRuns: 1 })
  if (plan === undefined) throw new Error(`no schedule of seed ${seed}`)
  return plan
}

/** A seed whose schedule broke an invariant. */
export type Failure = { readonly seed: number; readonly violations: readonly string[] }

/** Run the schedules of consecutive seeds one after another; those that broke an invariant come back. */
export async function runSeeds(
  first: number,
  runs: number,
  onDone: (seed: number, outcome: Outcome) => void = () => undefined,
): Promise<readonly Failure[]> {
  const failures: Failure[] = []
  for (let seed = first; seed < first + runs; seed += 1) {
    const outcome = await runSchedule(planOf(seed))
    onDone(seed, outcome)
    if (outcome.violations.length > 0) failures.push({ seed, violations: outcome.violations })
  }
  return failures
}

/** Find the smallest schedule, of those that shrinking tries, that still breaks an invariant; null when none does. */
export async function smallest(seed: number, tries: number): Promise<Plan | null> {
  let left = tries
  const holds = fc.asyncProperty(arbitraryOf(seed), async (plan) => {
    left -= 1
    return left < 0 || (await runSchedule(plan)).violations.length === 0
  })
  const { counterexample } = await fc.check(holds, { seed, numRuns: 1 })
  return counterexample?.[0] ?? null
}
