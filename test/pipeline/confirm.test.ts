import { beforeEach, describe, expect, it } from 'vitest'
import { RolekeeperError } from '../../src/errors.ts'
import type { Reservation } from '../../src/journal/journal.ts'
import { type ConfirmDeps, confirm } from '../../src/pipeline/confirm.ts'
import type { WorkflowProgress } from '../../src/service/contract/assumptions.ts'
import { proposalOf, slotOf, workflowOf } from '../support/workflows.ts'

const HASH = `0x${'aa'.repeat(32)}` as const
const WANTED = { entityType: 'claim', entityId: 'm:1', field: 'assets', expected: { op: 'lte', value: '5' } }
const SEEN = { ...WANTED, satisfied: true, blockNumber: '10' }

const createWorld = () => {
  const world = {
    nowMs: 1_000,
    stands: true as boolean | null,
    progress: {
      requestId: 'wf-1',
      workflowType: 'role.liquidator.liquidate',
      status: 'final_success',
      transactions: [],
      canonicalPostconditions: [SEEN],
    } as WorkflowProgress,
    failure: null as Error | null,
    alarms: [] as string[],
    reserved: [] as Pick<Reservation, 'usdMicros' | 'gasWei'>[],
  }
  const deps: ConfirmDeps = {
    nowMs: () => world.nowMs,
    journal: {
      write: async (workflow, reservation) => {
        if (reservation) world.reserved.push({ usdMicros: reservation.usdMicros, gasWei: reservation.gasWei })
        return workflow
      },
    },
    progress: async () => {
      if (world.failure !== null) throw world.failure
      return world.progress
    },
    waitMsMax: 120_000,
    alarm: ({ code, message }) => world.alarms.push(`${code}: ${message}`),
    stands: ({ number, hash }) => (number === 10n && hash === HASH ? world.stands : null),
  }
  return { world, deps }
}
const confirmed = () =>
  workflowOf('confirmed', {
    slots: [
      slotOf({
        state: 'final',
        inclusion: {
          hash: HASH,
          purpose: 'payload',
          blockNumber: 10n,
          blockHash: HASH,
          status: 'success',
          gasUsed: 1n,
          effectiveGasPriceWei: 1n,
        },
      }),
    ],
    awaiting: { blockNumber: 10n, postconditions: [WANTED], sinceMs: 1_000 },
  })

let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})
const state = async () => {
  const step = await confirm(confirmed(), setup.deps)
  return step.type === 'wait' ? 'wait' : step.workflow.state
}
const report = (changes: Partial<typeof SEEN>) => {
  setup.world.progress = {
    ...setup.world.progress,
    canonicalPostconditions: [{ ...SEEN, ...changes }],
  }
}

