import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RolekeeperError } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { type PipelineDeps, run, type Stage, type Stages, step } from '../../src/pipeline/pipeline.ts'
import { moved, wait } from '../../src/workflow/step.ts'
import { move, TERMINAL_STATES, type Workflow, type WorkflowState } from '../../src/workflow/workflow.ts'
import { newDirectory } from '../support/directory.ts'
import { frozenJournal } from '../support/frozen-journal.ts'
import { MARKET, slotOf, TOKEN, workflowOf } from '../support/workflows.ts'

let journal: Journal
beforeEach(() => {
  journal = frozenJournal(openSqliteJournal(newDirectory()))
})
afterEach(() => journal.close())

const unused = async (workflow: Workflow): Promise<never> => {
  throw new TypeError(`no stage for ${workflow.state}`)
}
const NONE: Stages = {
  request: unused,
  prepare: unused,
  attest: unused,
  clear: unused,
  claim: unused,
  carry: unused,
  confirm: unused,
  resend: unused,
}
/** What a Redis that cannot be reached, or is no longer what it was, comes to. */
const recordFault = (code: string, retry: 'never' | 'later' = 'later') =>
  new RolekeeperError(code, 'The record is away.', { retry })

const to =
  (state: WorkflowState): Stage =>
  async (workflow) =>
    moved(move(workflow, state, 2_000))

const createWorld = (stages: Partial<Stages>) => {
  const world = {
    moves: [] as string[],
    quarantined: [] as string[],
    notes: [] as string[],
    onMove: () => {},
    strikes: 0,
    held: 0,
    turns: 0,
    nowMs: 2_000,
    /** What was announced last, and what of it was sent again. */
    live: new Map<string, Workflow>(),
    resent: [] as string[],
  }
  const deps: PipelineDeps = {
    nowMs: () => world.nowMs,
    journal,
    remembered: (id) => world.live.get(id),
    stages: () => ({
      ...NONE,
      resend: async ({ state, version }) => {
        world.resent.push(`${state} ${version}`)
      },
      ...stages,
    }),
    alone: async (_signer, work) => {
      world.held += 1
      world.turns += 1
      try {
        return await work(() => [])
      } finally {
        world.held -= 1
      }
    },
    onMove: (before, after) => {
      world.moves.push(`${before.state} ${after.state}`)
      world.live.set(after.id, after)
      world.onMove()
    },
    onStrike: () => {
      world.strikes += 1
    },
    onQuarantined: ({ signer }, { message }) => {
      world.quarantined.push(signer)
      world.notes.push(message)
    },
  }
  const opened = async (state: WorkflowState, changes: Partial<Workflow> = {}) => {
    const workflow = workflowOf(state, changes)
    await journal.open(workflow)
    world.live.set(workflow.id, workflow)
    return workflow.id
  }
  return { world, deps, opened }
}

describe('a step', () => {
  it('of each state is one stage', async () => {
    const waits =
      (ms: number): Stage =>
      async () =>
        wait(ms)
    const named: Stages = {
      request: waits(0),
      prepare: waits(1),
      attest: waits(2),
      clear: waits(3),
      claim: waits(4),
      carry: waits(5),
      confirm: waits(6),
      resend: unused,
    }
    const states = [
      'discovered',
      'requested',
      'prepared',
      'attested',
      'cleared',
      'in_flight',
      'confirmed',
    ] as const
    const reached = await Promise.all(states.map((state) => step(workflowOf(state), named)))
    expect(reached).toEqual([0, 1, 2, 3, 4, 5, 6].map(wait))
  })

  it('is never taken from a terminal', () => {
    for (const state of TERMINAL_STATES)
      expect(() => step(workflowOf(state), NONE)).toThrow(/nothing more happens/)
  })
})

