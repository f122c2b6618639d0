import { describe, expect, it } from 'vitest'
import type { Judge } from './judgement.ts'
import { judges } from './judges.ts'
import { foundOut, mutants } from './mutants.ts'
import { remember } from './remember.ts'
import { judgeScenario } from './tally.ts'
import { tableOf } from './worlds-table.ts'

/** A few seeds of each; `npm run judgement` plays a hundred. */
const SEEDS = [1, 2, 3]

/** Who is judged, each world played once. */
const played = judges.map((judge) => ({ ...judge, play: remember(judge.play) }))

describe.each(played.map((judge) => [judge.role, judge] as const))('the %s', (_role, judge) => {
  it.each(judge.scenarios)('holds every bound in %s', (scenario) => {
    const seeds = Array.from({ length: judge.seedsMin ?? SEEDS.length }, (_, index) => index + 1)
    const failures = judgeScenario(judge, scenario, seeds).flatMap(({ figure, failures: each }) =>
      each.map((failure) => `${figure}: ${failure}`),
    )
    expect(failures).toEqual([])
  })
})

it.each(mutants.map((mutant) => [mutant.judge.role, mutant.name, mutant] as const))(
  'the %s is found out with: %s',
  (_role, _name, mutant) => {
    expect(foundOut(mutant)).not.toEqual([])
    // In the same worlds the role itself is not.
    const own = played.filter(
      ({ role, scenarios }) => role === mutant.judge.role && scenarios.includes(mutant.scenario),
    )
    expect(own.map((judge) => foundOut({ ...mutant, judge }))).toEqual([[]])
  },
)

describe('the frame', () => {
  const judge = (ours: number, bounds: Judge['bounds']): Judge => ({
    role: 'r',
    baseline: 'b',
    scenarios: ['calm'],
    bounds,
    play: (_scenario, seed) => ({ gain: { ours: ours * seed, baseline: 3 } }),
  })
  it('gives median and worst, and says which bounds do not hold', () => {
    const bounds = { gain: { min: 2, aboveBaseline: true } } as const
    expect(judgeScenario(judge(1, bounds), 'calm', SEEDS)).toEqual([
      {
        role: 'r',
        scenario: 'calm',
        figure: 'gain',
        beside: 'b',
        bound: bounds.gain,
        ours: { median: 2, worst: 1 },
        baseline: { median: 3, worst: 3 },
        paired: { better: 0, worse: 2, medianLead: -1 },
        failures: ['1 of 3 below 2', 'the sum is not above the baseline', 'the median is below the baseline'],
      },
    ])
    expect(judgeScenario(judge(2, bounds), 'calm', SEEDS)[0]?.failures).toEqual([])
  })
  it('takes the most for the worst of what has only an upper bound, and misses no figure', () => {
    const [finding] = judgeScenario(judge(1, { gain: { max: 2 } }), 'calm', SEEDS)
    expect(finding).toMatchObject({ ours: { worst: 3 }, failures: ['1 of 3 above 2'] })
    const [ofMedian] = judgeScenario(judge(1, { gain: { medianMax: 2 } }), 'calm', SEEDS)
    expect(ofMedian).toMatchObject({ ours: { worst: 3 }, failures: [] })
    expect(() => judgeScenario(judge(1, { other: { max: 2 } }), 'calm', SEEDS)).toThrow(
      'gives no figure other',
    )
  })
  it('holds a sum to so many times the baseline’s as the seeds, redrawn, leave possible', () => {
    const failing = (times: number) =>
      judgeScenario(
        {
          ...judge(0, { gain: { sumWithin: [0.75, 1.25] } }),
          play: (_scenario, seed) => ({ gain: { ours: times * (seed + 20), baseline: seed + 20 } }),
        },
        'calm',
        SEEDS,
      )[0]?.failures
    // Where every seed says the same, so does each draw.
    expect([0.75, 1, 1.25].map(failing)).toEqual([[], [], []])
    expect([failing(0.74), failing(1.26)]).toEqual([
      ["the sum is 0.74 to 0.74 of the baseline's, not 0.75 to 1.25"],
      ["the sum is 1.26 to 1.26 of the baseline's, not 0.75 to 1.25"],
    ])
    const one = (ours: number, baseline: number) => ({
      ...judge(0, { gain: { sumWithin: [0.75, 1.25] } }),
      play: (_scenario: string, seed: number) => ({
        gain: { ours: seed === 1 ? ours : 1, baseline: seed === 1 ? baseline : 1 },
      }),
    })
    // A seed that makes most of the sum may be there not at all, or three times; without a baseline nothing is so many times it.
    expect(judgeScenario(one(30, 10), 'calm', SEEDS)[0]?.failures).toEqual([])
    expect(judgeScenario(one(-1, -10), 'calm', [1])[0]?.failures).toEqual([
      "the sum is Infinity to Infinity of the baseline's, not 0.75 to 1.25",
    ])
  })
  it('puts a world in a line for each baseline, and does not hold where ours is below one', () => {
    const bounds = { gain: { notBelowBaseline: true, beside: 'greedy' } } as const
    const tableAt = (ours: number) => tableOf(judgeScenario(judge(ours, bounds), 'calm', SEEDS))
    expect(tableAt(2).lines[1]).toMatch(/^r calm .* gain 4 +greedy: 3 +above +2 better, 1 worse +holds$/)
    expect(tableAt(2).ok).toBe(true)
    expect(tableAt(1).lines[1]).toMatch(/gain 2 +greedy: 3 +BELOW +0 better, 2 worse +FAILS$/)
    // Above in most, not only nowhere below.
    expect(tableAt(1.5)).toMatchObject({
      ok: false,
      lines: expect.arrayContaining([expect.stringContaining('equal')]),
    })
  })
})
