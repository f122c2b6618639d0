import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createServiceClient, type ServiceClient } from '../../../src/service/client.ts'
import { createEventSource } from '../../../src/service/events/event-source.ts'
import { createFeed, type Feed } from '../../../src/service/events/feed.ts'
import { SERVICE_TIMEOUTS } from '../../../src/service/http.ts'
import { type Fixture, SECRET, secretHeaders, startFixture } from '../../sandbox/service/fixture.ts'

const CHANGES = 1_000
const TYPE = 'positions.updated'

let f: Fixture
let client: ServiceClient
let feed: Feed

beforeEach(async () => {
  f = await startFixture()
  client = createServiceClient(
    { baseUrl: f.service.url, secretKey: SECRET, timeouts: SERVICE_TIMEOUTS },
    systemClock,
  )
})
afterEach(async () => {
  await feed.close()
  await client.close()
  await f.stop()
})

it('gives every change without a sweep, with 30 % of the stream lost and the rest doubled and reordered', async () => {
  const start = await f.get('/v1/events', secretHeaders)
  const { nextCursor } = start.json.pageInfo as { nextCursor: string }
  const heard = new Set<string>()
  feed = createFeed(
    // Sweeps would see the changes whatever the hints say: here there is none to hide behind.
    { types: [TYPE], sweepMs: 10 * 60_000 },
    {
      client: createEventSource(client),
      clock: systemClock,
      onRefused: (error) => expect.unreachable(error.message),
      loadCursor: () => nextCursor,
      saveCursor: () => undefined,
    },
  )
  feed.onHint((hint) => {
    if ('subject' in hint) heard.add(hint.subject)
  })
  f.service.setFault({ stream: { drop: 0.3, duplicate: 0.2, reorder: 0.2, seed: 11 } })
  void feed.start()
  await expect.poll(() => feed.state().mode).toBe('stream')
  for (let made = 0; made < CHANGES; made += 10) {
    const subjects = Array.from({ length: 10 }, (_, index) => `change ${made + index}`)
    f.canonical.push(
      {},
      subjects.map((subject) => ({ eventType: TYPE, subject, data: {} })),
    )
    await systemClock.sleep(15)
  }
  await expect.poll(() => heard.size).toBe(CHANGES)
  const { gaps, duplicates, connections } = feed.state()
  expect(connections).toBe(1)
  expect([gaps, duplicates].every((count) => count > 50)).toBe(true)
})
