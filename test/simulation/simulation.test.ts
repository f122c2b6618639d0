import { describe, expect, it } from 'vitest'
import { planOf, runSeeds } from './replay.ts'
import { runSchedule } from './schedule.ts'

/** As many schedules, twice; `npm run simulate` runs any others. */
const RUNS = 250

describe('the keeper, simulated', () => {
  it.each([1, 1 + RUNS])(
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
