import { readdirSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { approvalHash } from '../../../src/guard/approval/approval.ts'
import { doDeed } from '../../../src/keeper/console/deeds.ts'
import type { Deed } from '../../../src/ops/console/server.ts'
import { readControl } from '../../../src/ops/control.ts'
import { readAnswers } from '../../../src/ops/orders.ts'
import type { Hold, Workflow } from '../../../src/workflow/workflow.ts'
import { newDirectory } from '../../support/directory.ts'
import { workflowOf } from '../../support/workflows.ts'

const BY = 'console session of ann@desk'
const NOW_MS = 1_000_000

let directory = ''
beforeEach(() => {
  directory = newDirectory()
})
afterEach(() => rmSync(directory, { recursive: true }))

/** A workflow that waits for a person. */
function held(shown: object = {}, untilMs = NOW_MS + 60_000): Workflow & { hold: Hold } {
  const hold = {
    hash: '',
    check: 'first_of_its_kind',
    message: 'New.',
    rules: 'rules',
    untilMs,
    approvals: [],
    shown: {
      calls: [],
      effects: [],
      changes: [],
      day: 'nothing',
      askedBy: 'the policy',
      quorum: 1,
      approvers: null,
      ...shown,
    },
  } as unknown as Hold
  const workflow = workflowOf('discovered', { hold })
  return { ...workflow, hold: { ...hold, hash: approvalHash(workflow, hold) } } as Workflow & { hold: Hold }
}

function act(deed: Deed, { live = [], fleet }: { live?: readonly Workflow[]; fleet?: object } = {}) {
  const agents = [{ role: 'liquidator' }, { role: 'allocator' }]
  const config = { directory, agents, ...(fleet === undefined ? {} : { fleet }) } as never
  return doDeed(deed, BY, { config, live: () => live, nowMs: () => NOW_MS })
}

it('pulls switches as the command line does, with who, when and why', () => {
  expect(act({ verb: 'pause', reason: 'a drill' })).toBe('Paused.')
  expect(act({ verb: 'kill', reason: '' })).toBe('Killed: nothing is signed.')
  const pulled = { by: BY, atMs: NOW_MS }
  expect(readControl(directory)).toMatchObject({
    killed: true,
    paused: true,
    pulled: expect.arrayContaining([
      { switch: 'pause', ...pulled, reason: 'a drill' },
      { switch: 'kill', ...pulled, reason: null },
    ]),
  })
  expect(act({ verb: 'unkill', reason: '' })).toBe('The kill is taken back.')
  expect(act({ verb: 'resume', reason: '' })).toBe('Resumed.')
  expect(readControl(directory).pulled).toEqual([])
})

it('pauses one role alone, and no role that is not there', () => {
  expect(act({ verb: 'pause', role: 'allocator', reason: '' })).toBe('Paused: the allocator.')
  expect(readControl(directory)).toMatchObject({
    killed: false,
    paused: false,
    pulled: [{ switch: 'pause', role: 'allocator', by: BY }],
  })
  expect(() => act({ verb: 'pause', role: 'cleaner', reason: '' })).toThrow(
    expect.objectContaining({
      code: 'console.no_role',
      shortMessage: 'cleaner is no role of this keeper.',
      fix: 'it staffs liquidator, allocator.',
    }),
  )
  expect(act({ verb: 'resume', role: 'allocator', reason: '' })).toBe('Resumed: the allocator.')
  expect(readControl(directory).pulled).toEqual([])
})

it('answers what waits, where it is what was shown', () => {
  const workflow = held()
  const { hash } = workflow.hold
  expect(act({ verb: 'approve', id: workflow.id, hash, reason: '' }, { live: [workflow] })).toBe('Approved.')
  expect(readAnswers(directory, workflow.id)).toMatchObject([{ verdict: 'approve', hash, by: { user: BY } }])
})

const OTHER = 'f'.repeat(64)
/** Another call under the hash of what was shown. */
function altered(): Workflow & { hold: Hold } {
  const workflow = held()
  const effects = ['everything leaves']
  return { ...workflow, hold: { ...workflow.hold, shown: { ...workflow.hold.shown, effects } } }
}
it.each([
  ['of a fleet', { fleet: {} }, {}, 'console.fleet'],
  ['that waits no more', { live: [] }, {}, 'console.not_held'],
  ['that expired', { live: [held({}, NOW_MS)] }, {}, 'console.not_held'],
  ['that was asked anew since', { live: [held()] }, { hash: OTHER }, 'console.other_hash'],
  ['whose calls are not those that were hashed', { live: [altered()] }, {}, 'console.other_hash'],
  ['whose policy names who may', { live: [held({ approvers: [{ name: 'bob' }] })] }, {}, 'console.approvers'],
])('writes nothing of an answer %s', (_, around, changes, code) => {
  const [workflow] = (around as { live?: readonly (Workflow & { hold: Hold })[] }).live ?? []
  const hash = workflow?.hold.hash ?? OTHER
  const { id } = workflowOf('discovered')
  expect(() => act({ verb: 'approve', id, hash, reason: '', ...changes }, around)).toThrow(
    expect.objectContaining({ code, fix: expect.any(String) }),
  )
  expect(readdirSync(directory)).toEqual([])
})
