import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { FOUND } from './found.ts'
import { planOf } from './replay.ts'
import { runSchedule } from './schedule.ts'

/** Schedules of a whole run, from the first seed on. `npm run simulate` runs any others. */
const RUNS = 40

describe('the keeper, simulated', () => {
  it(`holds every invariant in ${RUNS} schedules`, async ({ onTestFinished }) => {
    const child = spawn(process.execPath, [
      ...['--max-semi-space-size=64', 'test/lab/simulation/main.ts', '--runs', String(RUNS)],
    ])
    onTestFinished(() => void child.kill())
    const ended = once(child, 'exit')
    const said = await Promise.all([text(child.stdout), text(child.stderr)])
    expect({ said: said.join(''), ended: await ended }).toEqual({
      said: expect.stringContaining(`${RUNS} schedules from seed 1: 0 broke an invariant.`),
      ended: [0, null],
    })
  })

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
