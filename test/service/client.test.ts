import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RolekeeperError } from '../../src/errors.ts'
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts'
import { RESPONSE_BYTES_MAX, type ServiceTimeouts } from '../../src/service/http.ts'
import { WAIT_MS_MAX } from '../support/until.ts'
import { leapingClock } from './clocks.ts'
import {
  type Answer,
  collection,
  FRESH,
  failure,
  json,
  type Scripted,
  startScripted,
} from './scripted-service.ts'

const A = `0x${'a1'.repeat(20)}`
const SECRET = 'sk_canary_5f1d'
/** Nothing is given up, however busy the machine is. */
const PATIENT: ServiceTimeouts = {
  connectMs: WAIT_MS_MAX,
  headersMs: WAIT_MS_MAX,
  bodyMs: WAIT_MS_MAX,
  attemptMs: WAIT_MS_MAX,
}

const market = (id: string, more = {}) => ({ id, chainId: 1, address: A, ...more })
const prepared = {
  ok: true,
  requestId: 'wf_1',
  workflowType: 'role.liquidator.liquidate',
  status: 'prepared',
  executionMode: 'onchain_transaction',
  custodyBoundary: 'external_wallet_required',
  snapshotHash: `0x${'0'.repeat(64)}`,
  expiresAt: '2026-01-01T00:00:30Z',
  preflight: { status: 'passed', blockedReasons: [], freshness: FRESH, revalidateAtExecution: [] },
  transactions: [],
  canonicalPostconditions: [],
}
const BODY = '{"workflowType":"role.liquidator.liquidate", "chainId":1,"input":{}}'

let service: Scripted
let client: ServiceClient
let clock: ReturnType<typeof leapingClock>

const connect = (timeouts: ServiceTimeouts) => {
  client = createServiceClient({ baseUrl: service.url, secretKey: SECRET, timeouts }, clock)
}
const answering = (...answers: Answer[]) => {
  let count = 0
  service.script.answer = (request, response) =>
    (answers[Math.min(count++, answers.length - 1)] ?? answers[0])?.(request, response)
}
const failed = async (promise: Promise<unknown>): Promise<RolekeeperError> =>
  promise.then(
    () => expect.unreachable('it succeeded'),
    (error: RolekeeperError) => error,
  )

beforeEach(async () => {
  clock = leapingClock()
  service = await startScripted((_, response) => json(response, 200, collection([])))
  connect(PATIENT)
})
afterEach(async () => {
  await client.close()
  await service.close()
})

test('lists all pages with the key, and the worst freshness of them', async () => {
  service.script.answer = (request, response) =>
    request.query.get('cursor') === null
      ? json(response, 200, collection([market('m1')], 'c 2', { ...FRESH, lagSeconds: 9 }))
      : json(
          response,
          200,
          collection([market('m2')], null, { status: 'stale', lagSeconds: 3, blockNumber: '8' }),
        )
  const listed = await client.listMarkets()
  expect(listed.items.map((item) => item.id)).toEqual(['m1', 'm2'])
  expect(listed.freshness).toMatchObject({ status: 'stale', lagSeconds: 9, blockNumber: '8' })
  expect(listed.dropped).toBe(0)
  expect(service.arrived.map((request) => request.query.get('cursor'))).toEqual([null, 'c 2'])
  expect(service.arrived[0]?.query.get('limit')).toBe('100')
  expect(service.arrived[0]?.headers.authorization).toBe(`Bearer ${SECRET}`)
})

test('keeps its connections: twenty reads in turn take two at most', async () => {
  for (let count = 0; count < 20; count += 1) await client.listMarkets()
  // A second one, because a pool counts the first as busy for a moment after its answer.
  expect(service.connections()).toBeLessThanOrEqual(2)
})

test('keeps good rows, counts bad ones, and names where the first one failed', async () => {
  const rows = [market('m1'), market('m2', { chainId: 'one' }), { id: 7 }, market('m4')]
  answering((_, response) => json(response, 200, collection(rows)))
  expect(await client.listMarkets()).toMatchObject({
    items: [{ id: 'm1' }, { id: 'm4' }],
    dropped: 2,
    droppedPath: 'items[1].chainId',
  })
})

