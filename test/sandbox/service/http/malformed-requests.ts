import fc from 'fast-check'
import { OPERATIONS, type Operation } from '../../../../src/service/contract/operations.ts'
import { CHAIN_ID, liquidation, ORIGIN, PUBLISHABLE, SECRET } from '../fixture.ts'

/** A request as it is sent; an array sends a header more than once. */
export type RawRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
  /** Whether it may be well-formed after all: then 200 is an answer too. */
  readonly mayPass: boolean
}

const operations: readonly Operation[] = Object.values(OPERATIONS)
const one = (of: (operation: Operation) => boolean) => fc.constantFrom(...operations.filter(of))
const hasParams = ({ path }: Operation) => path.includes('{')
const any = () => true

const secret = { authorization: `Bearer ${SECRET}` }
const publishable = { 'x-svc-publishable-key': PUBLISHABLE, origin: ORIGIN }

/** What an operation takes, so that nothing but the malformation is wrong. */
function credentials({ permits }: Operation, session: string): Record<string, string> {
  if (permits.includes('anonymous')) return {}
  const wallet = { 'x-svc-wallet-session': session }
  if (permits.includes('secret')) return secret
  return permits.includes('publishable+wallet') ? { ...publishable, ...wallet } : { ...secret, ...wallet }
}

const path = ({ path }: Operation, fill = 'none') => path.replace(/\{\w+\}/g, fill)

/** Requests each of which is malformed in one way, over every operation. */
export function malformedRequests(session: string): fc.Arbitrary<RawRequest> {
  const sound = (operation: Operation, changes: Partial<RawRequest> = {}): RawRequest => ({
    method: operation.method,
    path: path(operation),
    headers: credentials(operation, session),
    ...(operation.body === null ? {} : { body: '{}' }),
    mayPass: false,
    ...changes,
  })
  const takesBody = one(({ body }) => body !== null)
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(takesBody, badBody).map(([op, body]) => sound(op, { body })) },
    {
      weight: 3,
      arbitrary: fc.tuple(takesBody, alteredBody).map(([op, body]) => sound(op, { body, mayPass: true })),
    },
    { weight: 3, arbitrary: fc.tuple(takesBody, badType).map(([op, type]) => typed(sound(op), type)) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(
          one(({ method }) => method === 'GET'),
          badQuery,
        )
        .map(([op, query]) => queried(sound(op), op, query)),
    },
    {
      weight: 4,
      arbitrary: fc.tuple(one(hasParams), badParam).map(([op, fill]) => sound(op, { path: path(op, fill) })),
    },
    {
      weight: 5,
      arbitrary: fc.tuple(one(any), badCredentials).map(([op, headers]) => sound(op, { headers })),
    },
    {
      weight: 1,
      arbitrary: one(({ permits }) => !permits.includes('anonymous')).map((op) => sound(op, { headers: {} })),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          one(({ changes }) => changes),
          badKey,
        )
        .map(([op, key]) => keyed(sound(op), key)),
    },
    { weight: 3, arbitrary: fc.tuple(one(any), badRoute).map(([op, route]) => routed(sound(op), route)) },
  )
}

const typed = (request: RawRequest, type: string): RawRequest => ({
  ...request,
  headers: { ...request.headers, 'content-type': type },
})

const keyed = (request: RawRequest, key: string | readonly string[]): RawRequest => ({
  ...request,
  headers: { ...request.headers, 'idempotency-key': key },
})

/** A detail without `fields` takes no parameter at all. */
const queried = (request: RawRequest, { answer, fields }: Operation, query: string): RawRequest => ({
  ...request,
  path: `${request.path}?${answer.kind === 'collection' || fields ? query : 'limit=1'}`,
})

const routed = (request: RawRequest, route: Partial<RawRequest> | ((path: string) => string)): RawRequest =>
  typeof route === 'function' ? { ...request, path: route(request.path) } : { ...request, ...route }

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value))
const between = (min: number, max: number) => fc.integer({ min, max })

/** None of these is an object that any operation takes. */
const badBody: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  fc.string().map((text) => `!${text}`),
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value).slice(0, -1)),
  fc.uint8Array({ minLength: 1, maxLength: 100 }).map((bytes) => Buffer.from([0x22, ...bytes, 0xff, 0x22])),
  fc.tuple(json, json).map(([a, b]) => `{"name":${a},"name":${b}}`),
  fc.tuple(json, json).map(([a, b]) => `{"name":${a},"na\\u006de":${b}}`),
  between(65, 50_000).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  between(65, 30_000).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
  json.map((value) => `{"__proto__":${value}}`),
  json.map((value) => `{"constructor":{"prototype":${value}}}`),
  fc.tuple(between(0, 1e9), json).map(([n, value]) => `{"x${n}":${value}}`),
  fc.oneof(
    json.map((value) => `[${value}]`),
    fc.constantFrom('null', '0', '1e999', '"text"', 'true', ' '),
  ),
  { weight: 1, arbitrary: between(262_145, 300_000).map((bytes) => ' '.repeat(bytes)) },
)

