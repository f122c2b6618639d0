import { expect, it } from 'vitest'
import { rfqBidder } from '../../agents/rfq-bidder/agent.ts'
import type { Observed } from '../../agents/rfq-bidder/seen.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { createExperience } from '../../src/keeper/money/experience.ts'
import { gateToOpen } from '../../src/keeper/role/role.ts'
import { createRoleDuty } from '../../src/keeper/role/role-duty.ts'
import type { Gate } from '../../src/ops/control.ts'
import { createLog } from '../../src/ops/log.ts'
import { observed, policy, rfq } from '../agents/rfq-bidder/fixtures.ts'
import { SIGNER } from '../support/workflows.ts'

const log = createLog({ level: 'silent', secrets: [] })
const LOST = { of: ['bid'], came: null, netUsd: -2_500, atMs: 1 }

/**
 * A bidder of whom it is recorded that it lost more than its exploration, looking for the first time.
 * @param cases reads what is recorded.
 */
function firstLook(cases: () => Promise<readonly object[]>) {
  let nowMs = 0
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs }
  const accounts = {
    cases,
    forgottenUntilMs: () => 0,
    undecided: async () => ({ toBlock: 0n, pages: [], lots: [], unknown: [] }),
    after: async () => [],
    decide: async () => undefined,
  }
  const experience = createExperience({ role: 'rfq-bidder', chainId: 1, signer: SIGNER }, {
    accounts,
    clock,
    log,
    alarm: () => undefined,
    journal: { get: async () => null },
  } as unknown as Parameters<typeof createExperience>[1])
  const opened: string[] = []
  const alarms: string[] = []
  const observer = {
    observe: async (around: object) => observed({ rfqs: [rfq()], ...around } as Partial<Observed>),
    close: () => undefined,
  }
  const gate = gateToOpen(experience, { gate: (): Gate => ({ closed: false, paused: false }) })
  const decided = Promise.withResolvers<readonly string[]>()
  const [of, joined, own] = [
    { agent: { role: 'rfq-bidder' }, does: rfqBidder, policy: { strategy: policy() } },
    {
      clock,
      log,
      gate,
      onOpened: () => undefined,
      emit: () => undefined,
      metrics: {
        decided: () => undefined,
        refused: (_role: string, _by: string, check: string) => checks.push(check),
      },
      alarm: ({ code }: RolekeeperError) => alarms.push(code),
    },
    {
      newest: [],
      recent: () => [],
      rivals: () => [],
      experience: experience.now,
      experienced: experience.ready,
      observer,
      journal: {
        ofRole: async () => [],
        onLots: async () => [],
        addDecisions: async () => decided.resolve(checks),
      },
      open: async ({ kind }: { kind: string }) => {
        opened.push(kind)
        return { ok: false, check: 'seen', message: 'enough' }
      },
    },
  ]
  const checks: string[] = []
  const duty = createRoleDuty(of as never, joined as never, own as never)
  return {
    opened,
    alarms,
    checks,
    look: async () => {
      duty.look()
      await decided.promise
      await duty.stop()
    },
    pass: (ms: number) => {
      nowMs += ms
    },
    experience,
  }
}

it('is of a role that says so', () => {
  expect(rfqBidder.explores).toBe(true)
})

it('begins nothing before it is read that the exploration is spent', async () => {
  const world = firstLook(async () => [LOST])
  await world.look()
  expect([world.opened, world.alarms]).toEqual([[], ['rfq-bidder.exploration_spent']])
})

it('begins nothing while it cannot be read', async () => {
  const world = firstLook(async () => {
    throw new RolekeeperError('journal.unreadable', 'The accounts cannot be read.', { fix: 'see the disk' })
  })
  await world.look()
  expect(world.opened).toEqual([])
  expect(world.checks).toContain('experience_not_read')
})

it('begins nothing once it was not read for five minutes', async () => {
  const world = firstLook(async () => [])
  await world.experience.ready()
  expect(world.experience.unread()).toBeNull()
  world.pass(299_999)
  expect(world.experience.unread()).toBeNull()
  world.pass(1)
  expect(world.experience.unread()).toMatchObject({ check: 'experience_not_read' })
  // One who looks again after longer reads first.
  await world.look()
  expect(world.opened).toEqual(['place'])
})

it('begins what pays where nothing was lost', async () => {
  const world = firstLook(async () => [])
  await world.look()
  expect(world.opened).toEqual(['place'])
})