test('ignores future fields and enum values where it reads', async () => {
  const row = market('m1', { oracleState: 'quantum', novel: { deep: [1] } })
  answering((_, response) =>
    json(response, 200, { ...collection([row], null, { ...FRESH, status: 'fermented' }), also: 1 }),
  )
  const listed = await client.listMarkets()
  expect(listed.items).toEqual([{ id: 'm1', chainId: 1, address: A, oracleState: 'quantum' }])
  expect(listed.freshness.status).toBe('fermented')
})

test('drops a prototype key inside a row and keeps the row', async () => {
  answering((_, response) =>
    json(
      response,
      200,
      JSON.stringify(collection(['ROW'])).replace(
        '"ROW"',
        `{"id":"m1","chainId":1,"address":"${A}","__proto__":{"paused":true}}`,
      ),
    ),
  )
  const [row] = (await client.listMarkets()).items
  expect(row?.paused).toBeUndefined()
  expect(row?.id).toBe('m1')
})

test.each([
  ['the same cursor twice', () => collection([], 'again'), 'service.garbage'],
  [
    'more without a cursor',
    () => ({ ...collection([]), pageInfo: { hasMore: true, nextCursor: null } }),
    'service.garbage',
  ],
  ['101 rows on a page', () => collection(Array.from({ length: 101 }, () => market('m'))), 'service.garbage'],
  ['no freshness', () => ({ ...collection([]), freshness: undefined }), 'service.garbage'],
])('refuses a collection with %s', async (_name, page, code) => {
  answering((_, response) => json(response, 200, page()))
  expect((await failed(client.listMarkets())).code).toBe(code)
})

test('reads 100 pages and refuses to take more for a whole', async () => {
  let page = 0
  const until = (last: number) => {
    page = 0
    service.script.answer = (_, response) => {
      page += 1
      json(response, 200, collection([], page === last ? null : `c${page}`))
    }
  }
  until(100)
  expect((await client.listMarkets()).dropped).toBe(0)
  until(101)
  expect((await failed(client.listMarkets())).code).toBe('service.too_large')
})

test('reads a full page of large rows, and a body of exactly the size limit', async () => {
  const row = market('m1', { name: 'n'.repeat(2_000), allocators: [] })
  answering((_, response) => json(response, 200, collection(Array.from({ length: 100 }, () => row))))
  expect((await client.listMarkets()).items).toHaveLength(100)
  const body = JSON.stringify(collection([]))
  answering((_, response) => json(response, 200, body.padEnd(RESPONSE_BYTES_MAX)))
  expect((await client.listMarkets()).items).toEqual([])
})

test.each(['content-length', 'chunked'])(
  'refuses a body one byte past the size limit, sent %s',
  async (way) => {
    const body = JSON.stringify(collection([])).padEnd(RESPONSE_BYTES_MAX + 1)
    answering((_, response) => {
      response.writeHead(200, {
        'content-type': 'application/json',
        ...(way === 'content-length' ? { 'content-length': body.length } : {}),
      })
      response.write(body.slice(0, 10))
      response.end(body.slice(10))
    })
    expect(await failed(client.listMarkets())).toMatchObject({ code: 'service.too_large', retry: 'never' })
    expect(service.arrived).toHaveLength(1)
  },
)

