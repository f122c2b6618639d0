import { expect, it } from 'vitest'
import { createFlows, type Flows } from '../../../src/keeper/console/flows.ts'
import type { KeeperEvent } from '../../../src/ops/events.ts'
import { slotOf, workflowOf } from '../../support/workflows.ts'

const at = (second: number) => new Date(second * 1_000).toISOString()
const workflow = (id: string, state: string, second: number, more: object = {}) =>
  ({
    type: 'workflow',
    id,
    state,
    at: at(second),
    role: 'liquidator',
    durationMs: 0,
    workflowType: 'role.liquidator.liquidate',
    subject: 'm:v:b',
    ...more,
  }) as KeeperEvent
const slot = (id: string, nonce: number, state: string, second: number) =>
  ({
    type: 'slot',
    id,
    nonce,
    state,
    at: at(second),
    role: 'liquidator',
    purpose: 'payload',
    durationMs: 0,
  }) as KeeperEvent

const NOTHING = { namespace: '', assets: [], markets: [], vaults: [], funds: [], contracts: [] }

function heard(...events: readonly KeeperEvent[]): Flows {
  const listeners: ((event: KeeperEvent) => void)[] = []
  const flows = createFlows((listener) => listeners.push(listener), NOTHING)
  for (const event of events) for (const listener of listeners) listener(event)
  return flows
}

it('remembers each state with its time, and what it was begun for', () => {
  const flows = heard(
    workflow('a', 'discovered', 1, { summary: 'repay 1000' }),
    workflow('a', 'prepared', 2),
    slot('a', 7, 'signed', 3),
    slot('a', 8, 'signed', 3),
    slot('a', 7, 'mined', 4),
    workflow('a', 'refused', 5, { check: 'too_late', message: 'No.' }),
  )
  expect(flows.list([])).toMatchObject([
    {
      id: 'a',
      state: 'refused',
      summary: 'repay 1000',
      check: 'too_late',
      message: 'No.',
      atMs: 5_000,
      steps: [
        { state: 'discovered', atMs: 1_000 },
        { state: 'prepared', atMs: 2_000 },
        // Nonces that moved alike at once are one step.
        { state: 'signed 7, 8', atMs: 3_000 },
        { state: 'mined 7', atMs: 4_000 },
        { state: 'refused', atMs: 5_000 },
      ],
    },
  ])
})

it('shows what is live before what ended, and of what is live what the journal has now', () => {
  const flows = heard(workflow('ended', 'succeeded', 90), workflow('gone', 'in_flight', 95))
  const live = workflowOf('in_flight', { id: 'live', updatedAtMs: 2_000, slots: [slotOf()] })
  expect(flows.list([live])).toMatchObject([
    { id: 'live', state: 'in_flight', steps: [{ state: 'discovered' }, { state: 'in_flight', atMs: 2_000 }] },
    { id: 'ended' },
  ])
})

it('remembers no more after a year than after an hour', () => {
  const events = Array.from({ length: 5_000 }, (_, index) => [
    workflow(`w${index}`, 'discovered', index),
    slot(`w${index}`, index, 'signed', index),
    workflow(`w${index}`, 'succeeded', index + 1),
    { type: 'gain', id: `w${index}`, at: at(index) } as KeeperEvent,
    { type: 'alarm', code: 'a', at: at(index) } as KeeperEvent,
  ]).flat()
  const bumped = Array.from({ length: 500 }, (_, index) => slot('w4999', 4_999, 'signed', 6_000 + index))
  const flows = heard(...events, ...bumped)
  const [newest, ...rest] = flows.list([])
  expect([rest.length, newest?.id, newest?.steps.length]).toEqual([99, 'w4999', 24])
  // The first of them is known no more: of one that is taken up from the journal, nothing is.
  const [first] = flows.list([workflowOf('discovered', { id: 'w0' })])
  expect(first?.steps).toEqual([{ state: 'discovered', atMs: 1_000 }])
  expect([flows.gains().length, flows.alarms().length, flows.gains()[0]?.id]).toEqual([50, 50, 'w4999'])
})

it('knows what was begun long ago until it ends, whatever ended meanwhile', () => {
  const others = Array.from({ length: 500 }, (_, index) => workflow(`w${index}`, 'succeeded', index + 2))
  const held = workflow('held', 'discovered', 1, { summary: 'deploy a vault' })
  const flows = heard(held, ...others, workflow('held', 'succeeded', 900))
  expect(flows.list([])[0]).toMatchObject({ id: 'held', summary: 'deploy a vault' })
  // Of more than anybody reads at once, the oldest go.
  const many = Array.from({ length: 1_500 }, (_, index) => workflow(`w${index}`, 'in_flight', index + 2))
  expect(heard(held, ...many, workflow('held', 'succeeded', 2_000)).list([])[0]).toMatchObject({
    summary: '',
  })
})
