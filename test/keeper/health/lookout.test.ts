import { expect, it } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import { createLookout, idleOf, overdueOf } from '../../../src/keeper/health/lookout.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const codes = (workflow: Workflow, nowMs: number) => overdueOf(workflow, nowMs).map(({ code }) => code)
const NOW = 10_000_000

it.each([
  ['a nonce that is open', 60_000, 'nonce.stuck', workflowOf('in_flight', { slots: [slotOf()] }), 1_000],
  [
    'a nonce that is mined and not final',
    1_800_000,
    'nonce.not_final',
    workflowOf('in_flight', { slots: [slotOf({ state: 'mined' })], updatedAtMs: NOW }),
    NOW,
  ],
  [
    'what is final and waits for nodes, or for room under the fee cap, to be ended',
    120_000,
    'workflow.not_ended',
    workflowOf('in_flight', { slots: [slotOf({ state: 'final' })], updatedAtMs: NOW }),
    NOW,
  ],
  [
    'what is final, and neither confirmed nor ended unconfirmed',
    660_000,
    'workflow.not_confirmed',
    workflowOf('confirmed', { awaiting: { blockNumber: 7n, postconditions: [], sinceMs: NOW } }),
    NOW,
  ],
])('says of %s that it is overdue one millisecond past %i', (_, limitMs, code, workflow, sinceMs) => {
  expect(codes(workflow, sinceMs + limitMs)).toEqual([])
  expect(codes(workflow, sinceMs + limitMs + 1)).toEqual([code])
})

it('says of a signer that it runs out of gas, once a minute and below that of three workflows', async () => {
  const alarms: RolekeeperError[] = []
  const world = { nowMs: NOW, balanceWei: 30n, asked: 0 }
  const look = createLookout({
    nowMs: () => world.nowMs,
    live: () => [],
    nodes: {
      agree: 2,
      quorumMissingSinceMs: () => null,
      health: () => [],
      balanceWei: async () => {
        world.asked += 1
        return world.balanceWei
      },
    },
    atWork: () => [],
    payers: [{ role: 'liquidator', signer: SIGNER, gasWeiMax: 10n }],
    alarm: (error) => alarms.push(error),
  })
  await look()
  world.balanceWei = 29n
  world.nowMs += 59_999
  await look()
  expect([world.asked, alarms]).toEqual([1, []])
  world.nowMs += 1
  await look()
  expect(alarms).toMatchObject([{ code: 'signer.low_balance', facts: { balanceWei: '29', gasWeiMax: '10' } }])
})

/** What is said of nodes one millisecond past 30 s; nothing is until then. */
async function alarmsPast30S(
  nodes: Pick<Parameters<typeof createLookout>[0]['nodes'], 'health' | 'quorumMissingSinceMs'>,
): Promise<readonly RolekeeperError[]> {
  const alarms: RolekeeperError[] = []
  const world = { nowMs: NOW + 30_000 }
  const look = createLookout({
    nowMs: () => world.nowMs,
    live: () => [],
    nodes: { agree: 2, balanceWei: async () => 0n, ...nodes },
    atWork: () => [],
    payers: [],
    alarm: (error) => alarms.push(error),
  })
  await look()
  expect(alarms).toEqual([])
  world.nowMs += 1
  await look()
  return alarms
}

const fresh = { disagreements: 0, errors: 0, headNumber: null }

it('says of a node that stands still that it is left out, one millisecond past 30 s', async () => {
  const still = { node: 'read-2', state: 'behind', sinceMs: NOW, blocksBehind: 7 } as const
  const alarms = await alarmsPast30S({
    quorumMissingSinceMs: () => null,
    health: () => [
      { ...still, lastErrorCode: null, ...fresh },
      { ...still, node: 'read-1', state: 'ok', lastErrorCode: null, ...fresh },
    ],
  })
  expect(alarms).toMatchObject([{ code: 'node.left_out', facts: { node: 'read-2', blocksBehind: 7 } }])
})

it('says that too few nodes agree, with how each stands, one millisecond past 30 s', async () => {
  const down = { node: 'read-2', state: 'down', sinceMs: NOW + 30_000, blocksBehind: 1 } as const
  const alarms = await alarmsPast30S({
    quorumMissingSinceMs: () => NOW,
    health: () => [{ ...down, lastErrorCode: 'node.timeout', ...fresh }],
  })
  expect(alarms).toMatchObject([{ code: 'node.no_quorum', facts: { agree: 2 } }])
  expect(alarms[0]?.message).toContain('read-2 is down, its last error node.timeout.')
})

it.each([
  ['the service', 'role.not_deciding', 'service.unreachable: It does not answer.', 'wait.'],
  ['the KMS', 'key.not_signing', 'kms.timeout', 'look at the KMS'],
])(
  'says that a role stands still for %s, with cause and fix, one millisecond past 20 s',
  (what, code, cause, fix) => {
    const error = new RolekeeperError('service.unreachable', 'It does not answer.', { fix: 'wait.' })
    const worker = {
      ...({ role: 'liquidator', signer: SIGNER } as const),
      duty: { failing: () => (what === 'the service' ? { error, sinceMs: NOW } : null) },
      vitals: { key: () => ({ said: what === 'the KMS' ? 'kms.timeout' : 'ok', sinceMs: NOW }) },
    }
    expect(idleOf(worker, NOW + 20_000)).toEqual([])
    const [alarm, ...rest] = idleOf(worker, NOW + 20_001)
    expect([alarm?.code, rest]).toEqual([code, []])
    expect(alarm?.message).toContain(cause)
    expect(alarm?.fix).toContain(fix)
  },
)