describe('confirming', () => {
  it('takes the chain’s word alone for what is our own, while its blocks stand', async () => {
    const own = { ...confirmed(), proposal: proposalOf({ workflowType: 'own.liquidator.sell' }) }
    setup.world.failure = new TypeError('the service is asked')
    setup.world.stands = null
    expect(await confirm(own, setup.deps)).toMatchObject({ type: 'wait' })
    setup.world.stands = true
    expect(await confirm(own, setup.deps)).toMatchObject({ workflow: { state: 'succeeded' } })
  })

  it('ends within its bound also where the clock is put back meanwhile', async () => {
    const { world, deps } = setup
    report({ satisfied: false })
    world.nowMs = 1_000 - 3_600_000
    const step = await confirm(confirmed(), deps)
    if (step.type === 'wait') throw new TypeError('waits an hour longer')
    world.nowMs += 119_999
    expect(await confirm(step.workflow, deps)).toMatchObject({ type: 'wait' })
    world.nowMs += 1
    expect(await confirm(step.workflow, deps)).toMatchObject({ workflow: { state: 'unconfirmed' } })
  })

  it('succeeds when the service shows every postcondition at our block', async () => {
    expect(await state()).toBe('succeeded')
  })

  it('does not when it was one block earlier', async () => {
    report({ blockNumber: '9' })
    expect(await state()).toBe('wait')
  })

  it('does not when one is not satisfied, is about something else, or is absent', async () => {
    const others = [
      { satisfied: false },
      { entityId: 'm:2' },
      { field: 'x' },
      { expected: { op: 'gte', value: '5' } },
    ]
    for (const other of others) {
      report(other)
      expect([other, await state()]).toEqual([other, 'wait'])
    }
    setup.world.progress = { ...setup.world.progress, canonicalPostconditions: [] }
    expect(await state()).toBe('wait')
  })

  it('reads the same expectation whatever the order of its members', async () => {
    report({ expected: { value: '5', op: 'lte' } })
    expect(await state()).toBe('succeeded')
  })

  it('does not before the service says final_success', async () => {
    setup.world.progress = { ...setup.world.progress, status: 'indexed' }
    expect(await state()).toBe('wait')
  })

  it.each<readonly [string, (world: ReturnType<typeof createWorld>['world']) => void, string]>([
    [
      'does not answer',
      (world) => {
        world.failure = new RolekeeperError('service.unreachable', 'down', { retry: 'later' })
      },
      'the service does not answer',
    ],
    [
      'forgot it',
      (world) => {
        world.failure = new RolekeeperError('service.not_found', 'gone')
      },
      'the service forgot the workflow',
    ],
    [
      'answers for another',
      (world) => {
        world.progress = { ...world.progress, requestId: 'wf-2' }
      },
      'the service contradicts it',
    ],
    [
      'says that it failed',
      (world) => {
        world.progress = { ...world.progress, status: 'failed' }
      },
      'the service contradicts it',
    ],
    ['denies a postcondition', () => report({ satisfied: false }), 'the service contradicts it'],
    ['never shows one', () => report({ blockNumber: '9' }), 'the service does not show it yet'],
  ])(
    'ends unconfirmed, with an alarm, at the policy’s bound where the service %s, and what was spent stays',
    async (_name, lie, message) => {
      lie(setup.world)
      setup.world.nowMs = 120_999
      expect(await state()).toBe('wait')
      expect(setup.world.alarms).toEqual([])
      setup.world.nowMs = 121_000
      expect(await state()).toBe('unconfirmed')
      expect(setup.world.alarms).toEqual([expect.stringMatching(`workflow.unconfirmed: .*2 min ${message}`)])
      expect(setup.world.reserved).toEqual([])
    },
  )

  it('says of a record that the service does not show what holds for it: it has no transaction', async () => {
    setup.world.failure = new RolekeeperError('service.not_found', 'gone')
    setup.world.nowMs = 121_000
    const proposal = proposalOf({ workflowType: 'role.vault_owner.vaultOwnerSettingsSave' })
    await confirm({ ...confirmed(), proposal, slots: [] }, setup.deps)
    const [alarm] = setup.world.alarms
    expect(alarm).toMatch(/taken by the service to be saved, .* forgot the workflow.*see at the service/)
    expect(alarm).not.toMatch(/chain|indexer/)
  })

  it('does not call the chain final where it is not known in the end whether its blocks stand', async () => {
    setup.world.stands = null
    setup.world.nowMs = 121_000
    const step = await confirm(confirmed(), setup.deps)
    expect(step).toMatchObject({
      workflow: { state: 'unconfirmed', note: { message: expect.stringContaining('the nodes do not say') } },
    })
  })

  it('goes back in flight when another block is in the place of its own, and may cost again what it might have', async () => {
    setup.world.stands = false
    const step = await confirm(confirmed(), setup.deps)
    expect(step).toMatchObject({ workflow: { state: 'in_flight', slots: [{ state: 'mined' }] } })
    expect(setup.world.reserved).toEqual([{ usdMicros: 1_000n, gasWei: 100_000n * 2_000_000_000n }])
  })

  it('neither goes back nor succeeds where it is not known which block is there', async () => {
    setup.world.stands = null
    expect(await state()).toBe('wait')
  })
})

it('takes the block of the whole answer where a postcondition names none, and no block as too early', async () => {
  const { blockNumber: _none, ...unplaced } = SEEN
  setup.world.progress = { ...setup.world.progress, canonicalPostconditions: [unplaced] }
  expect(await confirm(confirmed(), setup.deps)).toMatchObject({ type: 'wait' })
  const at = (blockNumber: string) => ({ status: 'current', lagSeconds: 0, blockNumber })
  setup.world.progress = { ...setup.world.progress, freshness: at('9') }
  expect(await confirm(confirmed(), setup.deps)).toMatchObject({ type: 'wait' })
  setup.world.progress = { ...setup.world.progress, freshness: at('10') }
  expect(await confirm(confirmed(), setup.deps)).toMatchObject({ workflow: { state: 'succeeded' } })
})
