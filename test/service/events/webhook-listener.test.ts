import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { EventEnvelope } from '../../../src/service/contract/assumptions.ts'
import {
  startWebhookListener,
  type WebhookListener,
  type WebhookOutcome,
} from '../../../src/service/events/webhook-listener.ts'
import { until } from '../../support/until.ts'

const SECRET = 'whsec_listener'
const BODY_BYTES_MAX = 262_144

let listener: WebhookListener
let port: number
let taking = true
const events: EventEnvelope[] = []
const outcomes: WebhookOutcome[] = []

beforeAll(async () => {
  listener = await startWebhookListener(
    { host: '127.0.0.1', port: 0, path: '/webhooks', publicHost: 'keeper.example', secrets: () => [SECRET] },
    {
      clock: systemClock,
      onEvent: (event) => {
        if (taking) events.push(event)
        return taking
      },
      onOutcome: (outcome) => outcomes.push(outcome),
    },
  )
  port = Number(new URL(listener.url).port)
})
beforeEach(() => {
  events.length = 0
  outcomes.length = 0
})
afterAll(() => listener.close())

const envelope = (id: string, pad = 0) =>
  JSON.stringify({
    id,
    type: 'positions.updated',
    schemaVersion: 1,
    occurredAt: '2026-01-01T00:00:00Z',
    subject: 's',
    data: { pad: 'x'.repeat(pad) },
  })
function signed(body: string, deliveryId: string): Record<string, string> {
  const t = Math.floor(Date.now() / 1_000)
  const v1 = createHmac('sha256', SECRET).update(`${t}.${deliveryId}.${body}`).digest('hex')
  return { 'Svc-Signature': `t=${t},v1=${v1}`, 'Svc-Delivery-Id': deliveryId }
}

type Sent = {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly text: string
}
type Changes = { path?: string; method?: string; headers?: Record<string, string> }
/** Send one delivery over a connection of its own. */
async function send(
  body: string,
  { path = '/webhooks', method = 'POST', headers = {} }: Changes = {},
): Promise<Sent> {
  const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
  // It may be refused before all of it is written.
  asked.on('error', () => {})
  asked.end(method === 'POST' ? body : undefined)
  const [response] = await once(asked, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode, headers: response.headers, text }
}

it('answers 204 once the event is taken, and again for the same one without giving it twice', async () => {
  const body = envelope('e1')
  const first = await send(body, { headers: signed(body, 'd1') })
  expect(events.map(({ id }) => id)).toEqual(['e1'])
  const again = await send(body, { headers: signed(body, 'd1') })
  expect([first.status, again.status, first.text]).toEqual([204, 204, ''])
  expect(events).toHaveLength(1)
  expect(outcomes).toEqual(['taken', 'duplicate'])
})

it('answers 503 while nobody takes events, and takes the next attempt', async () => {
  const body = envelope('e2')
  taking = false
  expect((await send(body, { headers: signed(body, 'd2') })).status).toBe(503)
  taking = true
  expect((await send(body, { headers: signed(body, 'd2') })).status).toBe(204)
  expect(events.map(({ id }) => id)).toEqual(['e2'])
})

it.each([
  ['no signature', {}, 401, 'refused_headers'],
  [
    'a foreign signature',
    { headers: { 'Svc-Signature': `t=1,v1=${'0'.repeat(64)}` } },
    401,
    'refused_timestamp',
  ],
  ['two signature headers', { headers: { 'Svc-Signature': 't=1, t=1' } }, 401, 'refused_signature_header'],
  ['another path', { path: '/webhooks/' }, 404, 'refused_path'],
  ['a query', { path: '/webhooks?x=1' }, 404, 'refused_path'],
  ['another method', { method: 'GET' }, 405, 'refused_method'],
  ['a name that is not ours', { headers: { Host: 'evil.example' } }, 403, 'refused_host'],
  ['a page of another site', { headers: { Origin: 'https://evil.example' } }, 403, 'refused_origin'],
] as const)('refuses %s', async (_name, changes: Changes, status, outcome) => {
  const body = envelope('never')
  const headers = { ...(outcome === 'refused_headers' ? {} : signed(body, 'never')), ...changes.headers }
  const { status: given, text, headers: answered } = await send(body, { ...changes, headers })
  expect([given, text, answered.connection]).toEqual([status, '', 'close'])
  expect(outcomes.at(-1)).toBe(outcome)
  expect(events.map(({ id }) => id)).not.toContain('never')
})

it('knows itself by its public name, with and without a port', async () => {
  for (const [index, Host] of ['keeper.example', 'keeper.example:443', `localhost:${port}`].entries()) {
    const body = envelope(`named${index}`)
    const headers = { Host, ...signed(body, `named${index}`) }
    expect((await send(body, { headers })).status).toBe(204)
  }
})

it('answers 400 to a signed body that is no envelope', async () => {
  const headers = signed('{"id":1}', 'odd')
  expect((await send('{"id":1}', { headers })).status).toBe(400)
  expect(outcomes.at(-1)).toBe('refused_envelope')
})

it.each([
  ['announced', true],
  ['not announced', false],
])('takes a body of 256 kB whose length is %s, and refuses one byte more', async (_name, announced) => {
  const empty = envelope(`large${announced}`).length
  for (const [over, status] of [
    [0, 204],
    [1, 413],
  ] as const) {
    const body = envelope(`large${announced}`, BODY_BYTES_MAX - empty + over)
    expect(body.length).toBe(BODY_BYTES_MAX + over)
    const length = announced ? { 'Content-Length': String(body.length) } : { 'Transfer-Encoding': 'chunked' }
    const sent = await send(body, { headers: { ...length, ...signed(body, `large${announced}`) } })
    expect(sent.status).toBe(status)
  }
})

const open = async () => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

it('cuts a body that trickles, and not before five seconds', async () => {
  const socket = await open()
  const startedMs = performance.now()
  socket.write(`POST /webhooks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n`)
  const trickle = setInterval(() => socket.write('x'), 500)
  socket.resume()
  await once(socket, 'close')
  clearInterval(trickle)
  expect(performance.now() - startedMs).toBeGreaterThan(4_900)
  expect(outcomes.at(-1)).toBe('refused_incomplete')
})

it('holds 64 connections, and no more', async () => {
  const sockets: Socket[] = []
  for (let count = 0; count < 64; count += 1) sockets.push(await open())
  const extra = await open()
  extra.resume()
  await once(extra, 'close')
  expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([])
  for (const socket of sockets) socket.destroy()
  const body = envelope('after')
  await until(() => send(body, { headers: signed(body, 'after') }))
})

it('names the setting when its port is taken', async () => {
  const settings = { host: '127.0.0.1', port, path: '/', secrets: () => [SECRET] }
  const deps = { clock: systemClock, onEvent: () => true, onOutcome: () => {} }
  await expect(startWebhookListener(settings, deps)).rejects.toMatchObject({ code: 'webhook.port_in_use' })
})
