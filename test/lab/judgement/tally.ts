import { createDice } from './dice.ts'
import type { Bound, Judge, ScenarioName, Score } from './judgement.ts'

type Spread = { readonly median: number; readonly worst: number }

/** One figure of one role in one scenario, over all seeds. `failures` says each bound that does not hold. */
export type Finding = {
  readonly role: string
  readonly scenario: ScenarioName
  readonly figure: string
  readonly ours: Spread
  readonly baseline: Spread | null
  /** Seeds in which ours is better and worse than the baseline, and the median of its lead in each. */
  readonly paired: Paired | null
  /** The baseline in words. */
  readonly beside: string
  readonly bound: Bound
  readonly failures: readonly string[]
}

type Paired = { readonly better: number; readonly worse: number; readonly medianLead: number }

/** Play one scenario of a role over seeds, and hold every figure against its bound. Pure. */
export function judgeScenario(
  judge: Judge,
  scenario: ScenarioName,
  seeds: readonly number[],
): readonly Finding[] {
  const plays = seeds.map((seed) => judge.play(scenario, seed))
  const names = new Set(plays.flatMap((play) => Object.keys(play)))
  const unplayed = Object.keys(judge.bounds).filter((figure) => !names.has(figure))
  if (unplayed.length > 0) throw new RangeError(`${judge.role} gives no figure ${unplayed.join(', ')}`)
  return [...names].map((figure) => {
    const scores = plays.flatMap((play) => play[figure] ?? [])
    const bound = judge.bounds[figure] ?? {}
    const baselines = scores.flatMap(({ baseline }) => (baseline === null ? [] : [baseline]))
    return {
      role: judge.role,
      scenario,
      figure,
      bound,
      beside: bound.beside ?? judge.baseline,
      ours: spread(
        scores.map(({ ours }) => ours),
        bound,
      ),
      baseline: baselines.length === 0 ? null : spread(baselines, bound),
      paired: pairedOf(scores),
      failures: failuresOf(scores, bound),
    }
  })
}

/** The worst is the end that the bound is about: the least, or for a figure that has only an upper bound the most. */
function spread(values: readonly number[], { min, max, medianMin, medianMax }: Bound): Spread {
  const sorted = values.toSorted((one, other) => one - other)
  const isAtMost = (min ?? medianMin) === undefined && (max ?? medianMax) !== undefined
  const worst = isAtMost ? sorted.at(-1) : sorted[0]
  return { median: middle(sorted), worst: worst ?? Number.NaN }
}

function middle(sorted: readonly number[]): number {
  const half = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(half) - 1] ?? Number.NaN, sorted[Math.floor(half)] ?? Number.NaN]
  return (low + high) / 2
}

function failuresOf(
  scores: readonly Score[],
  { min, max, medianMin, medianMax, aboveBaseline, notBelowBaseline, sumWithin }: Bound,
): readonly string[] {
  const ours = scores.map((score) => score.ours)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const baseline = scores.map((score) => score.baseline ?? Number.NaN)
  const ascending = (values: readonly number[]) => values.toSorted((one, other) => one - other)
  const below = min === undefined ? [] : ours.filter((value) => !(value >= min))
  const above = max === undefined ? [] : ours.filter((value) => !(value <= max))
  const median = middle(ascending(ours))
  return [
    ...(medianMin === undefined || median >= medianMin ? [] : [`the median is below ${medianMin}`]),
    ...(medianMax === undefined || median <= medianMax ? [] : [`the median is above ${medianMax}`]),
    ...(below.length > 0 ? [`${below.length} of ${ours.length} below ${min}`] : []),
    ...(above.length > 0 ? [`${above.length} of ${ours.length} above ${max}`] : []),
    ...(aboveBaseline === true && !(sum(ours) > sum(baseline)) ? ['the sum is not above the baseline'] : []),
    ...((aboveBaseline ?? notBelowBaseline) === true && !((pairedOf(scores)?.medianLead ?? -1) >= 0)
      ? ['the median is below the baseline']
      : []),
    ...(sumWithin === undefined ? [] : sumFailures(scores, sumWithin)),
  ]
}

const REDRAWS = 400

/** A few seeds make most of a sum: redrawn with what they are, nine in ten sums of ours are so many times the baseline's. */
function sumFailures(
  scores: readonly Score[],
  [low, high]: readonly [low: number, high: number],
): readonly string[] {
  const dice = createDice(scores.length)
  const times = Array.from({ length: REDRAWS }, () => {
    const drawn = scores.map(() => dice.pick(scores as [Score, ...Score[]]))
    const [ours, baseline] = [
      drawn.reduce((sum, one) => sum + one.ours, 0),
      drawn.reduce((sum, one) => sum + (one.baseline ?? Number.NaN), 0),
    ]
    return baseline > 0 ? ours / baseline : Number.POSITIVE_INFINITY
  }).sort((one, other) => one - other)
  const [least = Number.NaN, most = Number.NaN] = [times[REDRAWS * 0.05], times[REDRAWS * 0.95]]
  if (least <= high && most >= low) return []
  return [`the sum is ${least.toFixed(2)} to ${most.toFixed(2)} of the baseline's, not ${low} to ${high}`]
}

/** Ours beside the baseline in the same world, seed by seed: what luck both had is not counted. */
function pairedOf(scores: readonly Score[]): Paired | null {
  const leads = scores.flatMap(({ ours, baseline }) => {
    if (baseline === null) return []
    // What adding up in another order may do is no lead.
    return [Math.abs(ours - baseline) <= 1e-9 * Math.abs(baseline) ? 0 : ours - baseline]
  })
  if (leads.length === 0) return null
  const count = (is: (lead: number) => boolean) => leads.filter(is).length
  const medianLead = middle(leads.toSorted((one, other) => one - other))
  return { better: count((lead) => lead > 0), worse: count((lead) => lead < 0), medianLead }
}