describe('running a workflow', () => {
  it('goes from discovered to a terminal in one run, each state written', async () => {
    const { world, deps, opened } = createWorld({ request: to('requested'), prepare: to('refused') })
    const id = await opened('discovered')
    expect(await run(id, deps)).toBeNull()
    expect(world.moves).toEqual(['discovered requested', 'requested refused'])
    expect((await journal.get(id))?.state).toBe('refused')
  })

  it('answers when it wants to be looked at again, and nothing for what is not there', async () => {
    const { deps, opened } = createWorld({ confirm: async () => wait(1_234) })
    expect(await run(await opened('confirmed'), deps)).toBe(1_234)
    expect(await run('absent', deps)).toBeNull()
  })

  it('lets others have their turn where its steps go in a circle', async () => {
    const { deps, opened } = createWorld({ carry: to('confirmed'), confirm: to('in_flight') })
    expect(await run(await opened('in_flight'), deps)).toBe(500)
  })

  it('holds the signer from the clearing to the claim, once', async () => {
    const heldAt: number[] = []
    const { world, deps, opened } = createWorld({
      clear: async (workflow) => {
        heldAt.push(world.held)
        return moved(move(workflow, 'cleared', 2_000))
      },
      claim: async (workflow) => {
        heldAt.push(world.held)
        return moved(move(workflow, 'refused', 2_000))
      },
    })
    await run(await opened('attested'), deps)
    expect(heldAt).toEqual([1, 1])
    expect(world).toMatchObject({ turns: 1, held: 0 })
  })

  it('does the step again on the stored record when another writer was first', async () => {
    let tries = 0
    const { world, deps, opened } = createWorld({
      prepare: async (workflow) => {
        tries += 1
        if (tries === 1) await journal.write({ ...workflow, updatedAtMs: 9 })
        return moved(move(workflow, 'refused', 2_000))
      },
    })
    const id = await opened('requested')
    expect(await run(id, deps)).toBeNull()
    expect({ tries, strikes: world.strikes }).toEqual({ tries: 2, strikes: 0 })
  })

  it('waits, and counts no strike, when a node or the service may answer later', async () => {
    const later = new RolekeeperError('node.timeout', 'late', { retry: 'later' })
    const { world, deps, opened } = createWorld({ carry: async () => Promise.reject(later) })
    const id = await opened('in_flight')
    expect(await run(id, deps)).toBe(500)
    expect(world.strikes).toBe(0)
    expect((await journal.get(id))?.version).toBe(0)
  })

  it('quarantines at the third strike in a row and not at the second', async () => {
    const { world, deps, opened } = createWorld({ prepare: unused })
    const id = await opened('requested')
    expect(await run(id, deps)).toBe(1_000)
    expect(await run(id, deps)).toBe(1_000)
    expect(await journal.get(id)).toMatchObject({ state: 'requested', strikes: 2 })
    expect(await run(id, deps)).toBeNull()
    expect(await journal.get(id)).toMatchObject({ state: 'quarantined', note: { check: 'three_strikes' } })
    expect(world).toMatchObject({ strikes: 3, quarantined: [] })
  })

  it('marks one that holds nonces instead of ending it, says so once, and tries it again less and less often', async () => {
    const { world, deps, opened } = createWorld({ carry: unused })
    const id = await opened('in_flight', { slots: [slotOf()] })
    const waits = []
    for (let tries = 0; tries < 10; tries += 1) waits.push(await run(id, deps))
    expect(waits).toEqual([1, 1, 1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * 1_000))
    expect(await journal.get(id)).toMatchObject({
      state: 'in_flight',
      quarantined: { atMs: 2_000, note: { check: 'three_strikes' } },
    })
    expect(world.quarantined).toEqual([slotOf().signer])
  })

  it('ends one that fails for ever once its nonces are final, and says which approvals were not looked at', async () => {
    const { world, deps, opened } = createWorld({ carry: unused })
    const allowances = [{ token: TOKEN, spender: MARKET, assets: 5n }]
    const { clearance } = workflowOf('in_flight')
    const changes = clearance === undefined ? {} : { clearance: { ...clearance, allowances } }
    const id = await opened('in_flight', { ...changes, slots: [slotOf({ state: 'final' })] })
    const quarantinedAtMs = 4_000
    let waitMs: number | null = 0
    while (waitMs !== null) {
      expect(world.nowMs).toBeLessThan(quarantinedAtMs + 300_000)
      waitMs = await run(id, deps)
      world.nowMs += waitMs ?? 0
    }
    expect(world.nowMs).toBeGreaterThanOrEqual(quarantinedAtMs + 240_000)
    expect(await journal.get(id)).toMatchObject({
      state: 'quarantined',
      note: { check: 'three_strikes', message: expect.stringContaining(`${MARKET} may still take ${TOKEN}`) },
    })
    expect(world.moves.at(-1)).toBe('in_flight quarantined')
  })

  it('says what failed, as far as it is safe to say', async () => {
    const { world, deps, opened } = createWorld({ carry: unused })
    const id = await opened('in_flight', { slots: [slotOf()] })
    for (let tries = 0; tries < 3; tries += 1) await run(id, deps)
    expect(world.notes).toEqual([expect.stringContaining('Last: TypeError.')])
  })

  it('forgets strikes after a step that went well, also when that one only waits', async () => {
    let fails = true
    const { deps, opened } = createWorld({
      confirm: async () => {
        if (fails) throw new TypeError('boom')
        return wait(1)
      },
    })
    const id = await opened('confirmed')
    await run(id, deps)
    await run(id, deps)
    fails = false
    await run(id, deps)
    fails = true
    await run(id, deps)
    expect(await journal.get(id)).toMatchObject({ state: 'confirmed', strikes: 1 })
  })

  it('goes on from what was written when telling of it failed', async () => {
    const { world, deps, opened } = createWorld({ request: to('requested'), prepare: to('refused') })
    world.onMove = () => {
      throw new TypeError('a listener broke')
    }
    const id = await opened('discovered')
    expect(await run(id, deps)).toBeNull()
    expect((await journal.get(id))?.state).toBe('refused')
    expect((await journal.transitions(id)).map(({ state }) => state)).toEqual([
      'discovered',
      'requested',
      'refused',
    ])
  })
})

