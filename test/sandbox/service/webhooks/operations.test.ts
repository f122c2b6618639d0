import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  webhookDelivery,
  webhookEndpointCreated,
  webhookEndpointRow,
} from '../../../../src/service/contract/tenant-resources.ts'
import { inOrder } from '../../../support/in-order.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'
import { createReceiver, type Delivery } from '../../../support/webhook-witness/receiver.ts'
import { type Answer, type Fixture, newKey, secretHeaders, startFixture } from '../fixture.ts'

const DAYS_30_MS = 30 * 24 * 3_600_000

let f: Fixture
let server: Server
let receiverUrl: string
let status = 204
const arrived: (Delivery & { readonly path: string })[] = []

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]))
    arrived.push({ headers, body: Buffer.concat(chunks), path: request.url ?? '' })
    response.writeHead(status).end()
  })
  receiverUrl = `http://127.0.0.1:${await listenOnLoopback(server)}`
  f = await startFixture({ allowLoopbackWebhooks: true, rateLimit: { requestsMax: 10_000, windowMs: 5_000 } })
})
afterAll(async () => {
  await f.stop()
  server.close()
})

async function send(method: string, path: string, body?: unknown, key = newKey()): Promise<Answer> {
  const response = await fetch(`${f.service.url}${path}`, {
    method,
    headers: { ...secretHeaders, 'idempotency-key': key, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}
const create = async (path: string, more: Record<string, unknown> = {}) => {
  const answer = await send('POST', '/v1/webhook-endpoints', { url: `${receiverUrl}${path}`, ...more })
  expect(answer.status, answer.text).toBe(200)
  return webhookEndpointCreated.parse(answer.json)
}
const disable = (id: string) => send('DELETE', `/v1/webhook-endpoints/${id}`)
const emit = (subject: string, eventType = 'markets.updated') =>
  f.canonical.push({}, [{ eventType, subject, data: {} }])
const at = (path: string) => arrived.filter((one) => one.path === path)
const subjectsAt = (path: string) => at(path).map(({ body }) => JSON.parse(body.toString()).subject)
const until = (met: () => unknown) => expect.poll(met, { interval: 5 })
const deliveries = async (query = '') =>
  ((await f.get(`/v1/webhook-deliveries${query}`, secretHeaders)).json.items as unknown[]).map((row) =>
    webhookDelivery.parse(row),
  )
const deliveryOf = async (endpointId: string) =>
  (await deliveries()).find((delivery) => delivery.endpointId === endpointId)
const replay = (id: string, key?: string) => send('POST', `/v1/webhook-deliveries/${id}/replay`, {}, key)
const coded = ({ status, json }: Answer) => [status, json.code]

inOrder('one tenant of webhooks', () => {
  describe('webhook endpoints', () => {
    it('show their secret once, and sign with it what a receiver verifies', async () => {
      const key = newKey()
      const created = await send('POST', '/v1/webhook-endpoints', { url: `${receiverUrl}/once` }, key)
      const { id, signingSecret, secretShownOnce } = webhookEndpointCreated.parse(created.json)
      expect(secretShownOnce).toBe(true)
      const listed = await f.get('/v1/webhook-endpoints', secretHeaders)
      expect(listed.text).not.toContain(signingSecret)
      const row = (listed.json.items as unknown[]).map((item) => webhookEndpointRow.strict().parse(item))
      expect(row).toMatchObject([{ id, status: 'enabled', eventTypes: [], applicationId: 'app_sandbox' }])
      emit('first')
      await until(() => at('/once').length).toBe(1)
      expect(at('/once').map((one) => createReceiver(signingSecret)(one, f.clock.nowMs()))).toEqual([
        'accepted',
      ])
      expect(await deliveryOf(id)).toMatchObject({ eventType: 'markets.updated', replayOfDeliveryId: null })
      await disable(id)
    })

    it('change, rest and go on, without what happened while they were disabled', async () => {
      const { id } = await create('/before')
      const patch = (body: unknown) => send('PATCH', `/v1/webhook-endpoints/${id}`, body)
      await patch({ url: `${receiverUrl}/after`, eventTypes: ['oracles.updated'] })
      emit('not asked for')
      emit('a', 'oracles.updated')
      await until(() => subjectsAt('/after')).toEqual(['a'])
      expect((await disable(id)).json).toMatchObject({ id, status: 'disabled' })
      expect((await disable(id)).json).toMatchObject({ id, status: 'disabled' })
      emit('while disabled', 'oracles.updated')
      expect((await patch({ status: 'enabled' })).json).toMatchObject({ eventTypes: ['oracles.updated'] })
      emit('b', 'oracles.updated')
      await until(() => subjectsAt('/after')).toEqual(['a', 'b'])
      expect(at('/before')).toEqual([])
      await disable(id)
    })

    it('go on after a restart of the service', async () => {
      const { id, signingSecret } = await create('/restart')
      await f.restart()
      emit('after')
      await until(() => at('/restart').length).toBe(1)
      expect(at('/restart').map((one) => createReceiver(signingSecret)(one, f.clock.nowMs()))).toEqual([
        'accepted',
      ])
      await disable(id)
    })

    it.each([
      ['a private address', { url: 'https://10.0.0.1/' }, 'invalid_webhook_url'],
      ['plain HTTP to a public address', { url: 'http://8.8.8.8/' }, 'invalid_webhook_url'],
      ['credentials in the URL', { url: 'https://a:b@hooks.example/' }, 'invalid_webhook_url'],
      ['no URL', { url: 'hooks' }, 'invalid_request'],
      [
        'a type that does not exist',
        { url: 'https://hooks.example/', eventTypes: ['x.updated'] },
        'unknown_event_type',
      ],
      ['an unknown member', { url: 'https://hooks.example/', secret: 'mine' }, 'invalid_request'],
    ])('refuse %s', async (_name, body, code) => {
      expect(coded(await send('POST', '/v1/webhook-endpoints', body))).toEqual([400, code])
    })

    it('refuse loopback without the flag, an id that is not theirs, and the twenty-first', async () => {
      const usual = await startFixture()
      const answer = await usual.post('/v1/webhook-endpoints', { url: `${receiverUrl}/x` })
      expect(coded(answer)).toEqual([400, 'invalid_webhook_url'])
      await usual.stop()
      expect(coded(await disable('whe_none'))).toEqual([400, 'not_found'])
      const listed = (await f.get('/v1/webhook-endpoints', secretHeaders)).json.items as unknown[]
      for (let count = listed.length; count < 20; count += 1) await disable((await create('/many')).id)
      const last = await send('POST', '/v1/webhook-endpoints', { url: `${receiverUrl}/many` })
      expect(coded(last)).toEqual([409, 'too_many_endpoints'])
    })
  })

  describe('webhook deliveries', () => {
    it('are listed newest first, in pages', async () => {
      const { id } = await reuse('/pages')
      for (const subject of ['one', 'two', 'three']) emit(subject)
      await until(() => at('/pages').length).toBe(3)
      const all = await deliveries()
      const first = await f.get('/v1/webhook-deliveries?limit=2', secretHeaders)
      const { nextCursor, hasMore } = first.json.pageInfo as { nextCursor: string; hasMore: boolean }
      expect(hasMore).toBe(true)
      const rest = await deliveries(`?cursor=${nextCursor}`)
      const ids = [...(first.json.items as { id: string }[]), ...rest].map((row) => row.id)
      expect(ids).toEqual(all.map((row) => row.id))
      expect(all[0]).toMatchObject({ endpointId: id })
      await disable(id)
    })

    it('are replayed as a new delivery of the same event, once for one idempotency key', async () => {
      const { id } = await reuse('/replay')
      emit('again')
      await until(() => at('/replay').length).toBe(1)
      await until(async () => (await deliveryOf(id))?.status).toBe('delivered')
      const original = await deliveryOf(id)
      const key = newKey()
      const answers = [await replay(original?.id ?? '', key), await replay(original?.id ?? '', key)]
      expect(answers[0]?.text).toBe(answers[1]?.text)
      const again = webhookDelivery.parse(answers[0]?.json)
      expect(again).toMatchObject({ replayOfDeliveryId: original?.id, eventId: original?.eventId })
      await until(() => at('/replay').map(({ headers }) => headers['svc-delivery-id'])).toEqual([
        original?.id,
        again.id,
      ])
      expect(at('/replay')[0]?.body).toEqual(at('/replay')[1]?.body)
      await disable(id)
    })

    it('are replayed for 30 days from the first of them, to an enabled receiver, when they have ended', async () => {
      const { id } = await reuse('/window')
      emit('old')
      await until(async () => (await deliveryOf(id))?.status).toBe('delivered')
      const original = (await deliveryOf(id))?.id ?? ''
      f.clock.advance(DAYS_30_MS)
      const second = await replay(original)
      expect(second.status).toBe(200)
      await until(() => at('/window').length).toBe(2)
      f.clock.advance(1)
      const passed = [409, 'replay_window_passed']
      expect(coded(await replay(original))).toEqual(passed)
      await until(async () => coded(await replay(String(second.json.id)))).toEqual(passed)
      status = 500
      emit('failing')
      await until(async () => (await deliveryOf(id))?.status).toBe('retrying')
      const failing = (await deliveryOf(id))?.id ?? ''
      expect(coded(await replay(failing))).toEqual([409, 'delivery_in_progress'])
      status = 204
      await until(async () => (await deliveryOf(id))?.status).toBe('delivered')
      await disable(id)
      expect(coded(await replay(failing))).toEqual([409, 'endpoint_disabled'])
      expect(coded(await replay('dlv_none'))).toEqual([400, 'not_found'])
    })
  })

  /** There are twenty endpoints by now: take a disabled one. */
  async function reuse(path: string): Promise<{ readonly id: string }> {
    const rows = (await f.get('/v1/webhook-endpoints', secretHeaders)).json.items as { id: string }[]
    const id = rows[0]?.id ?? ''
    await send('PATCH', `/v1/webhook-endpoints/${id}`, {
      url: `${receiverUrl}${path}`,
      eventTypes: [],
      status: 'enabled',
    })
    return { id }
  }
})
