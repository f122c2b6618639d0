import { execFileSync } from 'node:child_process'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSources, type Sources } from '../../src/observe/sources.ts'
import { newDirectory } from '../support/directory.ts'
import { WAIT_MS_MAX } from '../support/until.ts'

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
const answers: Record<string, (response: ServerResponse) => void> = {
  '/good': (response) => response.writeHead(200, JSON_TYPE).end('{"a":"1"}'),
  '/html': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>1</p>'),
  '/untyped': (response) => response.writeHead(200).end('{}'),
  '/moved': (response) => response.writeHead(302, { ...JSON_TYPE, location: '/good' }).end('{}'),
  '/failed': (response) => response.writeHead(503, JSON_TYPE).end('{}'),
  '/largest': (response) => response.writeHead(200, JSON_TYPE).end('x'.repeat(1_048_576)),
  '/too-large': (response) => response.writeHead(200, JSON_TYPE).end('x'.repeat(1_048_577)),
  '/silent': () => undefined,
  '/dripping': (response) => response.writeHead(200, JSON_TYPE).write('{'),
  '/cut': (response) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '10' }).write('{')
    response.destroy()
  },
}
const BODY = '\ufeff{"a":"1"}'
const hmacOf = (secret: string) => createHmac('sha256', secret).update(BODY).digest('hex')
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
const signedBy = (key: KeyObject, dsaEncoding: 'der' | 'ieee-p1363' = 'der') =>
  sign('sha256', Buffer.from(BODY), { key, dsaEncoding }).toString('base64')
/** What signed sources answer with, by their path. */
const signatures: Record<string, string | undefined> = {
  '/hmac': `sha256=${hmacOf('ours')}`,
  '/hmac-other': hmacOf('theirs'),
  '/ecdsa': signedBy(privateKey),
  '/ecdsa-pair': signedBy(privateKey, 'ieee-p1363'),
  '/ecdsa-other': signedBy(stranger.privateKey),
  '/ecdsa-none': undefined,
  '/ecdsa-garbage': '!',
}
const server = createServer((request, response) => {
  const path = request.url ?? ''
  if (path === '/asks-token') {
    const isAllowed = request.headers.authorization === 'Bearer ours'
    response.writeHead(isAllowed ? 200 : 401, JSON_TYPE).end('{}')
  } else if (path in signatures) {
    const signature = signatures[path]
    response.writeHead(200, {
      ...JSON_TYPE,
      ...(signature === undefined ? {} : { 'x-signature': signature }),
    })
    response.end(BODY)
  } else answers[path]?.(response)
})
const folder = newDirectory()
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
  writeFileSync(join(folder, 'largest'), 'x'.repeat(1_048_576))
  writeFileSync(join(folder, 'too-large'), 'x'.repeat(1_048_577))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const files = ['value.csv', 'binary', 'largest', 'too-large', 'pipe', 'absent', '.'].map((name) => ({
    name,
    kind: 'file' as const,
    file: join(folder, name),
  }))
  const of = (path: string) => ({ reveal: () => `http://127.0.0.1:${port}${path}` })
  const ours = { reveal: () => 'ours' }
  const signed = Object.keys(signatures).map((path) => ({
    name: path,
    kind: 'http' as const,
    url: of(path),
    signature: { header: 'x-signature', key: path.includes('hmac') ? { hmac: ours } : { ecdsa: pem } },
  }))
  for (const [name, signature] of [
    ['signed', `${hmacOf('ours')}\n`],
    ['signed-other', hmacOf('theirs')],
    ['unsigned', null],
  ] as const) {
    writeFileSync(join(folder, name), BODY)
    if (signature !== null) writeFileSync(join(folder, `${name}.sig`), signature)
  }
  writeFileSync(join(folder, 'binary'), Buffer.from([0xff, 0xfe]))
  const beside = ['signed', 'signed-other', 'unsigned'].map((name) => ({
    name,
    kind: 'file' as const,
    file: join(folder, name),
    signature: { key: { hmac: ours } },
  }))
  const bearer = { authorization: { reveal: () => 'Bearer ours' } }
  const token = { name: 'token', kind: 'http' as const, url: of('/asks-token'), headers: bearer }
  const tokenless = { name: 'tokenless', kind: 'http' as const, url: of('/asks-token') }
  const closed = { name: 'closed', kind: 'http' as const, url: { reveal: () => 'http://127.0.0.1:1/key' } }
  sources = createSources([...http, ...files, ...signed, ...beside, token, tokenless, closed], {
    nowMs: () => 7,
  })
})
afterAll(async () => {
  await sources.close()
  server.closeAllConnections()
  server.close()
})

const ask = (name: string, timeoutMs = WAIT_MS_MAX) => sources.ask({ kind: 'source', name, timeoutMs })

test('gives the text of JSON over HTTP and of a file, up to the largest size', async () => {
  expect(await ask('/good')).toEqual({ ok: true, text: '{"a":"1"}', atMs: 7 })
  expect(await ask('value.csv')).toEqual({ ok: true, text: 'asOf,value\n1,2\n', atMs: 7 })
  expect((await ask('/largest')).ok).toBe(true)
  expect((await ask('largest')).ok).toBe(true)
})

test('carries the headers of its place', async () => {
  expect((await ask('token')).ok).toBe(true)
  expect(await ask('tokenless')).toMatchObject({ check: 'source_status' })
})

test.each(['/hmac', '/ecdsa', '/ecdsa-pair', 'signed'])(
  'takes %s, which its key signed, byte for byte',
  async (name) => {
    expect(await ask(name)).toEqual({ ok: true, text: BODY, atMs: 7, signature: expect.any(String) })
  },
)

test.each([
  ['/hmac-other', 'source_signed_by_another'],
  ['/ecdsa-other', 'source_signed_by_another'],
  ['/ecdsa-garbage', 'source_signed_by_another'],
  ['/ecdsa-none', 'source_not_signed'],
  ['signed-other', 'source_signed_by_another'],
  ['unsigned', 'source_not_signed'],
  ['binary', 'source_not_text'],
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
  // What never ends is not waited for.
  const answer = await ask(name, check === 'source_timeout' ? 300 : WAIT_MS_MAX)
  expect(answer).toMatchObject({ ok: false, check })
  expect(JSON.stringify(answer)).not.toMatch(/127\.0\.0\.1|sources-/)
})
