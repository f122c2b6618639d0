import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { RolekeeperError } from '../../../src/errors.ts'
import { acquire } from '../../../src/journal/redis/seats/seat.ts'
import { startSeatUpkeep, startStoreUpkeep } from '../../../src/journal/redis/upkeep.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE, journalOf, newStore, seatOf, takeSeat } from '../../support/redis-fleet.ts'
import { until } from '../../support/until.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const DAY_MS = 86_400_000
let redis: TestRedis

beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
afterAll(() => redis.stop())

/** A clock by which an hour passes in 180 ms, from a time that the test sets. */
function quickClock(startMs = 0) {
  let nowMs = startMs
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    set: (ms: number) => {
      nowMs = ms
    },
    sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 20_000, signal),
  }
}

it('moves what ended two days ago to the archive, forgets its nonces after a week, and ends with the seat', async () => {
  const { store } = await newStore(redis.port)
  const held = await takeSeat(store)
  const journal = await journalOf(held, store)
  await journal.adoptNonce(CHAIN, SIGNER, 1)
  const digestOf = (nonce: number) => `0x${String(nonce).padStart(64, '0')}` as const
  // More than a slice, and one that is live.
  for (let nonce = 1; nonce <= 10; nonce += 1) {
    const id = `w${nonce}`
    await journal.open(workflowOf('cleared', { id, opportunity: id }))
    const slots = [slotOf({ nonce, attempts: [attemptOf({ digest: digestOf(nonce) })] })]
    const claimed = await journal.claim(workflowOf('in_flight', { id, opportunity: id, slots }), null)
    if (typeof claimed === 'string') throw new TypeError(claimed)
    if (nonce < 10) await journal.write({ ...claimed, state: 'succeeded', updatedAtMs: DAY_MS })
  }
  const client = redis.client()
  const count = async (key: string) => (await client.zcard(key)) ?? 0
  const clock = quickClock(3 * DAY_MS - 1)
  const failures: RolekeeperError[] = []
  const lost: string[] = []
  const tidied = vi.fn()
  const watched = {
    archiveSlice: (beforeMs: number, offset: number) =>
      journal.archiveSlice(beforeMs, offset).catch((error: RolekeeperError) => {
        lost.push(error.code)
        throw error
      }),
    forgetSlice: (beforeMs: number) => journal.forgetSlice(beforeMs).finally(tidied),
  }
  const stop = startSeatUpkeep({ journal: watched, clock, onFailed: (error) => failures.push(error) })
  await until(() => expect(tidied).toHaveBeenCalled())
  expect(await count(store.keys.ended(held.seat))).toBe(9)
  clock.set(3 * DAY_MS)
  await until(async () => expect(await count(store.keys.left(held.seat))).toBe(9))
  expect(await count(store.keys.ended(held.seat))).toBe(0)
  expect((await journal.get('w3'))?.state).toBe('succeeded')
  expect(await journal.ledgerEntry(digestOf(3), SIGNER)).not.toBeNull()
  clock.set(8 * DAY_MS)
  await until(async () => expect(await count(store.keys.left(held.seat))).toBe(0))
  expect(await journal.ledgerEntry(digestOf(3), SIGNER)).toBeNull()
  expect(await journal.ledgerEntry(digestOf(10), SIGNER)).not.toBeNull()
  const last = await journal.get('w10')
  if (last === null) throw new TypeError('it is gone')
  await journal.write({ ...last, state: 'succeeded', updatedAtMs: 7 * DAY_MS })
  const from = await seatOf(held.seat, store)
  await acquire({ seat: held.seat, from, token: 'another', holder: 'two', server: store.runId() }, store)
  clock.set(9 * DAY_MS)
  // It ends by itself.
  await until(() => expect(lost).toEqual(['seat.lost']))
  await stop()
  expect([lost, failures]).toEqual([['seat.lost'], []])
  store.close()
})

it('says within a minute which setting was changed under it, and the line to write, until it is right again', async () => {
  const { store } = await newStore(redis.port)
  await store.connect()
  const client = redis.client()
  const states: (RolekeeperError | null)[] = []
  const waitedMs: number[] = []
  const quick = quickClock()
  const sleep = (ms: number, signal?: AbortSignal) => {
    waitedMs.push(ms)
    return quick.sleep(ms, signal)
  }
  const upkeep = startStoreUpkeep({ store, clock: { ...quick, sleep }, onState: (why) => states.push(why) })
  await until(() => expect(waitedMs.length).toBeGreaterThan(1))
  expect([upkeep.failing(), states]).toEqual([null, []])
  await client.config('SET', 'appendfsync', 'everysec')
  await until(() => expect(upkeep.failing()?.fix).toContain('write `appendfsync always` in redis.conf'))
  expect(Math.max(...waitedMs)).toBeLessThan(60_000)
  // A Redis that is away says nothing of its settings: they are not known to be right.
  redis.pause()
  const calls = waitedMs.length
  await until(() => expect(waitedMs.length).toBeGreaterThan(calls))
  expect(upkeep.failing()?.code).toBe('journal.redis_settings')
  redis.resume()
  await client.config('SET', 'appendfsync', 'always')
  await until(() => expect(upkeep.failing()).toBeNull())
  expect(states.map((why) => why?.code)).toEqual(['journal.redis_settings', undefined])
  await upkeep.stop()
  store.close()
})
