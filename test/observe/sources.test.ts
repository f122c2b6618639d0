import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSources, type Sources } from '../../src/observe/sources.ts'

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
const answers: Record<string, (response: ServerResponse) => void> = {
  '/good': (response) => response.writeHead(200, JSON_TYPE).end('{"a":"1"}'),
  '/html': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>1</p>'),
  '/untyped': (response) => response.writeHead(200).end('{}'),
  '/moved': (response) => response.writeHead(302, { ...JSON_TYPE, location: '/good' }).end('{}'),
  '/failed': (response) => response.writeHead(503, JSON_TYPE).end('{}'),
  '/largest': (response) => response.writeHead(200, JSON_TYPE).end('x'.repeat(65_536)),
  '/too-large': (response) => response.writeHead(200, JSON_TYPE).end('x'.repeat(65_537)),
  '/silent': () => undefined,
  '/dripping': (response) => response.writeHead(200, JSON_TYPE).write('{'),
  '/cut': (response) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '10' }).write('{')
    response.destroy()
  },
}
const server = createServer((request, response) => answers[request.url ?? '']?.(response))
const folder = mkdtempSync(join(tmpdir(), 'sources-'))
let sources: Sources

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const http = Object.keys(answers).map((path) => ({
    name: path,
    kind: 'http' as const,
    url: { reveal: () => `http://127.0.0.1:${port}${path}` },
  }))
  writeFileSync(join(folder, 'value.csv'), 'asOf,value\n1,2\n')
  writeFileSync(join(folder, 'largest'), 'x'.repeat(65_536))
  writeFileSync(join(folder, 'too-large'), 'x'.repeat(65_537))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const files = ['value.csv', 'largest', 'too-large', 'pipe', 'absent', '.'].map((name) => ({
    name,
    kind: 'file' as const,
    file: join(folder, name),
  }))
  const closed = { name: 'closed', kind: 'http' as const, url: { reveal: () => 'http://127.0.0.1:1/key' } }
  sources = createSources([...http, ...files, closed], { nowMs: () => 7 })
})
afterAll(async () => {
  await sources.close()
  server.closeAllConnections()
  server.close()
})

const ask = (name: string) => sources.ask({ kind: 'source', name, timeoutMs: 300 })

test('gives the text of JSON over HTTP and of a file, up to the largest size', async () => {
  expect(await ask('/good')).toEqual({ ok: true, text: '{"a":"1"}', atMs: 7 })
  expect(await ask('value.csv')).toEqual({ ok: true, text: 'asOf,value\n1,2\n', atMs: 7 })
  expect((await ask('/largest')).ok).toBe(true)
  expect((await ask('largest')).ok).toBe(true)
})

test.each([
  ['nameless', 'source_unknown'],
  ['/html', 'source_not_json'],
  ['/untyped', 'source_not_json'],
  ['/moved', 'source_redirected'],
  ['/failed', 'source_status'],
  ['/too-large', 'source_too_large'],
  ['/silent', 'source_timeout'],
  ['/dripping', 'source_timeout'],
  ['/cut', 'source_unreadable'],
  ['closed', 'source_unreadable'],
  ['too-large', 'source_too_large'],
  ['absent', 'source_unreadable'],
  ['.', 'source_unreadable'],
  ['pipe', 'source_unreadable'],
])('refuses %s as %s, and shows no place', async (name, check) => {
  const answer = await ask(name)
  expect(answer).toMatchObject({ ok: false, check })
  expect(JSON.stringify(answer)).not.toMatch(/127\.0\.0\.1|sources-/)
})
