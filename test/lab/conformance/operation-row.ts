import { randomUUID } from 'node:crypto'
import { type Answer, type Caller, createCaller, labelOf, type Presented, type Target } from './calls.ts'
import { contractProblems } from './contract-check.ts'
import { type Findings, type Row, rowOf } from './row.ts'
import { scenarioOf } from './scenarios.ts'
import { isObject, type Json, resourceProblems } from './shape-check.ts'
import type { Credential, Operation } from './transcription/operations.ts'
import { PAGE_SIZE_MAX, QUERY } from './transcription/statuses.ts'
import { itemsOf, type World } from './world.ts'

/** Everything a caller can present. */
const PRESENTABLE: readonly (readonly Credential[])[] = [
  [],
  ['secret'],
  ['publishable'],
  ['session'],
  ['secret', 'session'],
  ['publishable', 'session'],
]

/** Operations whose query the document calls "none": they take no cursor and no page size. */
const UNPAGED = ['GET /v1/applications', 'GET /v1/contracts/', 'GET /v1/transactions/', 'GET /v1/usage']

/** What the parts of a row look at. */
type Look = {
  readonly world: World
  readonly operation: Operation
  readonly call: Caller
  readonly findings: Findings
}

/** Witness one operation: what is published of it, and how it answers each caller. */
export function witnessOperation(world: World, operation: Operation): Promise<Row> {
  return rowOf('operation', operation.name, async (findings) => {
    const look: Look = { world, operation, findings, call: createCaller(world.service, findings) }
    findings.take(contractProblems(world.contract, operation))
    await refuseForbidden(look)
    await servePermitted(look)
    if (operation.writes) await holdIdempotency(look)
    await refuseMalformed(look)
    if (operation.collection && !UNPAGED.some((start) => operation.name.startsWith(start)))
      await turnPages(look)
    if (operation.selects) await selectFields(look)
  })
}

const permits = (operation: Operation, presented: readonly Credential[]) =>
  operation.access.some((set) => set.every((one) => presented.includes(one)))

const targetOf = async ({ world, operation }: Look, credentials: readonly Credential[]): Promise<Target> =>
  (await scenarioOf(operation).target?.(world, credentials)) ?? {}

/** Each permitted set of credentials: 200, and the answer as transcribed. */
async function servePermitted(look: Look): Promise<void> {
  const { operation, findings, call, world } = look
  for (const credentials of operation.access) {
    const target = await targetOf(look, credentials)
    const answer = await call(operation, target, { credentials })
    if (!held200(findings, answer)) continue
    findings.take(answerProblems(operation, answer))
    if (isObject(answer.body))
      findings.take((await scenarioOf(operation).inspect?.(world, answer.body, credentials, target)) ?? [])
  }
}

function held200(findings: Findings, { status, body, label }: Answer): boolean {
  const reason = isObject(body) ? `${body.code}: ${body.message}` : ''
  findings.hold(status === 200, `${label}: ${status}, not 200 (${reason})`)
  return status === 200
}

function answerProblems({ collection, answer }: Operation, { body, label }: Answer): readonly string[] {
  if (!collection) {
    if (answer === null) return isObject(body) ? [] : [`${label}: the answer is no object`]
    return resourceProblems(answer, body, `${label}: ${answer}`)
  }
  if (!isObject(body) || !Array.isArray(body.items)) return [`${label}: no items`]
  return [
    ...resourceProblems('PageInfo', body.pageInfo, `${label}: pageInfo`),
    ...resourceProblems('Freshness', body.freshness, `${label}: freshness`),
    ...(body.items.length <= PAGE_SIZE_MAX ? [] : [`${label}: a page of ${body.items.length}`]),
    ...body.items.flatMap((item: unknown) =>
      answer === null
        ? isObject(item)
          ? []
          : [`${label}: a row that is no object`]
        : resourceProblems(answer, item, `${label}: ${answer}`),
    ),
  ]
}

/** Each set of credentials that is not enough, keys that are none, a key without the scope, a secret in a browser. */
async function refuseForbidden(look: Look): Promise<void> {
  const { operation, findings, call, world } = look
  const target = await targetOf(look, operation.access[0] ?? [])
  const refuse = async (presented: Presented, ...statuses: readonly number[]) => {
    const { status } = await call(operation, target, presented)
    findings.hold(statuses.includes(status), `${labelOf(presented)}: ${status}, not ${statuses.join(' or ')}`)
  }
  for (const credentials of PRESENTABLE.filter((presented) => !permits(operation, presented)))
    await refuse({ credentials }, 401, ...(credentials.length === 0 ? [] : [403]))
  const credentials = operation.access.find((set) => set.includes('secret'))
  if (credentials === undefined) return
  for (const one of new Set(operation.access.flat()))
    await refuse(
      { credentials: operation.access.find((set) => set.includes(one)) ?? [], headers: WRONG[one] },
      401,
    )
  await refuse({ credentials, headers: { origin: world.info.origins[0] ?? '' } }, 401, 403)
  const unscoped = await world.unscopedKey(world.contract.operation(operation)?.['x-required-scope'])
  await refuse({ credentials, headers: { authorization: `Bearer ${unscoped}` } }, 403)
}

/** A credential of each kind that nobody was given. */
const WRONG: Readonly<Record<Credential, Readonly<Record<string, string>>>> = {
  secret: { authorization: 'Bearer sk_none' },
  publishable: { 'x-svc-publishable-key': 'pk_none' },
  session: { 'x-svc-wallet-session': 'ws_none' },
}

