import { describe, expect, it } from 'vitest'
import { planOf, runSeeds } from './replay.ts'
import { runSchedule } from './schedule.ts'

/** Schedules of one test, and how many tests: 2,000 schedules; `npm run simulate` runs any others. */
const RUNS = 250
const TESTS = 8

describe('the keeper, simulated', () => {
  it.each(Array.from({ length: TESTS }, (_, index) => 1 + index * RUNS))(
    `holds every invariant in ${RUNS} schedules from seed %i on`,
    async (first) => {
      expect(await runSeeds(first, RUNS)).toEqual([])
    },
    600_000,
  )

  it('does the same again from the same seed', async () => {
    const traces = [[], []] as string[][]
    for (const trace of traces) await runSchedule(planOf(7), (line) => trace.push(line))
    expect(traces[0]).toEqual(traces[1])
    expect(traces[0]?.length).toBeGreaterThan(10)
  })
})
