import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import type { Clock } from '../../../src/clock.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { createServiceClient, type ServiceClient } from '../../../src/service/client.ts'
import { createEventSource, type EventSource } from '../../../src/service/events/event-source.ts'
import { createFeed, type Feed } from '../../../src/service/events/feed.ts'
import type { Hint } from '../../../src/service/events/hints.ts'
import { SERVICE_TIMEOUTS } from '../../../src/service/http.ts'
import { createStillClock } from '../../support/still-clock.ts'
import { until } from '../../support/until.ts'
import { fastClock } from '../clocks.ts'
import { collection, failure, inbox, json, type Scripted, startScripted } from '../scripted-service.ts'

const NEVER_MS = 10_000_000
const TYPE = 'positions.updated'

const envelope = (id: number, type = TYPE) => ({
  id: `e${id}`,
  type,
  schemaVersion: 1,
  occurredAt: '2026-01-01T00:00:00Z',
  subject: `s${id}`,
  data: {},
})
/** An event whose cursor is its number. */
const polled = (id: number) => ({ cursor: String(id), event: envelope(id) })
const say = (socket: WebSocket, seq: number, id: number, type = TYPE) =>
  socket.send(JSON.stringify({ type: 'event', seq, cursor: String(id), event: envelope(id, type) }))
const heartbeat = (seq: number) => JSON.stringify({ type: 'heartbeat', seq, at: '2026-01-01T00:00:00Z' })

let service: Scripted
let client: ServiceClient
let feed: Feed
let clock: Clock
let hints: ReturnType<typeof inbox<Hint>>
let saved: string[]
let refused: RolekeeperError[]
/** What GET /v1/events knows; it answers what comes after the cursor, two on a page. */
let log: number[]
let refusedCursors: Set<string>
let pollStatus: number
let tokenUrl: string

beforeEach(async () => {
  // Real timers, 100 times faster: what they do late or early changes nothing.
  clock = fastClock(100)
  hints = inbox<Hint>()
  saved = []
  refused = []
  log = []
  refusedCursors = new Set()
  pollStatus = 200
  service = await startScripted((request, response) => {
    if (request.path === '/v1/stream-token')
      return json(response, 200, { token: 'tok', url: tokenUrl, expiresAt: '2030-01-01T00:00:00Z' })
    const cursor = request.query.get('cursor')
    if (cursor !== null && refusedCursors.has(cursor)) return json(response, 400, failure('invalid_cursor'))
    if (pollStatus !== 200) return json(response, pollStatus, failure('down'))
    const after = log.filter((id) => id > Number(cursor ?? 0))
    const page = after.slice(0, 2)
    return json(response, 200, {
      ...collection(page.map(polled)),
      pageInfo: { hasMore: after.length > 2, nextCursor: page.length === 0 ? cursor : String(page.at(-1)) },
    })
  })
  tokenUrl = service.streamUrl
  client = createServiceClient(
    { baseUrl: service.url, secretKey: 'sk_test', timeouts: SERVICE_TIMEOUTS },
    clock,
  )
})
afterEach(async () => {
  await feed.close()
  await client.close()
  await service.close()
})

function begin(
  cursor: string | null,
  options: { sweepMs?: number; heartbeatMs?: number; take?: (hint: Hint) => void } = {},
): Promise<void> {
  feed = createFeed(
    {
      types: [TYPE, 'markets.updated'],
      sweepMs: options.sweepMs ?? NEVER_MS,
      // Two and a half of them are silence: a pause of this machine is none.
      heartbeatMs: options.heartbeatMs ?? NEVER_MS,
    },
    {
      client: createEventSource(client),
      clock,
      onRefused: (error) => refused.push(error),
      loadCursor: () => cursor,
      saveCursor: (value) => saved.push(value),
    },
  )
  feed.onHint(options.take ?? hints.put)
  return feed.start()
}

/** The next hint as its subject, or `sweep`. */
const next = async () => {
  const hint = await hints.next()
  return 'subject' in hint ? hint.subject : 'sweep'
}
const polls = () => service.arrived.filter((request) => request.path === '/v1/events')

test('sweeps at start, then gives streamed events as hints and saves the cursor after them', async () => {
  begin('7')
  expect(await next()).toBe('sweep')
  const { socket, query } = await service.streams.next()
  expect(query.get('cursor')).toBe('7')
  expect(query.get('types')).toBe('positions.updated,markets.updated')
  expect(query.get('token')).toBe('tok')
  say(socket, 1, 8)
  say(socket, 2, 9)
  const hint = await hints.next()
  expect(hint).toMatchObject({ type: TYPE, subject: 's8', receivedAtMs: expect.any(Number) })
  expect(await next()).toBe('s9')
  expect(feed.state()).toMatchObject({ mode: 'stream', hints: 2, gaps: 0, connections: 1 })
  expect(feed.state().lastMessageAtMs).toBeGreaterThan(0)
  await until(() => expect(saved).toEqual(['9']))
})

