import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { FOUND } from './found.ts'
import { planOf } from './replay.ts'
import { runSchedule } from './schedule.ts'

/** Schedules of one process; two of them side by side, as there are cores: 500. `npm run simulate` runs any others. */
const RUNS = 250
const FIRST_SEEDS = [1, 1 + RUNS]

describe('the keeper, simulated', () => {
  it.concurrent.for(FIRST_SEEDS)(
    `holds every invariant in ${RUNS} schedules from seed %i on`,
    { timeout: 600_000 },
    async (first, { onTestFinished }) => {
      const command = ['test/simulation/main.ts', '--runs', String(RUNS), '--seed', String(first)]
      const child = spawn(process.execPath, ['--max-semi-space-size=64', ...command])
      onTestFinished(() => void child.kill())
      const ended = once(child, 'exit')
      const said = await Promise.all([text(child.stdout), text(child.stderr)])
      expect({ said: said.join(''), ended: await ended }).toEqual({
        said: expect.stringContaining(`${RUNS} schedules from seed ${first}: 0 broke an invariant.`),
        ended: [0, null],
      })
    },
  )

  it.each(Object.entries(FOUND))('holds every invariant where once %s', async (_, plan) => {
    expect((await runSchedule(plan)).violations).toEqual([])
  })

  it('does the same again from the same seed', async () => {
    const traces = [[], []] as string[][]
    for (const trace of traces) await runSchedule(planOf(7), (line) => trace.push(line))
    expect(traces[0]).toEqual(traces[1])
    expect(traces[0]?.length).toBeGreaterThan(10)
  })
})
