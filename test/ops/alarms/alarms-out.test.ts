import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { AlarmTargetConfig } from '../../../src/config/alarms.ts'
import { Secret } from '../../../src/config/secrets/secret.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { createAlarmsOut } from '../../../src/ops/alarms/alarms-out.ts'
import { createIncidents, RECOVERED_MS } from '../../../src/ops/alarms/incidents.ts'
import type { Notice } from '../../../src/ops/alarms/shapes.ts'
import { createAlarmTarget } from '../../../src/ops/alarms/target.ts'
import { createScrubber } from '../../../src/ops/scrub.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A server on loopback that does with each request what it is told. */
async function serverThat(answers: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const server = createServer(answers).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return new Secret(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/k-canary-1`)
}

/** A server that takes everything, and what it was told, as it comes. */
async function listener() {
  const told: { readonly headers: IncomingMessage['headers']; readonly body: Record<string, unknown> }[] = []
  let onTold = () => {}
  const url = await serverThat(async (request, response) => {
    told.push({ headers: request.headers, body: JSON.parse(await text(request)) })
    response.writeHead(202).end()
    onTold()
  })
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      onTold = () => told.length >= count && resolve()
      onTold()
    })
  return { url, told, until }
}

const webhook = (url: Secret, name = 'ops'): AlarmTargetConfig => ({
  name,
  kind: 'webhook',
  url,
  key: undefined,
})

function startOut(
  configs: readonly AlarmTargetConfig[],
  deps: Partial<Parameters<typeof createAlarmsOut>[1]> = {},
) {
  const deliveries: string[] = []
  let onDelivered = () => {}
  const out = createAlarmsOut(configs, {
    clock: systemClock,
    source: 'rolekeeper test',
    scrub: createScrubber([]),
    onDelivery: (name, outcome) => {
      deliveries.push(`${name} ${outcome}`)
      onDelivered()
    },
    ...deps,
  })
  closing.push(out.close)
  const until = (which: string) =>
    new Promise<void>((resolve) => {
      onDelivered = () => deliveries.includes(which) && resolve()
      onDelivered()
    })
  return { ...out, deliveries, untilDelivery: until }
}

const alarm = (code: string, facts: Readonly<Record<string, string>> = {}) =>
  new RolekeeperError(code, `It is so: ${code}.`, { fix: 'look.', facts })

it('tells a target of each incident once, in its own shape, and with its key where that belongs', async () => {
  const [own, slack, pager] = [await listener(), await listener(), await listener()]
  const key = new Secret('rk-canary-2')
  const out = startOut([
    { name: 'own', kind: 'webhook', url: own.url, key },
    { name: 'slack', kind: 'slack', url: slack.url, key: undefined },
    { name: 'pager', kind: 'pagerduty', url: pager.url, key },
  ])
  const low = alarm('signer.low_balance', { role: 'allocator', signer: '0x51' })
  for (let again = 0; again < 3; again++) out.raise(low)
  out.raise(alarm('nav-reporter.quorum_short', { role: 'nav-reporter' }))
  await Promise.all([own.until(2), slack.until(2), pager.until(2)])
  expect(
    own.told.map(({ body: { code, about, action, runbook } }) => [action, code, about, runbook]),
  ).toEqual([
    ['trigger', 'signer.low_balance', 'allocator 0x51', 'docs/runbooks/signing.md#signerlow_balance'],
    [
      'trigger',
      'nav-reporter.quorum_short',
      'nav-reporter',
      'docs/runbooks/results.md#nav-reporterquorum_short',
    ],
  ])
  expect(own.told[0]?.headers.authorization).toBe('rk-canary-2')
  expect(slack.told[0]?.body).toEqual({
    text: expect.stringContaining('*signer.low_balance (allocator 0x51)*'),
  })
  expect(pager.told[0]?.body).toMatchObject({
    routing_key: 'rk-canary-2',
    event_action: 'trigger',
    dedup_key: own.told[0]?.body.key,
    payload: { class: 'signer.low_balance', severity: 'error', source: 'rolekeeper test' },
  })
  expect(JSON.stringify([own.told.map(({ body }) => body), slack.told])).not.toContain('canary')
})

it('waits for no target: those that hang, fail, redirect or drip hold up neither an alarm nor each other', async () => {
  const good = await listener()
  const elsewhere = await listener()
  const hangs = await serverThat(() => undefined)
  const drips = await serverThat((_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('.')
  })
  const fails = await serverThat((_, response) => response.writeHead(500).end('k-canary-1'))
  const redirects = await serverThat((_, response) =>
    response.writeHead(302, { location: elsewhere.url.reveal() }).end(),
  )
  const out = startOut([
    ...[webhook(hangs, 'hangs'), webhook(drips, 'drips'), webhook(fails, 'fails')],
    ...[webhook(redirects, 'redirects'), webhook(good.url, 'good')],
  ])
  out.raise(alarm('node.no_quorum'))
  await good.until(1)
  await out.untilDelivery('good delivered')
  await out.untilDelivery('fails failed')
  await out.untilDelivery('redirects failed')
  expect(out.deliveries).not.toContain('hangs failed')
  await out.untilDelivery('hangs failed')
  // It has taken it: what it says beside that is not waited for.
  await out.untilDelivery('drips delivered')
  const problems = Object.fromEntries(out.targets().map(({ name, problem }) => [name, problem]))
  expect(problems).toEqual({
    good: null,
    drips: null,
    fails: 'it answers 500',
    redirects: 'it answers 302',
    hangs: 'no answer within 5000 ms',
  })
  expect(elsewhere.told).toEqual([])
  expect(JSON.stringify([problems, out.deliveries])).not.toContain('canary')
})

it('tries again until a target takes it, and tells what waited in its order', async () => {
  let refusals = 2
  const told: string[] = []
  let done = () => {}
  const url = await serverThat(async (request, response) => {
    const { code } = JSON.parse(await text(request))
    const isTaken = refusals-- <= 0
    if (isTaken) told.push(code)
    response.writeHead(isTaken ? 200 : 503).end()
    if (told.length === 2) done()
  })
  const hasAll = new Promise<void>((resolve) => {
    done = resolve
  })
  const waits: number[] = []
  const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) }
  const out = startOut([webhook(url)], { clock })
  out.raise(alarm('role.down'))
  out.raise(alarm('key.not_signing'))
  await hasAll
  expect(told).toEqual(['role.down', 'key.not_signing'])
  expect(waits).toEqual([1_000, 2_000])
  await out.untilDelivery('ops delivered')
  expect(out.targets()[0]?.failingSinceMs).toBeNull()
})

it.each([
  ['refuses (400)', 400],
  ['fails at (500)', 500],
  ['hangs at', null],
] as const)(
  'lets others pass a notice that a target %s, and keeps each incident in its order',
  async (_, status) => {
    const told: string[] = []
    const refused = new Set<string>()
    let refuses = true
    let onTold = () => {}
    const url = await serverThat(async (request, response) => {
      const { action, code } = JSON.parse(await text(request))
      const isRefused = refuses && code === 'node.alone'
      if (!isRefused) response.writeHead(202).end()
      else if (status !== null) response.writeHead(status).end()
      if (isRefused) refused.add(action)
      else told.push(`${action} ${code}`)
      onTold()
    })
    const until = (count: number) =>
      new Promise<void>((resolve) => {
        onTold = () => told.length >= count && resolve()
        onTold()
      })
    const sleep = (_ms: number, signal?: AbortSignal) => systemClock.sleep(1, signal)
    const target = createAlarmTarget(webhook(url), {
      clock: { ...systemClock, sleep },
      source: 'rolekeeper test',
      onDelivery: () => {},
    })
    closing.push(target.close)
    const notice = (code: string, action: Notice['action'] = 'trigger'): Notice => ({
      action,
      key: code,
      code,
      about: '',
      message: '',
      fix: '',
      severity: 'error',
      atMs: 0,
    })
    target.push(notice('node.alone'))
    target.push(notice('signer.safe'))
    target.push(notice('node.alone', 'resolve'))
    target.push(notice('disk.low'))
    await until(2)
    expect(told).toEqual(['trigger signer.safe', 'trigger disk.low'])
    refuses = false
    await until(4)
    expect(told.slice(2)).toEqual(['trigger node.alone', 'resolve node.alone'])
    expect([...refused]).toEqual(['trigger'])
  },
)

it('waits a minute at the most between two tries, and as little as at first once something was taken', async () => {
  const refusals = [8, 1]
  const url = await serverThat((_, response) => {
    const [left = 0] = refusals
    if (left === 0) refusals.shift()
    else refusals[0] = left - 1
    response.writeHead(left === 0 ? 200 : 503).end()
  })
  const waits: number[] = []
  const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) }
  const out = startOut([webhook(url)], { clock })
  out.raise(alarm('role.down'))
  out.raise(alarm('key.not_signing'))
  await expect.poll(() => refusals).toEqual([])
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 1_000])
})

it('drops what a target did not take for an hour, and goes on with what is new', async () => {
  const url = await serverThat(async (request, response) => {
    const { code } = JSON.parse(await text(request))
    response.writeHead(code === 'role.down' ? 503 : 200).end()
  })
  let monotonicMs = 0
  const sleep = async () => {
    monotonicMs += 3_600_001
  }
  const out = startOut([webhook(url)], { clock: { ...systemClock, monotonicMs: () => monotonicMs, sleep } })
  out.raise(alarm('role.down'))
  await out.untilDelivery('ops dropped')
  out.raise(alarm('key.not_signing'))
  await out.untilDelivery('ops delivered')
  expect(out.deliveries).toEqual(['ops failed', 'ops dropped', 'ops delivered'])
})

it('stays small under 10,000 alarms, and says that there are more than it tells of', async () => {
  const { url, told, until } = await listener()
  const out = startOut([webhook(url)])
  for (let index = 0; index < 10_000; index++)
    out.raise(alarm('workflow.partial', { workflowId: String(index) }))
  await until(201)
  expect(new Set(told.map(({ body }) => body.key)).size).toBe(201)
  expect(told.map(({ body }) => body.code)).toContain('alarms.flood')
  await out.untilDelivery('ops delivered')
  expect(out.deliveries).not.toContain('ops dropped')
})

it('keeps a bounded number for a target that is away, the newest', async () => {
  const url = await serverThat(() => undefined)
  const dropped: string[] = []
  const target = createAlarmTarget(webhook(url), {
    clock: systemClock,
    source: 'rolekeeper test',
    onDelivery: (_, outcome) => void dropped.push(outcome),
  })
  closing.push(target.close)
  const notice = {
    action: 'trigger',
    code: 'a.b',
    about: '',
    message: '',
    fix: '',
    severity: 'error',
  } as const
  for (let index = 0; index < 1_000; index++) target.push({ ...notice, key: String(index), atMs: Date.now() })
  expect(dropped.filter((outcome) => outcome === 'dropped')).toHaveLength(600)
})

it('is over when it was not raised again for ten minutes, and begins anew after', () => {
  const told: Notice[] = []
  const incidents = createIncidents('test', (notice) => told.push(notice))
  const raise = (atMs: number) => incidents.raise(alarm('node.left_out', { node: 'read-2' }), atMs)
  const actions = () => told.map(({ action, atMs }) => `${action} ${atMs}`)
  raise(0)
  raise(60_000)
  incidents.look(60_000 + RECOVERED_MS)
  expect(actions()).toEqual(['trigger 0'])
  incidents.look(60_001 + RECOVERED_MS)
  expect(actions()).toEqual(['trigger 0', 'resolve 660001'])
  raise(700_000)
  expect(actions().at(-1)).toBe('trigger 700000')
  expect(new Set(told.map(({ key }) => key)).size).toBe(1)
})

it('is over at once when the facet is well again that it is of', () => {
  const told: Notice[] = []
  const incidents = createIncidents('test', (notice) => told.push(notice))
  incidents.raise(alarm('node.left_out', { node: 'read-2' }), 0, 'node/read-2')
  const event = { type: 'facet', at: '', facet: 'node', state: 'ok', code: 'ok', message: '' } as const
  incidents.hear({ ...event, about: 'read-1' }, 1)
  incidents.hear({ ...event, about: 'read-2', state: 'warning' }, 2)
  expect(told).toHaveLength(1)
  incidents.hear({ ...event, about: 'read-2' }, 3)
  expect(told[1]).toMatchObject({ action: 'resolve', key: told[0]?.key, atMs: 3 })
})

it('lasts for as long as the facet is not well that it is of, though it was raised but once', () => {
  const told: Notice[] = []
  const incidents = createIncidents('test', (notice) => told.push(notice))
  const safe = {
    type: 'facet',
    at: '',
    facet: 'signer',
    about: 'allocator',
    code: 'signer.safe',
    message: '',
  } as const
  incidents.raise(alarm('signer.safe', { signer: '0x51' }), 0, 'signer/allocator')
  incidents.hear({ ...safe, state: 'failing' }, 2_000)
  incidents.look(24 * RECOVERED_MS)
  expect(told.map(({ action }) => action)).toEqual(['trigger'])
  incidents.hear({ ...safe, state: 'ok', code: 'ok' }, 25 * RECOVERED_MS)
  expect(told.map(({ action }) => action)).toEqual(['trigger', 'resolve'])
})

it('ends nothing that lasts, and keeps nothing open, where somebody sets the clock', async () => {
  const { url, told, until } = await listener()
  let [nowMs, monotonicMs] = [Date.parse('2026-01-01T00:00:00Z'), 0]
  const clock = { ...systemClock, nowMs: () => nowMs, monotonicMs: () => monotonicMs }
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  closing.push(() => vi.useRealTimers())
  const out = startOut([webhook(url)], { clock })
  const later = (ms: number) => {
    nowMs += ms
    monotonicMs += ms
    vi.advanceTimersByTime(5_000)
  }
  out.raise(alarm('node.left_out', { node: 'read-2' }))
  await until(1)
  nowMs += 3_600_000
  later(60_000)
  out.raise(alarm('disk.low'))
  await until(2)
  nowMs -= 7_200_000
  later(RECOVERED_MS - 59_999)
  await until(3)
  expect(told.map(({ body: { action, code, at } }) => `${at} ${action} ${code}`)).toEqual([
    '2026-01-01T00:00:00.000Z trigger node.left_out',
    '2026-01-01T01:01:00.000Z trigger disk.low',
    '2025-12-31T23:10:00.001Z resolve node.left_out',
  ])
})

it('tells what waits for a person, with what an answer names, until it moves on', () => {
  const told: Notice[] = []
  const incidents = createIncidents('test', (notice) => told.push(notice))
  const [id, hash] = ['ab'.repeat(16), '5d'.repeat(32)]
  const expiresAt = '2026-01-01T00:00:00.000Z'
  const held = {
    type: 'held',
    id,
    role: 'allocator',
    at: expiresAt,
    hash,
    check: 'approval_always',
    message: 'Asked.',
    expiresAt,
  } as const
  incidents.hear(held, 0)
  incidents.look(RECOVERED_MS * 10)
  expect(told).toMatchObject([
    { action: 'trigger', code: 'approval.waits', severity: 'info', approval: { id, hash, expiresAt } },
  ])
  const moved = { type: 'workflow', id, role: 'allocator', workflowType: 'x', state: 'requested' } as const
  incidents.hear({ ...moved, at: expiresAt, durationMs: 0, subject: 'vault' }, 5)
  expect(told.at(-1)).toMatchObject({ action: 'resolve', atMs: 5 })
})

it('tells of what waited before a restart when it waits no more, and not a second time that it waits', () => {
  const told: Notice[] = []
  const incidents = createIncidents('test', (notice) => told.push(notice))
  const [id, hash, at] = ['ab'.repeat(16), '5d'.repeat(32), '2026-01-01T00:00:00.000Z']
  const what = { role: 'allocator', at, check: 'approval_always', message: 'Asked.', expiresAt: at } as const
  const held = { type: 'held', id, hash, ...what } as const
  incidents.adopt(held, 0)
  incidents.hear(held, 1)
  expect(told).toEqual([])
  const moved = { type: 'workflow', id, role: 'allocator', workflowType: 'x', state: 'requested' } as const
  incidents.hear({ ...moved, at, durationMs: 0, subject: 'vault' }, 5)
  expect(told).toMatchObject([{ action: 'resolve', code: 'approval.waits', atMs: 5 }])
})

it('leaves no secret in what it tells', async () => {
  const { url, told, until } = await listener()
  const out = startOut([webhook(url)], { scrub: createScrubber(['sk-canary-3']) })
  out.raise(new RolekeeperError('node.wrong_chain', 'It said sk-canary-3.', { fix: 'not sk-canary-3.' }))
  await until(1)
  expect(JSON.stringify(told)).not.toContain('canary')
})
