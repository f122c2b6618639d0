import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts'
import { ASSUMPTIONS } from '../../src/service/contract/assumptions.ts'
import { OPERATIONS, type OperationId } from '../../src/service/contract/operations.ts'
import { SERVICE_TIMEOUTS } from '../../src/service/http.ts'
import { leapingClock } from './clocks.ts'
import { collection, FRESH, failure, json, type Scripted, startScripted } from './scripted-service.ts'

const A = `0x${'a1'.repeat(20)}`
const refuse: Scripted['script']['answer'] = (_, response) => json(response, 400, failure('no'))

let service: Scripted
let client: ServiceClient
beforeAll(async () => {
  service = await startScripted(refuse)
  client = createServiceClient(
    { baseUrl: `${service.url}/prefix`, secretKey: 'sk_1', timeouts: SERVICE_TIMEOUTS },
    leapingClock(),
  )
})
beforeEach(() => {
  service.script.answer = refuse
  service.arrived.length = 0
})
afterAll(async () => {
  await client.close()
  await service.close()
})

const ids = Object.keys(OPERATIONS) as OperationId[]

test('has a method for each of the 65 operations', () => {
  expect(ids).toHaveLength(65)
  expect(ids.filter((id) => typeof client[id] !== 'function')).toEqual([])
})

test.each(ids)('asks %s by the catalogue: method, path, key, idempotency key, body', async (id) => {
  const { method, path, changes, body, fields } = OPERATIONS[id]
  const params = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, `${name} 1`]))
  // Any operation, so that the types of one do not help here.
  const ask = client[id] as (call: unknown) => Promise<unknown>
  const call = {
    params,
    session: 'ws_1',
    bodyText: '{"a":  1}',
    ...(changes ? { idempotencyKey: 'key-1' } : {}),
    ...(fields ? { fields: ['x', 'y.z'] } : {}),
  }
  await expect(ask(call)).rejects.toMatchObject({ code: 'service.bad_request', facts: { operation: id } })
  expect(service.arrived).toHaveLength(1)
  const [arrived] = service.arrived
  expect(arrived).toMatchObject({
    method,
    path: `/prefix${path.replace(/\{(\w+)\}/g, '$1%201')}`,
    body: body === null ? '' : '{"a":  1}',
  })
  expect(arrived?.headers.authorization).toBe('Bearer sk_1')
  expect(arrived?.headers['x-svc-wallet-session']).toBe('ws_1')
  expect(arrived?.headers['idempotency-key']).toBe(changes ? 'key-1' : undefined)
  expect(arrived?.query.getAll('fields')).toEqual(fields ? ['x', 'y.z'] : [])
})

test('speaks to a deployment by its own names of parameters and headers', async () => {
  const assumptions = {
    ...ASSUMPTIONS,
    query: { cursor: 'after', pageSize: 'first', fields: 'only', wallet: 'owner', borrower: 'debtor' },
    credentialHeaders: { publishableKey: 'x-brand-key', walletSession: 'x-brand-session' },
    rateLimitHeaders: { remaining: 'x-left', resetSeconds: 'x-reset' },
  }
  const clock = leapingClock()
  const publishableKey = { key: 'pk_1', origin: 'https://app.example' }
  const other = createServiceClient(
    { baseUrl: service.url, publishableKey, timeouts: SERVICE_TIMEOUTS, assumptions },
    clock,
  )
  const startMs = clock.nowMs()
  service.script.answer = (_, response) =>
    json(response, 200, collection([]), { 'x-left': '0', 'x-reset': '2' })
  await other.pages.listPositions({ cursor: '5', session: 'ws_1' }).next()
  await other.listMarkets()
  expect(clock.nowMs() - startMs).toBe(2_000)
  service.script.answer = refuse
  await expect(other.getMarket({ params: { resourceId: 'm' }, fields: ['x'] })).rejects.toThrow()
  await other.close()
  const [page, , detail] = service.arrived
  expect(String(page?.query)).toBe('first=100&after=5')
  expect(page?.headers).toMatchObject({ 'x-brand-key': 'pk_1', 'x-brand-session': 'ws_1' })
  expect(String(detail?.query)).toBe('only=x')
})

test('changes nothing without an idempotency key, whatever the types were told', async () => {
  const ask = client.revokeKey as (call: unknown) => Promise<unknown>
  for (const idempotencyKey of [undefined, '', 'two words', 'k'.repeat(201)])
    await expect(ask({ params: { keyId: 'k' }, body: {}, idempotencyKey })).rejects.toThrow('revokeKey')
  expect(service.arrived).toEqual([])
})

