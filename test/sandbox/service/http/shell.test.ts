import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import fc from 'fast-check'
import { Pool } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serviceApiError } from '../../../../src/service/contract/resources.ts'
import { WAIT_MS_MAX } from '../../../support/until.ts'
import { CHAIN_ID, newKey, PUBLISHABLE, SECRET, secretHeaders } from '../fixture.ts'
import { malformedRequests, type RawRequest } from './malformed-requests.ts'
import type { ShellTold } from './shell-process.ts'

const REQUESTS = Number(process.env.REQUESTS ?? 3_000)
/** Sent side by side, so that they can be in each other's way. */
const BATCH = 50
const HEAP_GROWTH_BYTES_MAX = 8 * 1024 ** 2

let shell: ReturnType<typeof fork>
let pool: Pool
let url: URL
let dbFile: string
let session: string
let output = ''

beforeAll(async () => {
  shell = fork(new URL('./shell-process.ts', import.meta.url), {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const stream of [shell.stdout, shell.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk
    })
  }
  const [told] = (await once(shell, 'message')) as [{ url: string; dbFile: string }]
  url = new URL(told.url)
  dbFile = told.dbFile
  pool = new Pool(url, { connections: 16, pipelining: 1 })
  session = await openSession()
})
afterAll(async () => {
  await pool.close()
  shell.disconnect()
  await once(shell, 'exit')
})

async function memory() {
  shell.send('memory')
  const [told] = (await once(shell, 'message')) as [Extract<ShellTold, { heapBytes: number }>]
  return told
}

async function openSession(): Promise<string> {
  const account = privateKeyToAccount(generatePrivateKey())
  const post = async (path: string, body: object) => {
    const headers = { ...secretHeaders, 'content-type': 'application/json', 'idempotency-key': newKey() }
    const answer = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) })
    return (await answer.body.json()) as Record<string, string>
  }
  const asked = { address: account.address, chainId: CHAIN_ID }
  const { message = '', challengeId } = await post('/v1/wallet-sessions/challenges', asked)
  const signature = await account.signMessage({ message })
  return (await post('/v1/wallet-sessions/confirm', { challengeId, signature })).session ?? ''
}

/** Hold one request, and name it when its answer is wrong. */
const hold = (request: RawRequest) =>
  check(request).catch((cause: unknown) => {
    const shown = JSON.stringify(request).slice(0, 500)
    throw new TypeError(`${shown}: ${cause instanceof Error ? cause.message : ''}`)
  })

/** Send one request and hold its answer against what the document says of every failure. */
async function check({ mayPass, ...request }: RawRequest): Promise<void> {
  const headers = { 'idempotency-key': newKey(), ...contentType(request), ...request.headers }
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).flatMap((item) => [name, item]),
  )
  const { body = null } = request
  const answer = await pool.request({ ...request, body, method: request.method as 'GET', headers: lines })
  const text = await answer.body.text()
  const status = answer.statusCode
  // Plain comparisons: a matcher for each of thousands of answers would take longer than the service.
  const requestId = String(answer.headers['x-request-id'])
  if (!/^req_[0-9a-f]{24}$/.test(requestId)) throw new TypeError(`x-request-id is ${requestId}`)
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    if (!/^\d+$/.test(String(answer.headers[name]))) throw new TypeError(`${name} is ${answer.headers[name]}`)
  }
  const isJson = answer.headers['content-type'] === 'application/json; charset=utf-8'
  if (isJson && mayPass && status === 200) return
  const error = failure.safeParse(JSON.parse(text)).data
  if (!isJson || !FAILURES.includes(status) || error?.requestId !== requestId) {
    throw new TypeError(`answered ${status} ${text}`)
  }
}

const FAILURES = [400, 401, 403, 409, 429]
const failure = serviceApiError.strict()

const contentType = ({ body }: Pick<RawRequest, 'body'>) =>
  body === undefined ? {} : { 'content-type': 'application/json' }

it('answers malformed requests over all routes as the document says, and keeps its memory', async () => {
  const requests = malformedRequests(session)
  const batches = fc.array(requests, { minLength: BATCH, maxLength: BATCH })
  const send = async (runs: number) => {
    const property = fc.asyncProperty(batches, async (batch) => {
      await Promise.all(batch.map(hold))
    })
    // A whole batch is no counterexample to read: the error names the request.
    const { failed, errorInstance } = await fc.check(property, { numRuns: runs, endOnFailure: true })
    if (failed) throw errorInstance
  }
  await send(2_000 / BATCH)
  const before = await memory()
  await send((REQUESTS - 2_000) / BATCH)
  const after = await memory()
  expect(after.crashes).toEqual([])
  expect(after.heapBytes - before.heapBytes).toBeLessThan(HEAP_GROWTH_BYTES_MAX)
})

const garbage = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(
    'GET / HTTP/9.9\r\n\r\n',
    'GET /v1/markets HTTP/1.1\r\n\r\n',
    'GET /v1/markets HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'GET /v1/\u0000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    'POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n',
    'POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}',
    'POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
    'POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n',
    'POST /v1/stream-token HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: nonsense\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    'GET /v1/keys HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
    'GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    'NONSENSE /v1/markets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    `GET /v1/markets?x=${'y'.repeat(20_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
    `GET /v1/markets HTTP/1.1\r\nHost: 127.0.0.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
  ),
)

it('answers bytes that are no request with the error object, or closes', async () => {
  await fc.assert(
    fc.asyncProperty(garbage, async (bytes) => {
      const text = await exchange(bytes)
      if (text === '') return
      const [head = '', body = ''] = text.split('\r\n\r\n')
      expect(head).toMatch(/^HTTP\/1\.1 (400|401|403) /)
      expect(head.toLowerCase()).toContain('x-request-id: req_')
      expect(head.toLowerCase()).toContain('x-ratelimit-remaining: ')
      expect(serviceApiError.strict().safeParse(JSON.parse(body)).success).toBe(true)
    }),
    { numRuns: 300 },
  )
  expect((await memory()).crashes).toEqual([])
})

/** Send bytes and say no more: all that comes back until the other side closes. */
const exchange = (bytes: string | Buffer) =>
  new Promise<string>((resolve, reject) => {
    let received = ''
    const socket = connect(Number(url.port), '127.0.0.1', () => socket.end(bytes))
    socket.setTimeout(WAIT_MS_MAX, () => reject(new TypeError(`No end in time: ${received}`)))
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(received))
  })

it('keeps serving, and no secret is in its output or its file', async () => {
  const { statusCode, body } = await pool.request({ method: 'GET', path: '/v1/keys', headers: secretHeaders })
  await body.dump()
  expect(statusCode).toBe(200)
  const files = [dbFile, `${dbFile}-wal`].map((file) => readFileSync(file))
  for (const secret of [SECRET, PUBLISHABLE, session]) {
    expect(output).not.toContain(secret)
    expect(files.some((file) => file.includes(secret))).toBe(false)
  }
})
