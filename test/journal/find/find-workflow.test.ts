import { expect, it } from 'vitest'
import { findWorkflow, knownOf } from '../../../src/journal/find/find-workflow.ts'
import { workflowOf } from '../../support/workflows.ts'

const idOf = (first: string) => first.padEnd(32, '0')
const waiting = { ...workflowOf('discovered', { createdAtMs: 1 }), id: idOf('5459048b') }
const newest = Array.from({ length: 1_000 }, (_, index) => ({
  ...workflowOf('succeeded', { createdAtMs: 1_000 - index + 1 }),
  id: idOf(`a${String(index).padStart(4, '0')}`),
}))
const journal = {
  get: async () => null,
  live: async () => [waiting],
  list: async (count: number) => newest.slice(0, count),
  archivedBy: async () => [],
}

it('finds what waits by the beginning of its id, however many have ended since', async () => {
  expect((await findWorkflow(journal, '5459048b', '')).id).toBe(waiting.id)
})

it('lists what has not ended beside the newest, each once and newest first', async () => {
  const known = await knownOf({ ...journal, live: async () => [waiting, ...newest.slice(0, 1)] }, 2)
  expect(known.map(({ id }) => id)).toEqual([newest[0]?.id, newest[1]?.id, waiting.id])
})