test('sweeps once more when a stream opens that nothing came before', async () => {
  begin(null)
  expect(await next()).toBe('sweep')
  const { query } = await service.streams.next()
  expect(query.get('cursor')).toBeNull()
  expect(await next()).toBe('sweep')
})

test('sweeps every interval, and not before', async () => {
  const still = createStillClock()
  clock = still.clock
  begin('7', { sweepMs: 2_000 })
  expect(await next()).toBe('sweep')
  for (let count = 0; count < 3; count += 1) {
    await still.go(1_999)
    expect(hints.size()).toBe(0)
    await still.go(1)
    expect(await next()).toBe('sweep')
  }
})

test('gives an event once, however often it comes', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  for (const seq of [1, 2, 3]) say(socket, seq, 8)
  say(socket, 4, 9)
  expect([await next(), await next(), await next()]).toEqual(['sweep', 's8', 's9'])
  expect(feed.state()).toMatchObject({ hints: 2, duplicates: 2 })
})

test('gives an event that a webhook brought once, whichever way comes first, and leaves the cursor', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  expect(await next()).toBe('sweep')
  expect(feed.hear(envelope(9))).toBe(true)
  expect(await next()).toBe('s9')
  expect(feed.hear(envelope(10, 'fees.updated'))).toBe(true)
  say(socket, 1, 8)
  say(socket, 2, 9)
  expect(await next()).toBe('s8')
  expect(feed.hear(envelope(8))).toBe(true)
  await until(() => expect(saved).toEqual(['9']))
  expect(feed.state()).toMatchObject({ hints: 2, duplicates: 2, gaps: 0 })
  expect(hints.size()).toBe(0)
  await feed.close()
  expect(feed.hear(envelope(11))).toBe(false)
})

test('passes over other types, future messages and text that is no message, without a gap', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  say(socket, 1, 8, 'fees.updated')
  socket.send('{"type":"shiny","seq":2}')
  socket.send('not json')
  socket.send(Buffer.from([1, 2, 3]))
  socket.send(heartbeat(3))
  say(socket, 4, 9)
  expect([await next(), await next()]).toEqual(['sweep', 's9'])
  expect(feed.state()).toMatchObject({ gaps: 0, unreadable: 3 })
  expect(polls()).toHaveLength(0)
})

test('closes a gap in the sequence by polling from the last cursor', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  log = [8, 9, 10, 11]
  say(socket, 1, 8)
  say(socket, 4, 11)
  const given = [await next(), await next(), await next(), await next(), await next()]
  expect(given.slice(0, 3)).toEqual(['sweep', 's8', 's11'])
  expect(given.slice(3)).toEqual(['s9', 's10'])
  expect(feed.state().gaps).toBe(1)
  expect(polls()[0]?.query.get('cursor')).toBe('8')
  await until(() => expect(saved.at(-1)).toBe('11'))
})

test('takes a message that comes late or twice, and calls neither a gap', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  log = [8, 9, 10]
  say(socket, 1, 8)
  say(socket, 3, 10)
  say(socket, 2, 9)
  say(socket, 3, 10)
  socket.send(heartbeat(4))
  const given = [await next(), await next(), await next(), await next()]
  expect(given).toEqual(['sweep', 's8', 's10', 's9'])
  await until(() => expect(saved.at(-1)).toBe('10'))
  const { duplicates } = feed.state()
  say(socket, 2, 9)
  await until(() => expect(feed.state().duplicates).toBe(duplicates + 1))
  await feed.close()
  expect(saved.at(-1)).toBe('10')
  expect(feed.state()).toMatchObject({ gaps: 1, hints: 3 })
})

test('sees that the first message of a connection was lost', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  log = [8, 9]
  socket.send(heartbeat(3))
  expect([await next(), await next(), await next()]).toEqual(['sweep', 's8', 's9'])
  expect(feed.state().gaps).toBe(1)
})