/** Without a key 400; the same key and body twice is one effect; another body under the same key is a conflict. */
async function holdIdempotency(look: Look): Promise<void> {
  const { operation, findings, call } = look
  const credentials = operation.access[0] ?? []
  const target = await targetOf(look, credentials)
  const keyless = await call(operation, target, { credentials, idempotencyKey: null })
  findings.hold(keyless.status === 400, `${keyless.label}: ${keyless.status}, not 400`)
  const idempotencyKey = randomUUID()
  const first = await call(operation, target, { credentials, idempotencyKey })
  if (!held200(findings, first)) return
  const again = await call(operation, target, { credentials, idempotencyKey })
  const same = again.status === first.status && JSON.stringify(again.body) === JSON.stringify(first.body)
  findings.hold(same, `the same key and body: ${first.status}, then ${again.status} with another answer`)
  if (target.body === undefined) return
  const other = { ...target, body: { ...(isObject(target.body) ? target.body : {}), unlike: 'the first' } }
  const conflict = await call(operation, other, { credentials, idempotencyKey })
  findings.hold(conflict.status === 409, `the same key and another body: ${conflict.status}, not 409`)
}

async function refuseMalformed(look: Look): Promise<void> {
  const { operation, findings, call, world } = look
  const { refused } = scenarioOf(operation)
  if (refused === undefined) return
  const credentials = operation.access[0] ?? []
  for (const [name, target] of Object.entries(refused(world, await targetOf(look, credentials)))) {
    const { status } = await call(operation, target, { credentials })
    findings.hold(status === 400, `${name}: ${status}, not 400`)
  }
}

/** Pages hold what is asked for at most, follow each other by cursor, and never more than the limit. */
async function turnPages(look: Look): Promise<void> {
  const { operation, findings, call } = look
  const credentials = operation.access[0] ?? []
  const target = await targetOf(look, credentials)
  const page = (...query: readonly (readonly [string, string])[]) =>
    call(operation, { ...target, query }, { credentials })
  for (const size of ['0', String(PAGE_SIZE_MAX + 1), 'x']) {
    const { status } = await page([QUERY.pageSize, size])
    findings.hold(status === 400, `${QUERY.pageSize}=${size}: ${status}, not 400`)
  }
  const bad = await page([QUERY.cursor, 'no-cursor'])
  findings.hold(bad.status === 400, `a cursor of our own: ${bad.status}, not 400`)
  const largest = await page([QUERY.pageSize, String(PAGE_SIZE_MAX)])
  findings.hold(largest.status === 200, `${QUERY.pageSize}=${PAGE_SIZE_MAX}: ${largest.status}, not 200`)
  const first = await page([QUERY.pageSize, '1'])
  if (!held200(findings, first) || !isObject(first.body)) return
  const [row, extra] = itemsOf(first.body)
  findings.hold(extra === undefined, `${QUERY.pageSize}=1 gave more than one row`)
  const info: Json = isObject(first.body.pageInfo) ? first.body.pageInfo : {}
  findings.hold(
    info.hasMore !== true || typeof info.nextCursor === 'string',
    'there is more, and no cursor to it',
  )
  if (info.hasMore !== true) return
  const second = await page([QUERY.pageSize, '1'], [QUERY.cursor, String(info.nextCursor)])
  if (!held200(findings, second) || !isObject(second.body)) return
  const [next] = itemsOf(second.body)
  findings.hold(JSON.stringify(next) !== JSON.stringify(row), 'the second page repeats the first')
}

/** Selected members and identity come, others do not; a path that names nothing is refused by its own code. */
async function selectFields(look: Look): Promise<void> {
  const { operation, findings, call } = look
  const credentials = operation.access[0] ?? []
  const target = await targetOf(look, credentials)
  const select = (...paths: readonly string[]) =>
    call(operation, { ...target, query: paths.map((path) => [QUERY.fields, path] as const) }, { credentials })
  const whole = await call(operation, target, { credentials })
  const members = isObject(whole.body) ? whole.body : {}
  const nested = Object.entries(members).find(([name, value]) => isObject(value) && name !== 'freshness')
  const inner = nested !== undefined && isObject(nested[1]) ? Object.keys(nested[1])[0] : undefined
  const dotted = nested === undefined || inner === undefined ? [] : [`${nested[0]}.${inner}`]
  const chosen = await select('name', ...dotted)
  if (held200(findings, chosen) && isObject(chosen.body)) {
    const kept = [
      'id',
      'chainId',
      'address',
      'freshness',
      'name',
      ...(nested === undefined ? [] : [nested[0]]),
    ]
    const got = Object.keys(chosen.body)
    const lacking = kept.filter((name) => name in members && !got.includes(name))
    findings.take(lacking.map((name) => `fields=name lacks ${name}`))
    const beyond = got.filter((name) => !kept.includes(name) && !/Address$/.test(name))
    findings.take(beyond.map((name) => `fields=name holds ${name} too`))
  }
  for (const path of ['nothing', 'name.nothing', `${dotted[0] ?? 'name'}.nothing`]) {
    const { status, body } = await select('name', path)
    const refused = status === 400 && isObject(body) && body.code === 'invalid_fields'
    findings.hold(
      refused,
      `fields=${path}: ${status} ${isObject(body) ? body.code : ''}, not 400 invalid_fields`,
    )
  }
}
