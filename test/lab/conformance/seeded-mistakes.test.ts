import { beforeAll, describe, expect, it } from 'vitest'
import type { Row } from './row.ts'
import { STORIES, witnessOperations } from './run.ts'
import { startSandboxUnderTest } from './sandbox-under-test.ts'
import { MISTAKES, makeMistakes } from './seeded-mistakes.ts'
import { OPERATIONS } from './transcription/operations.ts'
import { witnessWorkflows } from './workflow-run.ts'
import { createWorld } from './world.ts'

const rows = new Map<string, Row>()
const show = (row: Row) => rows.set(row.name, row)

beforeAll(async () => {
  const mistaken = makeMistakes(MISTAKES)
  try {
    const sandbox = await startSandboxUnderTest(mistaken.root)
    try {
      const world = await createWorld(sandbox.info)
      const concerned = MISTAKES.map(({ row }) => row)
      await Promise.all([
        witnessOperations(
          world,
          OPERATIONS.filter(({ name }) => concerned.includes(name)),
          show,
        ),
        witnessWorkflows(
          world,
          STORIES.filter(({ types }) => types.some((type) => concerned.includes(type))),
          show,
        ),
      ])
      await world.leave()
    } finally {
      await sandbox.stop()
    }
  } finally {
    mistaken.remove()
  }
})

describe('the witness', () => {
  it.each(MISTAKES)('reports $name', ({ row, says }) => {
    expect(rows.get(row)?.problems).toContainEqual(expect.stringMatching(says))
  })

  it('is tried by at least forty-eight mistakes', () => {
    expect(new Set(MISTAKES.map(({ name }) => name)).size).toBeGreaterThanOrEqual(48)
  })
})