test('polls again for a gap that shows while it closes another', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  const answer = service.script.answer
  const held: (() => void)[] = []
  service.script.answer = (request, response) => {
    if (request.path !== '/v1/events') return answer(request, response)
    // What the service knew when it was asked, late.
    const known = log
    held.push(() => {
      const now = log
      log = known
      answer(request, response)
      log = now
    })
  }
  log = [8, 9, 10]
  say(socket, 1, 8)
  say(socket, 3, 10)
  await until(() => expect(held).toHaveLength(1))
  log = [8, 9, 10, 11, 12]
  say(socket, 5, 12)
  expect([await next(), await next(), await next(), await next()]).toEqual(['sweep', 's8', 's10', 's12'])
  service.script.answer = answer
  held[0]?.()
  expect([await next(), await next()]).toEqual(['s9', 's11'])
  await until(() => expect(saved.at(-1)).toBe('12'))
})

test('sweeps for a gap when it has no cursor to poll from', async () => {
  begin(null)
  const { socket } = await service.streams.next()
  log = [1, 2]
  socket.send(heartbeat(2))
  expect([await next(), await next(), await next()]).toEqual(['sweep', 'sweep', 'sweep'])
  await until(() => expect(saved.at(-1)).toBe('2'))
  expect(feed.state()).toMatchObject({ gaps: 1, hints: 0 })
})

test('leaves a stream whose gap cannot be polled', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  say(socket, 1, 8)
  pollStatus = 400
  say(socket, 3, 10)
  const again = await service.streams.next()
  // The cursor was refused, so it begins anew; a sweep tells what is between.
  expect(again.query.get('cursor')).toBeNull()
  expect([await next(), await next(), await next(), await next()]).toEqual(['sweep', 's8', 's10', 'sweep'])
})

test('does not save a cursor beyond a gap that is not closed yet', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  say(socket, 1, 8)
  await until(() => expect(saved).toEqual(['8']))
  const answer = service.script.answer
  service.script.answer = (request, response) => {
    if (request.path !== '/v1/events') answer(request, response)
  }
  say(socket, 3, 10)
  expect([await next(), await next(), await next()]).toEqual(['sweep', 's8', 's10'])
  await until(() => expect(polls()).toHaveLength(1))
  await feed.close()
  expect(saved).toEqual(['8'])
})

test('drops a stream that is silent for two and a half heartbeats, and not before', async () => {
  const still = createStillClock()
  clock = still.clock
  begin('7', { heartbeatMs: 5_000 })
  const first = await service.streams.next()
  for (const seq of [1, 2]) {
    first.socket.send(heartbeat(seq))
    await until(() => expect(feed.state().lastMessageAtMs).toBe(clock.monotonicMs()))
    await still.go(12_499)
  }
  first.socket.send(heartbeat(3))
  await until(() => expect(feed.state().lastMessageAtMs).toBe(clock.monotonicMs()))
  expect(feed.state()).toMatchObject({ mode: 'stream', connections: 1, gaps: 0 })
  const closed = once(first.socket, 'close')
  await still.go(12_500)
  await closed
})

test('polls while the stream is down, and resumes where polling came to', async () => {
  service.script.refuseUpgrade = 503
  log = [8, 9, 10]
  begin('7')
  expect([await next(), await next(), await next(), await next()]).toEqual(['sweep', 's8', 's9', 's10'])
  await until(() => expect(feed.state().mode).toBe('polling'))
  service.script.refuseUpgrade = 0
  const { query } = await service.streams.next()
  expect(query.get('cursor')).toBe('10')
  await until(() => expect(feed.state().mode).toBe('stream'))
})

test('resumes after a dropped connection and gives nothing twice', async () => {
  begin('7')
  const first = await service.streams.next()
  log = [8, 9]
  say(first.socket, 1, 8)
  expect([await next(), await next()]).toEqual(['sweep', 's8'])
  first.socket.terminate()
  expect(await next()).toBe('s9')
  const second = await service.streams.next()
  expect(second.query.get('cursor')).toBe('9')
  say(second.socket, 1, 9)
  say(second.socket, 2, 10)
  expect(await next()).toBe('s10')
})

test('begins anew with a sweep when the service refuses the cursor', async () => {
  refusedCursors.add('7')
  service.script.refuseUpgrade = 400
  log = [1, 2, 3]
  begin('7')
  expect([await next(), await next()]).toEqual(['sweep', 'sweep'])
  expect(feed.state()).toMatchObject({ cursorsRefused: 1, hints: 0 })
  await until(() => expect(saved.at(-1)).toBe('3'))
  log.push(4)
  expect(await next()).toBe('s4')
})

