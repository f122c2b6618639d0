import { expect, it } from 'vitest'
import { createRecent } from '../../src/decide/recent-workflows.ts'
import type { TerminalState } from '../../src/workflow/workflow.ts'
import { workflowOf } from '../support/workflows.ts'

const DAY_MS = 86_400_000
const ended = (id: string, state: TerminalState, updatedAtMs = 1) => workflowOf(state, { id, updatedAtMs })

it('remembers what ended for a day, and what was quarantined beyond that', () => {
  let nowMs = DAY_MS
  const recent = createRecent([ended('w1', 'succeeded'), ended('w2', 'quarantined')], () => nowMs)
  const ids = () => recent.list().map(({ workflowId }) => workflowId)
  recent.add(ended('w3', 'refused'))
  expect(ids()).toEqual(['w3', 'w1', 'w2'])
  nowMs += 1
  expect(ids()).toEqual(['w2'])
  // What is refused every two minutes pushes it out as little.
  for (let count = 0; count < 600; count += 1) recent.add(ended(`r${count}`, 'refused', nowMs))
  expect(ids().slice(-2)).toEqual(['r100', 'w2'])
  expect(ids()).toHaveLength(501)
})

it('remembers why each ended so, in words too', () => {
  const note = { check: 'approval_unlimited', message: 'Amount is 5 sUSD; allowed is 1 sUSD.' }
  const recent = createRecent([workflowOf('refused', { id: 'w1', note }), ended('w2', 'succeeded')], () => 2)
  const [refused, succeeded] = recent.list()
  expect(refused).toMatchObject(note)
  expect(succeeded).toMatchObject({ check: null })
  expect(succeeded).not.toHaveProperty('message')
})
