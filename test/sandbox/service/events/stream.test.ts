import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { CanonicalChange } from '../../../../sandbox/indexer/canonical.ts'
import {
  polledEvent,
  type StreamMessage,
  streamMessage,
  streamToken,
} from '../../../../src/service/contract/assumptions.ts'
import { inOrder } from '../../../support/in-order.ts'
import { WAIT_MS_MAX } from '../../../support/until.ts'
import { CHAIN_ID, type Fixture, liquidation, ORIGIN, secretHeaders, startFixture } from '../fixture.ts'

let f: Fixture
beforeAll(async () => {
  // The rate limit would count the pages of ten thousand events.
  f = await startFixture({ rateLimit: { requestsMax: 100_000, windowMs: 5_000 } })
})
afterAll(() => f.stop())

const change = (subject: string, eventType = 'markets.updated'): CanonicalChange => ({
  eventType,
  subject,
  data: { blockNumber: '1' },
})
const emit = (...subjects: string[]) =>
  f.canonical.push(
    {},
    subjects.map((subject) => change(subject)),
  )

async function poll(query = '') {
  const answer = await f.get(`/v1/events${query}`, secretHeaders)
  expect(answer.status, answer.text).toBe(200)
  const items = (answer.json.items as unknown[]).map((item) => polledEvent.parse(item))
  return { items, page: answer.json.pageInfo as { hasMore: boolean; nextCursor: string } }
}

async function pollAll(cursor: string) {
  const subjects: string[] = []
  for (let next = cursor, more = true; more; ) {
    const { items, page } = await poll(`?cursor=${next}`)
    subjects.push(...items.map(({ event }) => event.subject))
    next = page.nextCursor
    more = page.hasMore
  }
  return subjects
}

const here = async () => {
  let at = (await poll('?limit=1')).page
  while (at.hasMore) at = (await poll(`?cursor=${at.nextCursor}`)).page
  return at.nextCursor
}

async function newStreamUrl(query: Record<string, string> = {}, headers = secretHeaders) {
  const answer = await f.post('/v1/stream-token', {}, headers)
  const { token, url } = streamToken.parse(answer.json)
  expect(url).toBe(f.service.streamUrl)
  return `${url}?${new URLSearchParams({ token, ...query })}`
}

/** An open stream that keeps what it got; `until` waits for a message. */
async function open(query: Record<string, string> = {}, headers = secretHeaders) {
  const socket = new WebSocket(await newStreamUrl(query, headers))
  const messages: StreamMessage[] = []
  let wake = () => {}
  socket.on('message', (data) => {
    messages.push(streamMessage.parse(JSON.parse(String(data))))
    wake()
  })
  const closed = new Promise<number>((resolve) => socket.on('close', (code) => resolve(code)))
  await new Promise((resolve, reject) => {
    socket.on('open', resolve)
    socket.on('error', reject)
  })
  // A heartbeat may come between any two of them.
  const events = () => messages.flatMap((message) => (message.type === 'event' ? [message] : []))
  const subjects = () => events().map(({ event }) => event.subject)
  const until = async (met: () => boolean) => {
    while (!met()) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { socket, messages, events, subjects, closed, until }
}

const refusal = (url: string, headers: Record<string, string> = {}) =>
  new Promise<number | undefined>((resolve, reject) => {
    const socket = new WebSocket(url, { headers })
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode))
    socket.on('open', () => reject(new TypeError('the stream opened')))
    socket.on('error', () => {})
  })