describe('a record that cannot be reached', () => {
  const away = [
    ['journal.unreachable', 'later'],
    ['journal.unknown', 'later'],
    ['journal.full', 'later'],
    ['journal.not_replicated', 'later'],
    // What only a person mends says nothing of the workflow either.
    ['journal.amnesia', 'never'],
    ['journal.redis_settings', 'never'],
  ] as const

  it.each(away)(
    'strikes nobody, and resends what is public, however long it says %s',
    async (code, retry) => {
      const { world, deps, opened } = createWorld({ carry: () => Promise.reject(recordFault(code, retry)) })
      const id = await opened('in_flight', { slots: [slotOf()] })
      for (let tries = 0; tries < 10; tries += 1) expect(await run(id, deps)).toBe(1_000)
      expect(world).toMatchObject({ strikes: 0, quarantined: [], resent: Array(10).fill('in_flight 0') })
      expect(await journal.get(id)).toMatchObject({ version: 0, strikes: 0 })
    },
  )

  it('resends by what is remembered where not even the record of it can be read', async () => {
    const { world, deps, opened } = createWorld({})
    const ids = [await opened('in_flight', { slots: [slotOf()] })]
    ids.push(await opened('cleared', { id: 'b', opportunity: 'b' }))
    const unreadable = { ...journal, get: () => Promise.reject(recordFault('journal.unreachable')) }
    for (const id of [...ids, 'absent']) expect(await run(id, { ...deps, journal: unreadable })).toBe(1_000)
    expect(world).toMatchObject({ strikes: 0, resent: ['in_flight 0'] })
  })

  it('counts no strike twice over, and loses none, where it goes away while one is written', async () => {
    const { world, deps, opened } = createWorld({ carry: unused })
    const id = await opened('in_flight', { slots: [slotOf()] })
    const write = () => Promise.reject(recordFault('journal.unreachable'))
    const unwritable = { ...journal, get: journal.get.bind(journal), write }
    for (let tries = 0; tries < 5; tries += 1)
      expect(await run(id, { ...deps, journal: unwritable })).toBe(1_000)
    expect(await journal.get(id)).toMatchObject({ strikes: 0 })
    expect(world).toMatchObject({ quarantined: [], resent: Array(5).fill('in_flight 0') })
    expect(await run(id, deps)).toBe(1_000)
    expect(await journal.get(id)).toMatchObject({ strikes: 1 })
  })

  it('goes on from what was written though its answer was lost, and announces it once', async () => {
    const { world, deps, opened } = createWorld({ prepare: to('refused') })
    const id = await opened('requested')
    const write = async (next: Workflow) => {
      await journal.write(next)
      throw recordFault('journal.unknown')
    }
    const get = journal.get.bind(journal)
    expect(await run(id, { ...deps, journal: { get, write } })).toBe(1_000)
    expect(world.moves).toEqual([])
    expect(await run(id, deps)).toBeNull()
    expect(await run(id, deps)).toBeNull()
    expect(world).toMatchObject({ moves: ['requested refused'], strikes: 0 })
  })
})

it("ends a run at once where the seat is another's: no strike, no other try, and nothing is sent", async () => {
  const { world, deps, opened } = createWorld({ carry: () => Promise.reject(recordFault('seat.lost')) })
  const id = await opened('in_flight', { slots: [slotOf()] })
  expect(await run(id, deps)).toBeNull()
  expect(world).toMatchObject({ strikes: 0, resent: [], moves: [] })
  expect(await journal.get(id)).toMatchObject({ version: 0 })
})