test.each([
  ['text that is not JSON', 'application/json', '<html>'],
  ['another content type', 'text/html', JSON.stringify(collection([]))],
  ['nesting without end', 'application/json', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['an array', 'application/json', '[]'],
])('refuses %s as garbage, once and without quoting it', async (_name, type, body) => {
  answering((_, response) => {
    response.writeHead(200, { 'content-type': type })
    response.end(body)
  })
  const error = await failed(client.listMarkets())
  expect(error).toMatchObject({ code: 'service.garbage', retry: 'never' })
  expect(error.message).not.toContain('<html>')
  expect(service.arrived).toHaveLength(1)
})

test('follows no redirect', async () => {
  answering((_, response) => json(response, 302, '', { location: 'http://169.254.169.254/latest' }))
  expect(await failed(client.listMarkets())).toMatchObject({ code: 'service.redirected', retry: 'never' })
  expect(service.arrived).toHaveLength(1)
})

test.each([
  [400, false, 'service.bad_request', 'never', 1],
  [401, true, 'service.unauthorized', 'never', 1],
  [403, true, 'service.forbidden', 'never', 1],
  [409, false, 'service.conflict', 'never', 1],
  [409, true, 'service.in_progress', 'later', 4],
  [429, true, 'service.rate_limited', 'later', 4],
  [500, true, 'service.internal', 'later', 4],
  [500, false, 'service.internal', 'never', 1],
] as const)(
  'maps %i with retryable %s to %s, %s, after %i attempts',
  async (status, retryable, code, retry, times) => {
    answering((_, response) => json(response, status, failure('some_code', { retryable })))
    const error = await failed(client.prepareWorkflow({ bodyText: BODY, idempotencyKey: 'key-1' }))
    expect(error).toMatchObject({
      code,
      retry,
      facts: { status, serviceCode: 'some_code', requestId: 'req-1' },
    })
    expect(service.arrived).toHaveLength(times)
  },
)

test('asks right before it sends a change that must be asked about, once its turn came, and sends it once', async () => {
  const prepare = (ready: () => void) =>
    client.prepareWorkflow({ bodyText: BODY, idempotencyKey: 'key-1', ready })
  const arrived: number[] = []
  const ready = () => arrived.push(service.arrived.length)
  // The quota is used up: the next one waits for its turn.
  answering((_, response) => json(response, 503, '', { 'retry-after': '2' }))
  expect(await failed(prepare(ready))).toMatchObject({ code: 'service.internal', retry: 'later' })
  answering((_, response) => json(response, 200, prepared))
  const asked: number[] = []
  await prepare(() => asked.push(clock.sleptMs.length))
  expect([arrived, asked, clock.sleptMs.length, service.arrived.length]).toEqual([[0], [1], 1, 2])
  const halted = () => {
    throw new TypeError('halted')
  }
  await expect(prepare(halted)).rejects.toThrow('halted')
  expect(service.arrived).toHaveLength(2)
})

test('says host, status, code, request and fix, and never the key', async () => {
  answering((_, response) => json(response, 401, failure('invalid_key')))
  const error = await failed(client.listMarkets())
  expect(error.message).toBe(
    `The service at ${service.host} answered 401 (code invalid_key, request req-1) to GET /v1/markets. ` +
      'Fix: check `service.secretKey`: it is missing, wrong or revoked.',
  )
  expect(JSON.stringify({ ...error, message: error.message, stack: error.stack })).not.toContain(SECRET)
})

test('cleans and cuts what the service says before it enters an error', async () => {
  const hostile = `\u001b[2Jok\u202e${'x'.repeat(150)}\u0000\u200b`
  answering((_, response) =>
    json(response, 403, failure('bad\ncode', { message: hostile, blockedReason: 'y'.repeat(1_999) })),
  )
  const { facts, message } = await failed(client.listMarkets())
  expect(facts.serviceMessage).toBe(`[2Jok${'x'.repeat(150)}`)
  expect(facts.serviceCode).toBe('bad code')
  expect(facts.blockedReason).toBe(`${'y'.repeat(199)}…`)
  expect(message).not.toMatch(/[\p{C}]/u)
})

test('an error of a service that echoes the key does not hold it', async () => {
  const echo = { ok: false, code: SECRET, message: `not ${SECRET}`, requestId: SECRET, retryable: false }
  answering((_, response) => json(response, 500, echo))
  const error = await failed(client.listMarkets())
  expect(error.facts.serviceCode).toBe('[key]')
  expect(`${error.message}${error.stack}${JSON.stringify(error.facts)}`).not.toContain(SECRET)
})

test('asks a read again once after a reset, then says that the service is unreachable', async () => {
  answering((_, response) => response.destroy())
  const error = await failed(client.listMarkets())
  expect(error).toMatchObject({
    code: 'service.unreachable',
    retry: 'later',
    facts: { reason: 'UND_ERR_SOCKET' },
  })
  expect(error.cause).toBeUndefined()
  expect(service.arrived).toHaveLength(2)
})

test.each([
  ['an id of 201 characters', { requestId: 'x'.repeat(201) }],
  ['an id that clears the screen', { requestId: 'wf_1\u001b[2J' }],
  ['a reason of 100 kB', { preflight: { ...prepared.preflight, blockedReasons: ['y'.repeat(100_000)] } }],
  [
    'typed data that turns its text around',
    {
      transactions: [
        { signing: { kind: 'eip712', typedData: { note: 'a\u202eb' }, signaturePlacement: 'x' } },
      ],
    },
  ],
  ['more than 262,144 characters', { transactions: [{ calldata: `0x${'00'.repeat(131_072)}` }] }],
])('freezes no prepared answer with %s', async (_what, changes) => {
  answering((_, response) => json(response, 200, { ...prepared, ...changes }))
  const error = await failed(client.prepareWorkflow({ bodyText: BODY, idempotencyKey: 'key-1' }))
  expect(error.code).toBe('service.garbage')
  expect(error.message).toMatch(/would not be shown as it is|262144 are the most/)
  expect(error.message.length).toBeLessThan(400)
})

test('takes the calldata of a contract as it is, up to the bytes of an answer', async () => {
  const calldata = `0x${'60'.repeat(100_000)}`
  const deploys = {
    order: 0,
    chainId: 1,
    transactionKind: 'contract_deployment',
    target: null,
    calldata,
    value: '0',
    label: 'deploy',
    simulationRequired: true,
  }
  answering((_, response) => json(response, 200, { ...prepared, transactions: [deploys] }))
  const { answer } = await client.prepareWorkflow({ bodyText: BODY, idempotencyKey: 'key-1' })
  expect(answer.transactions[0]?.calldata).toBe(calldata)
})

test('sends a prepare again byte for byte after a reset, a timeout, a 5xx and a conflict in progress', async () => {
  // Of four attempts one is given up by its time, and the others have to come within it.
  connect({ ...PATIENT, attemptMs: 2_000 })
  answering(
    (_, response) => response.destroy(),
    () => undefined,
    (_, response) => json(response, 502, '<html>bad gateway</html>'),
    (_, response) => json(response, 200, JSON.stringify(prepared, null, 1)),
  )
  const { bytes, answer } = await client.prepareWorkflow({ bodyText: BODY, idempotencyKey: 'key-1' })
  expect(bytes).toBe(JSON.stringify(prepared, null, 1))
  expect(answer.requestId).toBe('wf_1')
  expect(service.arrived).toHaveLength(4)
  for (const request of service.arrived) {
    expect(request.body).toBe(BODY)
    expect(request.headers['idempotency-key']).toBe('key-1')
  }
})

test('backs off longer each time, with jitter', async () => {
  answering((_, response) => json(response, 503, ''))
  await failed(client.prepareWorkflow({ bodyText: BODY, idempotencyKey: 'key-1' }))
  const [first = 0, second = 0, third = 0] = clock.sleptMs
  expect(clock.sleptMs).toHaveLength(3)
  for (const [ms, most] of [
    [first, 100],
    [second, 200],
    [third, 400],
  ] as const) {
    expect(ms).toBeGreaterThanOrEqual(most / 2)
    expect(ms).toBeLessThanOrEqual(most)
  }
})

test.each([
  ['seconds', '3'],
  ['a date', 'Thu, 01 Jan 2026 00:00:03 GMT'],
])('honours Retry-After as %s: nothing is sent before', async (_name, value) => {
  const atMs: number[] = []
  const startMs = clock.nowMs()
  answering(
    (_, response) => {
      atMs.push(clock.nowMs())
      json(response, 429, failure('slow_down', { retryable: true }), { 'retry-after': value })
    },
    (_, response) => {
      atMs.push(clock.nowMs())
      json(response, 200, prepared)
    },
  )
  await client.prepareWorkflow({ bodyText: BODY, idempotencyKey: 'key-1' })
  expect(atMs).toHaveLength(2)
  expect((atMs[1] ?? 0) - startMs).toBeGreaterThanOrEqual(3_000)
})

test('sends nothing while the service is closed for longer than a caller waits', async () => {
  answering((_, response) => json(response, 503, '', { 'retry-after': '30' }))
  expect((await failed(client.listMarkets())).code).toBe('service.rate_limited')
  expect((await failed(client.listAssets())).code).toBe('service.rate_limited')
  expect(service.arrived).toHaveLength(1)
})

test('paces itself by the limit headers before it is refused', async () => {
  answering((_, response) =>
    json(response, 200, collection([]), { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2' }),
  )
  const startMs = clock.nowMs()
  await client.listMarkets()
  await client.listMarkets()
  expect(clock.nowMs() - startMs).toBe(2_000)
})

test('gives up on missing headers and on a silent body, each by its own limit', async () => {
  // undici's timers are coarse: a limit under a second fires after about one.
  connect({ ...PATIENT, headersMs: 150, bodyMs: 150 })
  service.script.answer = (request, response) => {
    if (request.path === '/v1/assets') response.writeHead(200).write('{')
  }
  const [headers, body] = await Promise.all([failed(client.listMarkets()), failed(client.listAssets())])
  expect(headers).toMatchObject({ code: 'service.unreachable', facts: { reason: 'UND_ERR_HEADERS_TIMEOUT' } })
  expect(body).toMatchObject({ code: 'service.unreachable', facts: { reason: 'UND_ERR_BODY_TIMEOUT' } })
})

test('gives up on a body that drips', async () => {
  connect({ ...PATIENT, attemptMs: 400 })
  answering((_, response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write(' '), 40)
    response.on('close', () => clearInterval(drip))
  })
  expect((await failed(client.listMarkets())).facts.reason).toBe('TimeoutError')
})

test('says that nobody listens', async () => {
  await service.close()
  expect(await failed(client.listMarkets())).toMatchObject({
    code: 'service.unreachable',
    facts: { reason: 'ECONNREFUSED' },
  })
  service = await startScripted(() => undefined)
})

test.each([
  ['an unknown member', { ...prepared, extra: 1 }, 'answer'],
  ['an unknown execution mode', { ...prepared, executionMode: 'magic' }, 'answer.executionMode'],
  ['a missing hash', { ...prepared, snapshotHash: undefined }, 'answer.snapshotHash'],
])('refuses a prepared workflow with %s', async (_name, answer, path) => {
  answering((_, response) => json(response, 200, answer))
  const error = await failed(client.prepareWorkflow({ bodyText: BODY, idempotencyKey: 'key-1' }))
  expect(error).toMatchObject({
    code: 'service.garbage',
    facts: { what: `the answer does not fit at ${path}` },
  })
})

test('keeps foreign ids inside their path segment', async () => {
  answering((_, response) => json(response, 400, failure('not_found')))
  await failed(client.getWorkflow({ params: { requestId: '../keys?x=1' } }))
  await failed(client.getMarket({ params: { resourceId: 'a/b' }, fields: ['paused', 'oracle.priceWad'] }))
  expect(service.arrived.map((request) => request.path)).toEqual([
    '/v1/workflows/..%2Fkeys%3Fx%3D1',
    '/v1/markets/a%2Fb',
  ])
  expect(service.arrived[1]?.query.getAll('fields')).toEqual(['paused', 'oracle.priceWad'])
})

test('registers a transaction under the key it is given, and reads eligibility with the session', async () => {
  service.script.answer = (request, response) =>
    request.path === '/v1/eligibility'
      ? json(response, 200, collection([]))
      : json(response, 200, {
          requestId: 'wf_1',
          workflowType: 'x',
          status: 'submitted',
          transactions: [],
          canonicalPostconditions: [],
        })
  const hash = `0x${'1'.repeat(64)}` as const
  await client.registerTransaction({
    params: { requestId: 'wf_1' },
    body: { order: 0, chainId: 1, txHash: hash },
    idempotencyKey: 'key-9',
  })
  await client.listEligibility({ session: 'ws_token' })
  expect(service.arrived[0]).toMatchObject({
    path: '/v1/workflows/wf_1/transactions',
    headers: { 'idempotency-key': 'key-9' },
  })
  expect(service.arrived[1]?.headers['x-svc-wallet-session']).toBe('ws_token')
})

test('refuses a key that cannot be sent, without printing it', () => {
  for (const secretKey of ['', 'two words', 'line\n', 'ключ']) {
    const make = () => createServiceClient({ baseUrl: service.url, secretKey, timeouts: PATIENT }, clock)
    expect(make).toThrow('The secret key is empty or holds a character that no key has.')
  }
})
