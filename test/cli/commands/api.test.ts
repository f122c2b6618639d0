import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { openApiDocument } from '../../../src/service/contract/openapi.ts'
import { json, startScripted } from '../../service/scripted-service.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'

const folder = newDirectory()
afterAll(() => rmSync(folder, { recursive: true }))

const diff = (...args: readonly string[]) => runCommand(['api', 'diff', ...args])

const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const ours = openApiDocument('https://api.example')
const paths = ours.paths as Record<string, unknown>
const { '/v1/wrappers': _gone, ...fewer } = paths

test('exits with 0 for an equal contract, in JSON and in YAML', async () => {
  const equal = { code: 0, out: 'The contract says what we say.\n', err: '' }
  expect(await diff(file('same.json', JSON.stringify(ours)))).toEqual(equal)
  expect(await diff(file('same.yaml', stringify(JSON.parse(JSON.stringify(ours)))))).toEqual(equal)
})

test('exits with 1 for a contract that differs, and says what to change', async () => {
  const source = file('fewer.json', JSON.stringify({ ...ours, paths: fewer }))
  const { code, out } = await diff(source)
  expect(code).toBe(1)
  expect(out).toBe(
    'operation_missing  GET /v1/wrappers\n  ours: there; theirs: none\n  → nothing that uses `listWrappers` can run here; ask the operator, or remove the entry from OPERATIONS in src/service/contract/operations.ts.\n1 difference.\n',
  )
  const rows = (await diff(source, '--json')).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(rows).toEqual([
    expect.objectContaining({ kind: 'operation_missing', where: 'GET /v1/wrappers' }),
    { kind: 'summary', differences: 1, unsaid: [] },
  ])
})

test('reads a URL, and shows nothing of the contract that a terminal would act on', async () => {
  const service = await startScripted((_, response) =>
    json(response, 200, { ...ours, paths: { ...paths, '/v1/\u001b[2J': { get: {} } } }),
  )
  const { code, out } = await diff(`${service.url}/openapi.json`)
  expect(code).toBe(1)
  expect(out).toContain('GET /v1/ [2J')
  expect(service.arrived[0]?.headers.authorization).toBeUndefined()
  service.script.answer = (_, response) => json(response, 302, '', { location: service.url })
  expect(await diff(`${service.url}/openapi.json`)).toMatchObject({
    code: 2,
    err: expect.stringContaining('was answered with status 302'),
  })
  await service.close()
  expect((await diff(`${service.url}/openapi.json`)).code).toBe(2)
})

test.each([
  ['nothing', ''],
  ['no contract', '{"paths":[]}'],
  ['broken JSON', '{'],
  ['broken YAML', 'a: [b'],
])('exits with 2 for a file with %s', async (_name, text) => {
  expect(await diff(file('bad', text))).toMatchObject({
    code: 2,
    err: expect.stringContaining('error config.contract_unreadable'),
  })
})

test('exits with 2 for a file that is not there, and for another verb', async () => {
  expect((await diff(join(folder, 'none.json'))).code).toBe(2)
  expect(await diff()).toMatchObject({ code: 2, err: expect.stringContaining('rolekeeper api --help') })
})
