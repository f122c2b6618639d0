import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { readFault } from '../../../../sandbox/service/faults/faults.ts'
import { RolekeeperError } from '../../../../src/errors.ts'
import { streamMessage } from '../../../../src/service/contract/assumptions.ts'
import { inOrder } from '../../../support/in-order.ts'
import { type Fixture, liquidation, secretHeaders, startFixture } from '../fixture.ts'

const TOKEN = 'ctl_test'

let f: Fixture
beforeAll(async () => {
  f = await startFixture({ controlToken: TOKEN })
})
afterEach(() => f.service.setFault({}))
afterAll(() => f.stop())

/** Ask the control endpoint; a text is sent as it is. */
async function control(method: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${f.service.url}/sandbox-control/faults`, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, json: await response.json() }
}

describe('the control endpoint', () => {
  it('shows, replaces and ends the faults', async () => {
    expect(await control('GET')).toEqual({ status: 200, json: {} })
    const fail = { path: '^/v1/markets', status: 429, retryAfterS: 7 }
    expect(await control('PUT', { fail })).toEqual({ status: 200, json: { fail } })
    const answer = await f.get('/v1/markets')
    expect([answer.status, answer.json.code, answer.json.retryable]).toEqual([429, 'injected_fault', true])
    expect(answer.headers.get('retry-after')).toBe('7')
    expect((await f.get('/v1/vaults')).status).toBe(200)
    expect(await control('PUT', { latencyMs: 1 })).toEqual({ status: 200, json: { latencyMs: 1 } })
    expect((await f.get('/v1/markets')).status).toBe(200)
    expect(await control('DELETE')).toEqual({ status: 200, json: {} })
    expect(await control('GET')).toEqual({ status: 200, json: {} })
  })

  it.each([
    ['no token', { authorization: '' }, 401],
    ['another token', { authorization: `Bearer ${TOKEN}x` }, 401],
    ["the service's own key", secretHeaders, 401],
    ['a page of a site', { origin: 'http://app.test' }, 403],
  ])('refuses %s', async (_name, headers, status) => {
    expect((await control('PUT', { latencyMs: 1 }, headers)).status).toBe(status)
    expect((await control('GET')).json).toEqual({})
  })

  it.each([
    ['nothing', undefined],
    ['no JSON', '{'],
    ['a fault that is none', { latency: 5 }],
    ['a chance over one', { stream: { drop: 1.1 } }],
    ['a pattern that is none', { dropReply: '(' }],
    ['a status that is never answered', { fail: { path: '.', status: 404 } }],
    ['a hostility that is none', { hostile: 'rude' }],
  ])('refuses %s, and changes nothing', async (_name, body) => {
    expect((await control('PUT', body)).status).toBe(400)
    expect((await control('GET')).json).toEqual({})
  })

  it('is not there without a token to give out', async () => {
    const closed = await startFixture()
    expect((await closed.get('/sandbox-control/faults')).json.code).toBe('not_found')
    await closed.stop()
  })
})

inOrder('faults', () => {
  it('block a preflight that would pass, and leave nothing to sign', async () => {
    f.service.setFault({ blockPreflight: 'market_in_maintenance' })
    const { status, json } = await f.post('/v1/workflows/prepare', liquidation())
    expect(status).toBe(200)
    expect(json).toMatchObject({
      preflight: { status: 'blocked', blockedReasons: ['market_in_maintenance'] },
      transactions: [],
      canonicalPostconditions: [],
    })
  })

  it.each([
    [true, { status: 'stale' }],
    [false, { status: 'current', lagSeconds: 0 }],
  ])('keep canonical state and its events back, and admit it: %s', async (admits, freshness) => {
    f.clock.advance(1_000)
    f.canonical.push()
    f.service.setFault({ indexer: { lagMs: 5_000, admits } })
    const blocks = async () => (await f.get('/v1/markets')).json.freshness as Record<string, unknown>
    const before = (await blocks()).blockNumber
    const events = async () => {
      const { json } = await f.get('/v1/events', secretHeaders)
      return (json.items as { event: { subject: string } }[]).map(({ event }) => event.subject)
    }
    const subject = `late ${admits}`
    f.canonical.push({}, [{ eventType: 'markets.updated', subject, data: {} }])
    f.clock.advance(4_999)
    f.canonical.push()
    expect(await blocks()).toMatchObject({ ...freshness, blockNumber: before })
    expect(await events()).not.toContain(subject)
    f.clock.advance(1)
    f.canonical.push()
    expect(Number((await blocks()).blockNumber)).toBe(Number(before) + 1)
    expect(await events()).toContain(subject)
    f.service.setFault({})
    f.canonical.push()
    expect(Number((await blocks()).blockNumber)).toBe(Number(before) + 4)
  })

  it('lose, double and reorder stream messages by their chance, and keep a silent stream open', async () => {
    const token = await f.post('/v1/stream-token', {})
    const socket = new WebSocket(`${token.json.url}?token=${token.json.token}`)
    const heard: number[] = []
    socket.on('message', (data) => heard.push(streamMessage.parse(JSON.parse(String(data))).seq))
    await new Promise((resolve) => socket.on('open', resolve))
    const emit = (count: number) =>
      f.canonical.push(
        {},
        Array.from({ length: count }, (_, index) => ({
          eventType: 'markets.updated',
          subject: `${index}`,
          data: {},
        })),
      )
    f.service.setFault({ stream: { drop: 0.3, duplicate: 0.2, reorder: 0.2, seed: 3 } })
    emit(1_000)
    await expect.poll(() => heard.at(-1) ?? 0).toBeGreaterThan(990)
    const distinct = new Set(heard).size
    expect(distinct).toBeGreaterThan(640)
    expect(distinct).toBeLessThan(760)
    expect(heard.length - distinct).toBeGreaterThan(90)
    const backwards = heard.filter((seq, index) => seq < (heard[index - 1] ?? 0)).length
    expect(backwards).toBeGreaterThan(90)
    f.service.setFault({ stream: { silent: true, seed: 1 } })
    const count = heard.length
    emit(10)
    await f.get('/v1/markets')
    expect([heard.length, socket.readyState]).toEqual([count, WebSocket.OPEN])
    f.service.setFault({})
    emit(1)
    await expect.poll(() => heard.at(-1)).toBeGreaterThan(1_010)
    socket.terminate()
  })
})

describe('faults on a command line', () => {
  it('are JSON of known names', () => {
    expect(readFault('{"stream":{"drop":0.3},"dropReply":"prepare"}')).toEqual({
      stream: { drop: 0.3, seed: 1 },
      dropReply: /prepare/,
    })
  })

  it.each(['{latencyMs:5}', '{"latency":5}', '{"latencyMs":-1}', '[]'])(
    '%s is refused with a fix',
    (text) => {
      expect(() => readFault(text)).toThrow(RolekeeperError)
      expect(() => readFault(text)).toThrow(/Fix: /)
    },
  )
})
