import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Decision } from '../../agents/agent.ts'
import type { PriceSeen } from '../../agents/board.ts'
import { createDuty, type DutyDeps } from '../../src/decide/decision-loop.ts'
import { openProposal } from '../../src/decide/open.ts'
import { type Refusal, RolekeeperError } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import type { KeeperEvent } from '../../src/ops/events.ts'
import { observation } from '../agents/liquidator/fixtures.ts'
import { newDirectory } from '../support/directory.ts'
import { proposalOf, SIGNER } from '../support/workflows.ts'

let journal: Journal
beforeEach(() => {
  journal = openSqliteJournal(newDirectory())
})
afterEach(() => journal.close())
/** A look begins in the turn after its hint, and the one more in the turn after that. */
const settled = async () => {
  for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
}
const NOTHING: Decision = { proposals: [], passedOver: [] }

const createWorld = (own: Partial<DutyDeps> = {}) => {
  const world = {
    decision: NOTHING,
    seen: observation(),
    looks: 0,
    observing: Promise.resolve(),
    halt: null as Refusal | null,
    prices: [] as readonly PriceSeen[],
    opened: [] as string[],
    decided: [] as Decision[],
    failures: 0,
    nowMs: 5_000,
    events: [] as KeeperEvent[],
    onDecided: () => {},
  }
  const deps: DutyDeps = {
    role: 'liquidator',
    workflowTypes: ['role.liquidator.liquidate'],
    nowMs: () => world.nowMs,
    monotonicMs: () => world.nowMs,
    prices: () => world.prices,
    recent: () => [],
    experience: async () => [],
    rivals: () => [],
    open: (proposal) =>
      openProposal(
        proposal,
        { role: 'liquidator', chainId: 31_337, signer: SIGNER, shadow: false },
        { nowMs: () => 5_000, journal, alarm: () => {} },
      ),
    observe: async (around) => {
      world.looks += 1
      await world.observing
      return { ...world.seen, ...around }
    },
    decide: () => world.decision,
    stopped: () => world.halt,
    journal,
    onOpened: ({ id }) => world.opened.push(id),
    onDecided: (decision) => {
      world.decided.push(decision)
      world.onDecided()
    },
    onFailed: () => {
      world.failures += 1
    },
    emit: (event) => world.events.push(event),
  }
  return { world, duty: createDuty({ ...deps, ...own }) }
}
let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})
const look = async () => {
  setup.duty.look()
  await settled()
}