const BODIES: readonly Record<string, unknown>[] = [
  { name: 'Name', slug: 'slug', environment: 'live', scopes: ['keys:read'] },
  { kind: 'publishable', scopes: [], origins: ['http://a.test'] },
  { scopes: ['keys:read'], useCase: 'A use of twenty characters' },
  { address: `0x${'1'.repeat(40)}`, chainId: CHAIN_ID },
  { challengeId: 'wch_1', signature: '0x00' },
  { order: 0, chainId: CHAIN_ID, txHash: `0x${'1'.repeat(64)}` },
  { query: '{ markets { items { id } } }', variables: {} },
  { url: 'https://a.test/', eventTypes: ['markets.updated'] },
  { fixtureSet: 'standard' },
  { assetAddress: `0x${'1'.repeat(40)}` },
  liquidation(),
  { ...liquidation(), input: {} },
]

const ODD = [
  null,
  true,
  {},
  [],
  [[]],
  -1,
  0.5,
  1e308,
  2 ** 53,
  '',
  '\u0000',
  '\ud800',
  'x'.repeat(10_000),
  '0x',
  {},
]

/** A body of some operation with one member replaced: perhaps still right. */
const alteredBody = fc
  .tuple(fc.constantFrom(...BODIES), fc.nat(), fc.oneof(fc.constantFrom(...ODD), fc.jsonValue()))
  .map(([body, nth, value]) => {
    const names = Object.keys(body)
    return JSON.stringify({ ...body, [names[nth % names.length] ?? '']: value })
  })

const badType = fc.constantFrom(
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/jsonx',
  'json',
  '*/*',
)

const text = fc.string({ unit: 'binary', minLength: 1 }).map(encodeURIComponent)
/** Refused by every collection, and by every detail that takes `fields`. */
const badQuery = fc.oneof(
  fc.tuple(between(0, 1e9), text).map(([n, value]) => `x${n}=${value}`),
  text.map((value) => `limit=1&limit=${value}`),
  text.map((value) => `cursor=!${value}&fields=!`),
  text.map((value) => `fields=!${value}`),
  fc
    .constantFrom('limit=0', 'limit=101', 'limit=1e1', 'limit=%zz', 'cursor=', 'cursor=a.b.c', 'limit[]=1')
    .map((query) => `${query}&fields=`),
  fc.constantFrom('__proto__=1', 'constructor=1', 'fields=__proto__&limit=0', '%', '=', 'toString'),
)

const badParam = fc.oneof(
  fc.string({ unit: 'binary' }).map((value) => encodeURIComponent(`!${value}`)),
  fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '%ff',
    '%2e%2e%2f',
    '..',
    '__proto__',
    'x'.repeat(201),
    '0x',
    '%F0%9F%92%A9',
  ),
)

const token = fc.stringMatching(/^[!-~]{0,60}$/)
const badCredentials: fc.Arbitrary<RawRequest['headers']> = fc.oneof(
  token.map((value) => ({ authorization: `Bearer x${value}` })),
  token.map((value) => ({ authorization: `Basic ${value}` })),
  token.map((value) => ({ ...publishable, 'x-svc-publishable-key': `x${value}` })),
  token.map((value) => ({ ...secret, 'x-svc-wallet-session': `x${value}` })),
  token.map((value) => ({ origin: `http://x${value}` })),
  fc.constantFrom(
    { ...secret, origin: ORIGIN },
    { 'x-svc-publishable-key': PUBLISHABLE },
    { ...publishable, origin: 'null' },
    { authorization: `Bearer ${PUBLISHABLE}` },
    { 'x-svc-publishable-key': SECRET, origin: ORIGIN },
    { 'x-svc-publishable-key': [PUBLISHABLE, PUBLISHABLE], origin: ORIGIN },
    { 'x-svc-wallet-session': '' },
    { authorization: '' },
    { authorization: `Bearer ${'x'.repeat(8_000)}` },
    { ...secret, host: 'evil.test' },
  ),
)

/** Undefined is not in the list: a request without a key is sent by the empty list of them. */
const badKey: fc.Arbitrary<string | readonly string[]> = fc.oneof(
  fc.constantFrom('', ' ', 'a b', 'x'.repeat(201), 'k\u00e9', ['a', 'b'], []),
  // A space within: HTTP drops those around a value.
  fc.string({ maxLength: 10 }).map((value) => `a${value.replace(/[^ -~]/g, '')} x`),
)

const badRoute = fc.oneof(
  fc.constantFrom('PUT', 'PROPFIND', 'OPTIONS', 'TRACE').map((method) => ({ method })),
  fc
    .constantFrom('/', '/v1', '/v2/markets', '//', '/v1/%zz', '/v1/markets/', '/graphql/', '/.env')
    .map((path) => ({ path })),
  fc.constantFrom(
    (path: string) => `${path}/`,
    (path: string) => `/${path}`,
    (path: string) => `${path}/x/y`,
  ),
  fc.string({ unit: 'binary' }).map((value) => ({ path: `/v1/${encodeURIComponent(value)}x` })),
)