test('sends no parameter that would name another path', async () => {
  for (const resourceId of ['', '.', '..'])
    await expect(client.getVault({ params: { resourceId } })).rejects.toMatchObject({
      code: 'service.bad_request',
    })
  expect(service.arrived).toEqual([])
})

test('presents a publishable key with its origin, another key over the same connections, or none', async () => {
  const publishable = client.as({ publishableKey: { key: 'pk_1', origin: 'https://app.example' } })
  const other = client.as({ secretKey: 'sk_2', keyPath: 'agents[1].secretKey' })
  await expect(publishable.listFunds()).rejects.toThrow()
  await expect(other.listFunds()).rejects.toMatchObject({ facts: { keyPath: 'agents[1].secretKey' } })
  await expect(client.as({}).listMarkets()).rejects.toThrow()
  const [first, second, third] = service.arrived.map(({ headers }) => headers)
  expect(first).toMatchObject({ 'x-svc-publishable-key': 'pk_1', origin: 'https://app.example' })
  expect(first?.authorization).toBeUndefined()
  expect(second?.authorization).toBe('Bearer sk_2')
  expect(third?.authorization).toBeUndefined()
  expect(service.connections()).toBeLessThanOrEqual(2)
})

test('says which operation lacks which scope, and whose key that is', async () => {
  service.script.answer = (_, response) => json(response, 403, failure('insufficient_scope'))
  const keyed = client.as({ secretKey: 'sk_2', keyPath: 'agents[1].secretKey' })
  await expect(keyed.listFunds()).rejects.toMatchObject({
    code: 'service.forbidden',
    fix: 'give the key of `agents[1].secretKey` the scope `canonical:read`: listFunds needs publishable or secret, with this scope.',
  })
})

test('gives the freshness of a detail read, and null where the answer says nothing', async () => {
  service.script.answer = (_, response) =>
    json(response, 200, { id: 'v', chainId: 1, address: A, symbol: 'V', freshness: FRESH })
  expect((await client.getVault({ params: { resourceId: 'v' } })).freshness).toMatchObject(FRESH)
  service.script.answer = (_, response) => json(response, 200, { data: {} })
  expect((await client.queryGraphql({ body: { query: '{a}' } })).freshness).toBeNull()
})

test('reads selected fields, at any depth, without the members that a whole resource has', async () => {
  const partial = {
    id: 'f',
    chainId: 1,
    address: A,
    freshness: FRESH,
    currentEpoch: { status: 'open' },
    holdings: [{ claimableAssets: '7' }],
  }
  service.script.answer = (_, response) => json(response, 200, partial)
  const { answer } = await client.getFund({
    params: { resourceId: 'f' },
    fields: ['currentEpoch.status', 'holdings.claimableAssets'],
  })
  expect(answer).toEqual(partial)
  service.script.answer = (_, response) => json(response, 200, { ...partial, address: undefined })
  await expect(client.getFund({ params: { resourceId: 'f' } })).rejects.toMatchObject({
    facts: { what: 'the answer does not fit at answer.address' },
  })
})

test('gives a collection page by page from a cursor, and no more than is asked for', async () => {
  service.script.answer = (request, response) => {
    const cursor = Number(request.query.get('cursor'))
    json(response, 200, collection([{ chainId: cursor, name: 'n', status: 's' }, {}], `${cursor + 1}`))
  }
  const seen: unknown[] = []
  for await (const page of client.pages.listNetworks({ cursor: '5' })) {
    seen.push([
      page.items.map(({ chainId }) => chainId),
      page.dropped,
      page.nextCursor,
      page.freshness.status,
    ])
    if (seen.length === 3) break
  }
  expect(seen).toEqual([
    [[5], 1, '6', 'current'],
    [[6], 1, '7', 'current'],
    [[7], 1, '8', 'current'],
  ])
  expect(service.arrived).toHaveLength(3)
})

test.each([
  ['the cursor it began at', '5', ['5'], 'service.garbage'],
  ['a cursor of two pages ago', '5', ['6', '5'], 'service.garbage'],
])('ends with an error where the service gives %s', async (_name, cursor, cursors, code) => {
  let page = 0
  service.script.answer = (_, response) => json(response, 200, collection([], cursors[page++]))
  const read = async () => {
    for await (const _page of client.pages.listNetworks({ cursor }));
  }
  await expect(read()).rejects.toMatchObject({ code })
  expect(service.arrived.length).toBeLessThanOrEqual(100)
})

test('reads on page by page where a whole collection would be too large', async () => {
  let page = 0
  service.script.answer = (_, response) => {
    page += 1
    json(response, 200, collection([], page === 150 ? null : `c${page}`))
  }
  let pages = 0
  for await (const _page of client.pages.listNetworks()) pages += 1
  expect(pages).toBe(150)
})
