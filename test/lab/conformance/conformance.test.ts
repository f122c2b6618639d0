import { describe, expect, it } from 'vitest'
import { lintProblems } from './lint.ts'
import type { Row } from './row.ts'
import { runConformance } from './run.ts'
import { OPERATIONS } from './transcription/operations.ts'
import { WORKFLOW_TYPES } from './transcription/workflow-types.ts'

const named = (names: readonly string[]) => new Map(names.map((name) => [name, Promise.withResolvers<Row>()]))
const rows = named([...OPERATIONS.map(({ name }) => name), ...WORKFLOW_TYPES])
const run = runConformance((row) => rows.get(row.name)?.resolve(row))
run.catch((error: unknown) => {
  for (const { reject, promise } of rows.values()) {
    promise.catch(() => {})
    reject(error)
  }
})

const conforms = async (name: string) => {
  const row = await rows.get(name)?.promise
  expect(row?.problems).toEqual([])
  expect(row?.checks).toBeGreaterThan(1)
}

describe('each operation of the document', () => {
  it.each(OPERATIONS.map(({ name }) => name))('%s', conforms)
})

describe('each workflow type of the document', () => {
  it.each(WORKFLOW_TYPES)('%s', conforms)
})

describe('the published contract', () => {
  it('passes a public linter', async () => {
    expect(await lintProblems((await run).document)).toEqual([])
  })

  it('has the operations of the document and no other', async () => {
    const { paths } = (await run).document
    const published = Object.entries(paths ?? {}).flatMap(([path, item]) =>
      Object.keys(item ?? {})
        .filter((key) => ['get', 'put', 'post', 'delete', 'patch'].includes(key))
        .map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(published.toSorted()).toEqual(OPERATIONS.map(({ name }) => name).toSorted())
  })

  it('is of the version that the document describes', async () => {
    const { document } = await run
    expect(document.openapi).toBe('3.1.0')
    expect(document.info).toMatchObject({ version: '1.0.0-private-preview' })
  })
})
