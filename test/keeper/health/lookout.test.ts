import { expect, it } from 'vitest'
import { overdueOf } from '../../../src/keeper/health/lookout.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { slotOf, workflowOf } from '../../support/workflows.ts'

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