test('says once that asking again cannot help, and nothing of what mends itself', async () => {
  refusedCursors.add('7')
  service.script.refuseUpgrade = 503
  begin('7')
  await until(() => expect(feed.state()).toMatchObject({ cursorsRefused: 1, mode: 'polling' }))
  expect(refused).toEqual([])
  pollStatus = 403
  const before = polls().length
  await until(() => expect(polls().length).toBeGreaterThan(before + 2))
  expect(refused).toMatchObject([
    { code: 'service.forbidden', fix: expect.stringContaining('the scope `events:read`') },
  ])
})

test('begins anew with a sweep when the stream is reset, and takes nothing after it', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  expect(await next()).toBe('sweep')
  socket.send('{"type":"reset","seq":1,"reason":"cursor_expired"}')
  say(socket, 2, 99)
  const again = await service.streams.next()
  expect(again.query.get('cursor')).toBeNull()
  expect(await next()).toBe('sweep')
  expect(feed.state().hints).toBe(0)
})

test('is down while nothing answers, and tells nothing twice when it comes back', async () => {
  service.script.refuseUpgrade = 503
  pollStatus = 500
  begin('7')
  await until(() => expect(polls().length).toBeGreaterThan(1))
  expect(feed.state().mode).toBe('down')
  log = [8]
  pollStatus = 200
  expect([await next(), await next()]).toEqual(['sweep', 's8'])
})

test.each([
  ['another port', 'ws://OTHER/v1/stream'],
  ['a host in the credentials', 'ws://127.0.0.1@evil.example/'],
  ['another scheme', 'http://HOST/v1/stream'],
  ['no URL', 'stream'],
])('never opens a stream at %s', async (_name, url) => {
  const other = await startScripted(() => undefined)
  tokenUrl = url.replace('HOST', service.host).replace('OTHER', other.host)
  begin('7')
  await until(() => expect(feed.state().mode).toBe('polling'))
  expect(feed.state().connections).toBe(0)
  expect([service.streams.size(), other.streams.size()]).toEqual([0, 0])
  await other.close()
})

test.each([
  ['streamed', 0],
  ['polled', 503],
])('ends with the error of a listener, and saves no cursor past its %s hint', async (_name, refuse) => {
  service.script.refuseUpgrade = refuse
  log = refuse === 0 ? [] : [8, 9]
  const running = begin('7', {
    take: (hint) => {
      if ('subject' in hint && hint.subject === 's9') throw new RangeError('not taken')
    },
  })
  if (refuse === 0)
    void service.streams.next().then(({ socket }) => {
      say(socket, 1, 8)
      say(socket, 2, 9)
    })
  await expect(running).rejects.toBeInstanceOf(RangeError)
  await feed.close()
  expect(saved).toEqual(['8'])
})

test('closes, saves its cursor, and gives nothing afterwards', async () => {
  begin('7')
  const { socket } = await service.streams.next()
  say(socket, 1, 8)
  expect([await next(), await next()]).toEqual(['sweep', 's8'])
  await feed.close()
  expect(saved).toEqual(['8'])
  expect(hints.size()).toBe(0)
})

test('gives and saves nothing of an answer that comes while it closes', async () => {
  const page = Promise.withResolvers<Awaited<ReturnType<EventSource['pollEvents']>>>()
  const asked = Promise.withResolvers<void>()
  feed = createFeed(
    { types: [TYPE], sweepMs: NEVER_MS },
    {
      clock,
      client: {
        openStream: () => Promise.reject(new RolekeeperError('service.unreachable', 'no')),
        pollEvents: () => {
          asked.resolve()
          return page.promise
        },
      },
      onRefused: () => undefined,
      loadCursor: () => '7',
      saveCursor: (value) => saved.push(value),
    },
  )
  feed.onHint(hints.put)
  void feed.start()
  await asked.promise
  const closed = feed.close()
  page.resolve({ ...collection([]), items: [polled(8)], dropped: 0, hasMore: false, nextCursor: '8' })
  await closed
  expect(await next()).toBe('sweep')
  expect(hints.size()).toBe(0)
  expect(saved).toEqual([])
})

test('closes while a poll and a connection hang', async () => {
  service.script.answer = () => undefined
  begin('7')
  await until(() => expect(service.arrived.length).toBeGreaterThan(0))
  await feed.close()
})

test('keeps a bounded memory of events: 20,000 in a burst are all given', async () => {
  let given = 0
  begin('7', {
    take: (hint) => {
      if ('subject' in hint) given += 1
    },
  })
  const { socket } = await service.streams.next()
  for (let id = 1; id <= 20_000; id += 1) say(socket, id, id + 10)
  await until(() => expect(given).toBe(20_000))
  expect(feed.state().mode).toBe('stream')
})