inOrder('one log of events', () => {
  describe('polling', () => {
    it('resumes after the last event, and has a cursor to resume from when nothing happened', async () => {
      const start = await here()
      expect(await poll(`?cursor=${start}`)).toEqual({
        items: [],
        page: { hasMore: false, nextCursor: start },
      })
      emit('a', 'b', 'c')
      const { items, page } = await poll(`?cursor=${start}&limit=2`)
      expect(items.map(({ event }) => event)).toEqual([
        {
          id: expect.stringMatching(/^evt_/),
          type: 'markets.updated',
          schemaVersion: 1,
          occurredAt: '2026-01-01T00:00:00.000Z',
          subject: 'a',
          data: { blockNumber: '1' },
        },
        expect.objectContaining({ subject: 'b' }),
      ])
      expect(page).toEqual({ hasMore: true, nextCursor: items[1]?.cursor })
      expect(await pollAll(page.nextCursor)).toEqual(['c'])
    })

    it('keeps its events and cursors through a restart', async () => {
      const start = await here()
      emit('kept')
      await f.restart()
      expect(await pollAll(start)).toEqual(['kept'])
      emit('next')
      expect(await pollAll(start)).toEqual(['kept', 'next'])
    })

    it('refuses a cursor that lies ahead of its log', async () => {
      emit('ahead')
      const cursor = await here()
      const other = await startFixture()
      const answer = await other.get(`/v1/events?cursor=${cursor}`, secretHeaders)
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_cursor'])
      await other.stop()
    })

    it('resumes from the oldest event that is kept, and refuses a cursor one before it', async () => {
      const lost = await here()
      emit('first')
      const oldest = await here()
      f.canonical.push(
        {},
        Array.from({ length: 10_000 }, (_, i) => change(String(i))),
      )
      expect(await pollAll(oldest)).toHaveLength(10_000)
      const answer = await f.get(`/v1/events?cursor=${lost}`, secretHeaders)
      expect([answer.status, answer.json.code]).toEqual([400, 'cursor_expired'])
      expect(await refusal(await newStreamUrl({ cursor: lost }))).toBe(400)
    })
  })

  describe('the stream', () => {
    it('says what happens from now on, numbered without a gap, before the snapshot’s listeners return', async () => {
      const stream = await open()
      emit('x')
      emit('y', 'z')
      await stream.until(() => stream.subjects().length === 3)
      expect(stream.subjects()).toEqual(['x', 'y', 'z'])
      expect(stream.messages.map(({ seq }) => seq)).toEqual(stream.messages.map((_, i) => i + 1))
      stream.socket.terminate()
    })

    it('resumes by a cursor and misses nothing that happened meanwhile', async () => {
      const first = await open()
      emit('seen')
      await first.until(() => first.subjects().length === 1)
      first.socket.terminate()
      const cursor = first.events()[0]?.cursor ?? ''
      const missed = Array.from({ length: 450 }, (_, i) => `missed ${i}`)
      emit(...missed)
      const again = await open({ cursor })
      emit('live')
      await again.until(() => again.subjects().includes('live'))
      expect(again.subjects()).toEqual([...missed, 'live'])
      again.socket.terminate()
    })

    it('resumes ten megabytes of events for a client that reads, and keeps what happens meanwhile behind them', async () => {
      const start = await here()
      const pad = 'x'.repeat(10_000)
      const missed = Array.from({ length: 1_000 }, (_, i) => ({ ...change(String(i)), data: { pad } }))
      f.canonical.push({}, missed)
      const stream = await open({ cursor: start })
      emit('meanwhile')
      await stream.until(() => stream.subjects().includes('meanwhile'))
      expect(stream.subjects()).toEqual([...missed.map(({ subject }) => subject), 'meanwhile'])
      stream.socket.terminate()
    })

    it.each<[string, (socket: WebSocket) => void]>([
      ['closes at once', (socket) => socket.close()],
      [
        'pauses, closes and reads on',
        (socket) => {
          socket.pause()
          socket.close()
          setImmediate(() => socket.resume())
        },
      ],
    ])('answers others when a client %s before it has caught up', async (_name, leave) => {
      const start = await here()
      f.canonical.push(
        {},
        Array.from({ length: 9_000 }, (_, i) => ({ ...change(String(i)), data: { pad: 'x'.repeat(1_000) } })),
      )
      const socket = new WebSocket(await newStreamUrl({ cursor: start }))
      const closed = new Promise((resolve) => socket.on('close', resolve))
      await new Promise((resolve) => socket.on('open', resolve))
      leave(socket)
      await closed
      const answer = await fetch(`${f.service.url}/v1/deployments`, {
        signal: AbortSignal.timeout(WAIT_MS_MAX),
      })
      expect(answer.status).toBe(200)
    })

    it('says only the types that were asked for', async () => {
      const stream = await open({ types: 'oracles.updated,vaults.updated' })
      f.canonical.push({}, [change('m'), change('o', 'oracles.updated'), change('v', 'vaults.updated')])
      await stream.until(() => stream.subjects().length === 2)
      expect(stream.subjects()).toEqual(['o', 'v'])
      stream.socket.terminate()
    })

    it('says only the entities that were asked for', async () => {
      const stream = await open({ subjects: 'm:1,m:3', types: 'markets.updated' })
      f.canonical.push({}, [...['m:1', 'm:2', 'm:3'].map((s) => change(s)), change('m:1', 'oracles.updated')])
      await stream.until(() => stream.subjects().length === 2)
      emit('m:1')
      await stream.until(() => stream.subjects().length === 3)
      expect(stream.subjects()).toEqual(['m:1', 'm:3', 'm:1'])
      stream.socket.terminate()
    })

    it("tells no application of another's workflows, nor does polling", async () => {
      const start = await here()
      const stream = await open()
      const neighbour = await f.post('/v1/organizations', { name: 'Neighbour' }, {})
      const headers = { authorization: `Bearer ${neighbour.json.secretKey}` }
      const { requestId } = (await f.post('/v1/workflows/prepare', liquidation(), headers)).json
      const registration = { order: 1, chainId: CHAIN_ID, txHash: `0x${'cd'.repeat(32)}` }
      await f.post(`/v1/workflows/${requestId}/transactions`, registration, headers)
      emit('after')
      await stream.until(() => stream.subjects().includes('after'))
      expect(stream.subjects()).not.toContain(requestId)
      expect(await pollAll(start)).not.toContain(requestId)
      const answer = await f.get(`/v1/events?cursor=${start}`, headers)
      const theirs = (answer.json.items as { event: { subject: string } }[]).map(({ event }) => event.subject)
      expect(theirs).toContain(requestId)
      stream.socket.terminate()
    })

    it('announces the progress of a workflow', async () => {
      const stream = await open({ types: 'workflow.liquidate.updated' })
      const { requestId } = (await f.post('/v1/workflows/prepare', liquidation())).json
      await f.post(`/v1/workflows/${requestId}/transactions`, {
        order: 1,
        chainId: CHAIN_ID,
        txHash: `0x${'ab'.repeat(32)}`,
      })
      await stream.until(() => stream.subjects().length === 1)
      expect(stream.events()[0]).toMatchObject({
        event: { subject: requestId, data: { status: 'submitted' } },
      })
      stream.socket.terminate()
    })

    it('beats while nothing happens', async () => {
      const stream = await open()
      await stream.until(() => stream.messages.length === 1)
      expect(stream.messages[0]).toEqual({ type: 'heartbeat', seq: 1, at: '2026-01-01T00:00:00.000Z' })
      stream.socket.terminate()
    })

    it('lets go of a client that does not read, with a reset, and of no other', async () => {
      const slow = await open()
      const good = await open()
      slow.socket.pause()
      // Far more than a megabyte, and what the kernel holds besides.
      const pad = 'x'.repeat(100_000)
      for (let sent = 1; sent <= 50; sent += 1) {
        const batch = [1, 2, 3, 4].map((i) => ({ ...change(`${sent}.${i}`), data: { pad } }))
        f.canonical.push({}, batch)
        await good.until(() => good.subjects().length === sent * batch.length)
      }
      slow.socket.resume()
      expect(await slow.closed).toBe(1013)
      expect(slow.messages.filter(({ type }) => type === 'reset')).toEqual([slow.messages.at(-1)])
      expect(slow.messages.at(-1)).toMatchObject({ reason: 'slow_client' })
      expect(slow.subjects().length).toBeLessThan(good.subjects().length)
      expect(good.socket.readyState).toBe(WebSocket.OPEN)
      good.socket.terminate()
    })

    it('refuses a token that is unknown, used or one moment too old', async () => {
      expect(await refusal(`${f.service.streamUrl}?token=st_nothing`)).toBe(401)
      const url = await newStreamUrl()
      const socket = new WebSocket(url)
      await new Promise((resolve) => socket.on('open', resolve))
      expect(await refusal(url)).toBe(401)
      socket.terminate()
      const late = await newStreamUrl()
      f.clock.advance(60_000)
      expect(await refusal(late)).toBe(401)
      const inTime = await newStreamUrl()
      f.clock.advance(59_999)
      const open = new WebSocket(inTime)
      await new Promise((resolve) => open.on('open', resolve))
      open.terminate()
    })

    it('refuses a foreign host or origin, another path, a bad cursor and a bad filter', async () => {
      expect(await refusal(await newStreamUrl(), { host: 'evil.test' })).toBe(403)
      expect(await refusal(await newStreamUrl(), { origin: 'http://evil.test' })).toBe(403)
      expect(await refusal((await newStreamUrl()).replace('/v1/stream', '/v1/other'))).toBe(400)
      expect(await refusal(await newStreamUrl({ cursor: 'nonsense' }))).toBe(400)
      expect(await refusal(await newStreamUrl({ types: 'a b' }))).toBe(400)
      expect(await refusal(await newStreamUrl({ subjects: Array(101).fill('m').join() }))).toBe(400)
    })

    it.each(['revoke', 'rotate'])('ends with its key, by %s, and no other does', async (ending) => {
      const wanted = { kind: 'secret', scopes: ['events:read'] }
      const made = (await f.post('/v1/keys', wanted)).json as { id: string; token: string }
      const headers = { authorization: `Bearer ${made.token}` }
      const unused = await newStreamUrl({}, headers)
      const [its, other] = [await open({}, headers), await open()]
      const answer = await f.post(`/v1/keys/${made.id}/${ending}`, {})
      expect(answer.status, answer.text).toBe(200)
      emit('after')
      await other.until(() => other.subjects().includes('after'))
      await its.closed
      expect(its.messages.at(-1)).toMatchObject({ type: 'reset', reason: 'key_revoked' })
      expect(its.subjects()).not.toContain('after')
      expect(await refusal(unused)).toBe(401)
      other.socket.terminate()
    })

    it('takes its own origin', async () => {
      const socket = new WebSocket(await newStreamUrl(), { headers: { origin: ORIGIN } })
      await new Promise((resolve) => socket.on('open', resolve))
      socket.terminate()
    })

    it('closes on a client that talks too much', async () => {
      const stream = await open()
      stream.socket.send('x'.repeat(1_025))
      expect(await stream.closed).toBe(1009)
    })

    it('ends with the service, and waits for no client that never answers', async () => {
      const stream = await open()
      const port = Number(new URL(f.service.url).port)
      const idle = await new Promise<Socket>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket))
      })
      const gone = new Promise((resolve) => idle.on('close', resolve))
      idle.on('error', () => {})
      // A service that waits for it does not end.
      await f.restart()
      expect(await stream.closed).toBe(1006)
      await gone
    })
  })
})