describe('a duty', () => {
  it('opens no type that its role does not declare', async () => {
    const foreign = proposalOf({ workflowType: 'role.lender.distressedRecoveryFundV3RfqPlaceBid' })
    setup.world.decision = { proposals: [foreign], passedOver: [] }
    await look()
    expect(setup.world.opened).toEqual([])
    expect((await journal.decisions('', 10)).map(({ check }) => check)).toEqual(['type_not_declared'])
  })

  it('opens nothing that an agent calls an order: the guard asks less of those', async () => {
    setup.world.decision = { proposals: [proposalOf({ kind: 'order' })], passedOver: [] }
    await look()
    expect(setup.world.opened).toEqual([])
    expect((await journal.decisions('', 10)).map(({ check }) => check)).toEqual(['kind_reserved'])
  })

  it('opens what was decided once, and stores it as proposed', async () => {
    setup.world.decision = { proposals: [proposalOf()], passedOver: [] }
    await look()
    await look()
    expect(setup.world.opened).toHaveLength(1)
    expect(setup.world.decided.map(({ proposals }) => proposals.length)).toEqual([1, 0])
    const checks = (await journal.decisions('', 10)).map(({ check }) => check)
    expect(checks).toEqual(['already_in_flight', 'proposed'])
  })

  it('opens nothing while it is halted, and says why', async () => {
    setup.world.decision = { proposals: [proposalOf()], passedOver: [] }
    setup.world.halt = { ok: false, check: 'paused', message: 'The keeper is paused.' }
    await look()
    expect(setup.world.opened).toEqual([])
    expect(setup.world.decided[0]?.passedOver).toMatchObject([{ check: 'paused' }])
    setup.world.halt = null
    await look()
    expect(setup.world.opened).toHaveLength(1)
  })

  it('looks again once a time has come, and a second later where it has passed already', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const looksAfter = async (lookAgainAtMs: number, ms: number) => {
        setup.world.decision = { ...NOTHING, lookAgainAtMs }
        await look()
        const before = setup.world.looks
        vi.advanceTimersByTime(ms - 1)
        await settled()
        const early = setup.world.looks - before
        vi.advanceTimersByTime(1)
        await settled()
        return [early, setup.world.looks - before]
      }
      expect(await looksAfter(5_300, 300)).toEqual([0, 1])
      // By our clock it is 5,000 ms: the chain may not have come so far.
      expect(await looksAfter(4_000, 1_000)).toEqual([0, 1])
      expect(await looksAfter(5_000, 1_000)).toEqual([0, 1])
    } finally {
      vi.useRealTimers()
    }
  })

  it('makes one look of hints that come together', async () => {
    setup.duty.look()
    setup.duty.look()
    await settled()
    expect(setup.world.looks).toBe(1)
  })

  it('makes one more look of all hints that come during a look', async () => {
    const gate = Promise.withResolvers<void>()
    setup.world.observing = gate.promise
    await look()
    setup.duty.look()
    setup.duty.look()
    expect(setup.world.looks).toBe(1)
    gate.resolve()
    await settled()
    expect(setup.world.looks).toBe(2)
  })

  it('loses no hint, however close to the end of a look it comes', async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      setup = createWorld()
      let hinted = false
      setup.world.onDecided = () => {
        if (hinted) return
        hinted = true
        let later = Promise.resolve()
        for (let turn = 0; turn < turns; turn += 1) later = later.then(() => {})
        void later.then(() => setup.duty.look())
      }
      await look()
      expect([turns, setup.world.looks]).toEqual([turns, 2])
    }
  })

  it('looks again after a look that failed', async () => {
    const down = Promise.withResolvers<void>()
    setup.world.observing = down.promise
    const looked = look()
    // Told before anybody awaits it, a rejection would count as nobody's.
    down.promise.catch(() => undefined)
    down.reject(new TypeError('down'))
    await looked
    expect(setup.world).toMatchObject({ failures: 1, decided: [] })
    setup.world.observing = Promise.resolve()
    await look()
    expect(setup.world.decided).toHaveLength(1)
    expect(setup.duty.lastDecidedAtMs()).toBe(5_000)
  })

  it('fails since the first look whose decision could not be kept, and not since the newest', async () => {
    const { world, duty } = createWorld({
      journal: {
        ofRole: (role) => journal.ofRole(role),
        onLots: () => journal.onLots(),
        addDecisions: () => Promise.reject(new TypeError('full')),
      },
    })
    for (const nowMs of [5_000, 9_000]) {
      world.nowMs = nowMs
      duty.look()
      await expect.poll(() => world.failures).toBe(nowMs === 5_000 ? 1 : 2)
    }
    expect(duty.failing()?.sinceMs).toBe(5_000)
    await duty.stop()
  })

  it('stops when the look under way has ended, and opens nothing of it', async () => {
    const gate = Promise.withResolvers<void>()
    setup.world.observing = gate.promise
    setup.world.decision = { proposals: [proposalOf()], passedOver: [] }
    setup.duty.look()
    await settled()
    const stopping = setup.duty.stop()
    gate.resolve()
    await stopping
    await look()
    expect(setup.world).toMatchObject({ looks: 1, opened: [] })
  })

  it('says nothing of nodes and service by a look that its own stop broke off', async () => {
    const gate = Promise.withResolvers<void>()
    setup.world.observing = gate.promise
    setup.duty.look()
    await settled()
    const stopping = setup.duty.stop()
    gate.reject(new RolekeeperError('service.unreachable', 'The service gave no answer (AbortError).'))
    await stopping
    expect([setup.duty.isStopped(), setup.duty.failing(), setup.world.failures]).toEqual([true, null, 0])
  })

  it('tells a price and a health factor when they change, and forgets subjects that are gone', async () => {
    const passed = (healthFactorWad: string) => ({
      subject: 's',
      check: 'healthy',
      message: '',
      reason: { healthFactorWad },
    })
    const told = () => setup.world.events.splice(0).map(({ type }) => type)
    setup.world.prices = [{ id: 'm', symbol: 'sBTC/sUSD', priceWad: 1n }]
    setup.world.decision = { proposals: [], passedOver: [passed('2')] }
    await look()
    expect(told()).toEqual(['price', 'health'])
    await look()
    expect(told()).toEqual([])
    setup.world.decision = { proposals: [], passedOver: [passed('3')] }
    await look()
    expect(told()).toEqual(['health'])
    setup.world.decision = NOTHING
    await look()
    setup.world.decision = { proposals: [], passedOver: [passed('3')] }
    await look()
    expect(told()).toEqual(['health'])
  })
})
