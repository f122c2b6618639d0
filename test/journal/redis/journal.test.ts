import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { endpointOf } from '../../../src/config/redis.ts'
import { BrokenInvariant } from '../../../src/errors.ts'
import { entryOf } from '../../../src/journal/entered.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import type { StoreConfig } from '../../../src/journal/redis/link/generation.ts'
import type { RedisStore } from '../../../src/journal/redis/link/store.ts'
import { beat, type Controls, release, type SeatToken } from '../../../src/journal/redis/seats/seat.ts'
import { move, type Workflow } from '../../../src/workflow/workflow.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE, journalOf, newStore, openStore, seatOf, takeSeat } from '../../support/redis-fleet.ts'
import { type RedisProxy, startRedisProxy } from '../../support/redis-proxy.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { answerOf, attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
let redis: TestRedis
let proxy: RedisProxy
let config: StoreConfig
let store: RedisStore
let held: SeatToken
let journal: Awaited<ReturnType<typeof journalOf>>

beforeAll(async () => {
  redis = await startRedis({ ...DURABLE, 'enable-debug-command': 'yes' })
  proxy = await startRedisProxy(redis.port)
})
afterAll(async () => {
  await proxy.stop()
  await redis.stop()
})
beforeEach(async () => {
  config = (await newStore(redis.port)).config
  // Through the proxy, as the same fleet.
  store = openStore({ ...config, endpoint: endpointOf(`redis://127.0.0.1:${proxy.port}/0`) })
  held = await takeSeat(store)
  journal = await journalOf(held, store)
  return () => {
    proxy.losing(null)
    store.close()
  }
})

const digestOf = (nonce: number) => `0x${String(nonce).padStart(64, '0')}` as const
const cleared = (id: string) => workflowOf('cleared', { id, opportunity: id })
const inFlight = (id: string, nonce: number) =>
  workflowOf('in_flight', {
    id,
    opportunity: id,
    slots: [slotOf({ nonce, attempts: [attemptOf({ digest: digestOf(nonce) })] })],
  })
const reservation = (workflowId: string) => ({
  workflowId,
  role: 'liquidator',
  atMs: 10,
  usdMicros: 5n,
  gasWei: 7n,
  reverted: false,
})
const row = (hash: `0x${string}`) => ({
  workflowId: 'a',
  requestId: 'r',
  order: 0,
  chainId: CHAIN,
  hash,
  dueAtMs: 10,
})
const decision = { role: 'liquidator', subject: 's', atMs: 1, check: 'x', message: 'm', reason: {} }

/** Every kind of change, once. */
const everything = async (own: Journal) => {
  expect(await own.open(cleared('a'))).toBe('opened')
  await own.adoptNonce(CHAIN, SIGNER, 5)
  const { revision } = await own.spending('liquidator', [0], 'a')
  const claimed = await own.claimWithin(inFlight('a', 5), reservation('a'), revision)
  if (typeof claimed === 'string') throw new TypeError(claimed)
  const written = await own.write({ ...claimed, strikes: 1 })
  await own.settle({ ...reservation('a'), usdMicros: 3n })
  await own.enterDigest({
    digest: digestOf(99),
    kind: 'challenge',
    signer: SIGNER,
    workflowId: null,
    nonce: null,
    atMs: 1,
  })
  await own.post([row('0x01'), row('0x02')])
  await own.postpone('0x01', 50)
  await own.posted('0x02')
  await own.addDecisions([decision, { ...decision, check: 'y' }])
  await own.setValue('k', 'v')
  await own.barrier()
  return written
}

/** What the records say after it. */
const expectEverything = async (own: Journal) => {
  expect(await own.get('a')).toMatchObject({ version: 2, strikes: 1 })
  expect(await own.transitions('a')).toHaveLength(2)
  expect(await own.nextNonce(CHAIN, SIGNER)).toBe(6)
  expect((await own.spending('liquidator', [0], 'x')).rows).toMatchObject([{ usdMicros: 3n }])
  expect(await own.due(100, 9)).toMatchObject([{ hash: '0x01', tries: 1, dueAtMs: 50 }])
  expect((await own.decisions('s', 9)).map(({ check }) => check)).toEqual(['y', 'x'])
  expect(await own.getValue('k')).toBe('v')
}

describe('the Redis journal', () => {
  it('makes every kind of change once, however often the answer is lost', async () => {
    let count = 0
    proxy.losing(() => {
      count += 1
      return count % 3 !== 0
    })
    const before = proxy.lost()
    await everything(journal)
    await expectEverything(journal)
    expect(proxy.lost() - before).toBeGreaterThan(20)
  })

  it('says so where no answer comes at all, and reads the record again before it says more', async () => {
    await journal.open(cleared('a'))
    let count = 0
    proxy.losing(() => {
      count += 1
      return true
    })
    const requested = move(cleared('a'), 'attested', 2)
    await expect(journal.write(requested)).rejects.toMatchObject({ code: 'journal.unknown', retry: 'later' })
    await expect(journal.open(cleared('b'))).rejects.toMatchObject({ code: 'journal.unknown' })
    expect(count).toBeGreaterThan(1)
    proxy.losing(null)
    expect((await journal.live()).map(({ id }) => id)).toEqual(['a', 'b'])
    expect(await journal.get('a')).toMatchObject({ state: 'attested', version: 1 })
    await expect(journal.write(requested)).rejects.toMatchObject({ code: 'journal.conflict' })
  })

  it('changes nothing by a command that arrives after its writer went on', async () => {
    await journal.settle(reservation('a'))
    const late = proxy.holdNext('"8"')
    // The line ends after a second without an answer; the next one carries it.
    await journal.settle({ ...reservation('a'), usdMicros: 8n })
    await journal.settle({ ...reservation('a'), usdMicros: 9n })
    const seen = await redis.client().debug('DIGEST')
    late.release()
    // What was held is before this on no line of ours: once it was answered, so was the other.
    for (let asks = 0; asks < 20; asks += 1) await redis.client().ping()
    expect(await redis.client().debug('DIGEST')).toBe(seen)
    expect((await journal.spending('liquidator', [0], 'x')).rows).toMatchObject([{ usdMicros: 9n }])
  })

  it('opens nothing by a command that arrives after it was looked for and not found', async () => {
    const late = await startTcpProxy(redis)
    const slow = openStore({ ...config, endpoint: endpointOf(`redis://127.0.0.1:${late.port}/0`) })
    const own = await journalOf(await takeSeat(slow), slow)
    await own.setValue('k', 'v')
    let first: Buffer | undefined
    let isAway = false
    late.setRule('toServer', (piece) => {
      if (first === undefined && piece.includes('"id":"b"')) {
        first = piece
        isAway = true
      }
      if (piece === first) return { kind: 'hold' }
      return isAway ? { kind: 'drop' } : null
    })
    await expect(own.open(cleared('b'))).rejects.toMatchObject({ code: 'journal.unknown' })
    isAway = false
    expect(await own.get('b')).toBeNull()
    late.setRule('toServer', null)
    for (let asks = 0; asks < 20; asks += 1) await redis.client().ping()
    // Else it was live, and nobody went on with it.
    expect(await redis.client().hlen(slow.keys.brief)).toBe(0)
    expect(await own.open(cleared('b'))).toBe('opened')
    expect((await own.live()).map(({ id }) => id)).toEqual(['b'])
    slow.close()
    await late.stop()
  })

  it('writes nothing for a holder whose seat another has taken', async () => {
    await journal.open(cleared('a'))
    await journal.adoptNonce(CHAIN, SIGNER, 5)
    const other = openStore(config)
    const now = await journalOf(await takeSeat(other), other)
    const seen = await redis.client().debug('DIGEST')
    const entry = {
      digest: digestOf(5),
      kind: 'transaction',
      signer: SIGNER,
      workflowId: 'a',
      nonce: 5,
    } as const
    for (const write of [
      () => journal.open(cleared('b')),
      () => journal.claim(inFlight('a', 5), reservation('a')),
      () => journal.write(move(cleared('a'), 'attested', 2)),
      () => journal.settle(reservation('a')),
      () => journal.enterDigest({ ...entry, atMs: 1 }),
      () => journal.adoptNonce(CHAIN, SIGNER, 9),
      () => journal.post([row('0x01')]),
      () => journal.posted('0x01'),
      () => journal.postpone('0x01', 50),
      () => journal.addDecisions([decision]),
      () => journal.setValue('k', 'v'),
      () => journal.barrier(),
      () => journal.ordered([{ ...entry, atMs: 1 }]),
    ]) {
      const message = expect.stringContaining('no longer holds')
      await expect(write()).rejects.toMatchObject({ code: 'seat.lost', message, retry: 'later' })
    }
    expect(await redis.client().debug('DIGEST')).toBe(seen)
    // Nor does it say of what it remembers that it is so.
    await expect(journal.get('a')).rejects.toMatchObject({ code: 'seat.lost' })
    expect((await now.live()).map(({ id }) => id)).toEqual(['a'])
    expect(await now.claim(inFlight('a', 5), null)).toMatchObject({ version: 1 })
    other.close()
  })

  it('claims nonces of the signer whose seat it is, and of no other', async () => {
    const signer = `0x${'52'.repeat(20)}` as const
    await journal.open(workflowOf('cleared', { id: 'a', opportunity: 'a', signer }))
    await journal.adoptNonce(CHAIN, signer, 5)
    const slots = [slotOf({ nonce: 5, signer })]
    const claimed = workflowOf('in_flight', { id: 'a', opportunity: 'a', signer, slots })
    await expect(journal.claim(claimed, null)).rejects.toThrow(BrokenInvariant)
    expect(await journal.byNonce(CHAIN, signer, 5)).toBeNull()
  })

  it('gives a seat to one of those that watched it, and at once when it is left', async () => {
    const other = openStore(config)
    const watched = await seatOf(SIGNER, other)
    expect(watched).toMatchObject({ token: held.token, epoch: 1 })
    await release(held, store)
    await release(held, store)
    expect(await seatOf(SIGNER, other)).toMatchObject({ token: '' })
    await expect(journal.barrier()).rejects.toMatchObject({ code: 'seat.lost' })
    await takeSeat(other)
    expect(await seatOf(SIGNER, other)).toMatchObject({ epoch: 2 })
    await release(held, store)
    expect((await seatOf(SIGNER, other))?.token).not.toBe('')
    other.close()
  })

  it('tells the holder at each barrier and each beat what a person has set for the fleet', async () => {
    const seen: Controls[] = []
    const own = await journalOf(held, store, (controls) => seen.push(controls))
    const tick = () => beat(held, { beat: String(seen.length), server: 'here' }, store)
    await own.barrier()
    expect([...seen, await tick()]).toEqual([new Map(), new Map()])
    await redis.client().hset(store.keys.control, 'paused', 'by a person')
    await own.barrier()
    const paused = new Map([['paused', 'by a person']])
    expect([seen[1], await tick()]).toEqual([paused, paused])
    expect(await seatOf(SIGNER, store)).toMatchObject({ beat: '2' })
    await release(held, store)
    await expect(tick()).rejects.toMatchObject({ code: 'seat.lost' })
  })

  it('shares a fence among those who ask together, and never one that has begun', async () => {
    await journal.barrier()
    const { seq } = store.known()
    await Promise.all(Array.from({ length: 50 }, () => journal.barrier()))
    expect(store.known().seq).toBe(seq + 1)
    const first = journal.barrier()
    await nextTurn()
    await Promise.all([first, journal.barrier(), journal.barrier()])
    expect(store.known().seq).toBe(seq + 3)
  })

  it('loads its scripts again where the server has lost them', async () => {
    await redis.client().script('FLUSH')
    await everything(journal)
    await expectEverything(journal)
  })

  it('stops where a script breaks off, and takes the record for unknown', async () => {
    await journal.open(cleared('a'))
    await redis.client().set(store.keys.digests, 'of another')
    await expect(journal.write({ ...inFlight('a', 5), version: 0 })).rejects.toThrow('broke off')
    await redis.client().del(store.keys.digests)
    expect(await journal.get('a')).toMatchObject({ version: 0 })
  })

  it('keeps what a barrier has passed when the server is killed', async () => {
    await everything(journal)
    await redis.kill()
    await expect(journal.setValue('k', 'w')).rejects.toMatchObject({ retry: 'later' })
    await redis.restart()
    await expectEverything(journal)
    await journal.setValue('k', 'w')
    expect(await journal.getValue('k')).toBe('w')
  })

  it('notices by the next script that the server was flushed, or is older than what was acknowledged', async () => {
    await journal.open(cleared('a'))
    await journal.barrier()
    const aof = join(redis.directory, 'appendonlydir')
    cpSync(aof, join(redis.directory, 'older'), { recursive: true })
    await journal.setValue('k', 'v')
    await journal.barrier()
    await redis.kill()
    rmSync(aof, { recursive: true })
    cpSync(join(redis.directory, 'older'), aof, { recursive: true })
    await redis.restart()
    for (const write of [() => journal.setValue('k', 'w'), () => journal.barrier()]) {
      await expect(write()).rejects.toMatchObject({ code: 'journal.amnesia' })
    }
    // An instance that comes anew knows no better by itself; but who did has said so there.
    await expect(openStore(config).connect()).rejects.toMatchObject({ code: 'journal.amnesia' })
    const known = store.known()
    await expect(openStore(config, known).connect()).rejects.toMatchObject({ code: 'journal.amnesia' })

    const back = await newStore(redis.port)
    const set = await journalOf(await takeSeat(back.store), back.store)
    await set.barrier()
    // On the same line: no new one is there to be verified.
    await redis.client().hincrby(back.store.keys.meta, 'seq', -1)
    for (const write of [() => set.setValue('k', 'w'), () => set.barrier()]) {
      await expect(write()).rejects.toMatchObject({ code: 'journal.amnesia' })
    }
    back.store.close()

    const fresh = await newStore(redis.port)
    const flushed = await journalOf(await takeSeat(fresh.store), fresh.store)
    await redis.client().flushall()
    for (const write of [() => flushed.setValue('k', 'w'), () => flushed.barrier()]) {
      await expect(write()).rejects.toMatchObject({ code: 'journal.amnesia' })
    }
    await expect(openStore(config).connect()).rejects.toMatchObject({ code: 'journal.not_founded' })
    fresh.store.close()
  })

  it('refuses what is new where the server is full, and lets what is under way end', async () => {
    await journal.open(cleared('a'))
    const client = redis.client()
    await journal.adoptNonce(CHAIN, SIGNER, 5)
    await journal.open(cleared('c'))
    const flying = await journal.claim(inFlight('c', 5), reservation('c'))
    if (flying === 'lost') throw new TypeError(flying)
    await client.set('of another', 'x'.repeat(1_000_000))
    // As `CONFIG REWRITE` keeps it: the next process is as full as this one.
    for (const restart of [false, true]) {
      if (restart) await redis.restart({ maxmemory: '1mb' })
      else await client.config('SET', 'maxmemory', '1mb')
      expect(await journal.getValue('k')).toBeNull()
      const full = { code: 'journal.full', retry: 'later' }
      await expect(journal.open(cleared('b'))).rejects.toMatchObject(full)
      await expect(journal.claim(inFlight('a', 6), reservation('a'))).rejects.toMatchObject(full)
      await expect(journal.addDecisions([decision])).rejects.toMatchObject(full)
      await journal.barrier()
    }
    const sent = await journal.write({ ...flying, strikes: 1 }, reservation('c'))
    await journal.post([row('0x03')])
    await journal.ordered([entryOf(slotOf({ nonce: 5 }), attemptOf({ digest: digestOf(5) }), 'c')])
    await journal.write({ ...sent, state: 'succeeded', updatedAtMs: 2 }, reservation('c'))
    await journal.write(move(cleared('a'), 'refused', 2, { note: { check: 'x', message: 'y' } }))
    await journal.posted('0x03')
    expect(await journal.live()).toEqual([])
    await redis.restart()
    expect(await journal.open(cleared('b'))).toBe('opened')
  })

  it('reads what an earlier release entered, and forgets of two keys with one digest the one whose workflow left', async () => {
    const other = `0x${'52'.repeat(20)}` as const
    const client = redis.client()
    // Another key's, under the digest alone.
    const early = `1 {"kind":"transaction","signer":"${other}","workflowId":"b","nonce":5}`
    const theirs = { digest: digestOf(5), kind: 'transaction' as const, nonce: 5, atMs: 2 }
    await client.hset(store.keys.digests, digestOf(5), early)
    await journal.enterDigest({ ...theirs, signer: other, workflowId: 'b' })
    await journal.ordered([{ ...theirs, signer: other, workflowId: 'b' }])
    expect(await client.hgetall(store.keys.digests)).toEqual({ [digestOf(5)]: early })
    await journal.adoptNonce(CHAIN, SIGNER, 5)
    await journal.open(cleared('a'))
    const claimed = await journal.claim(inFlight('a', 5), null)
    if (claimed === 'lost') throw new TypeError(claimed)
    expect(await journal.ledgerEntry(digestOf(5), SIGNER)).toMatchObject({ workflowId: 'a' })
    const slots = claimed.slots.map((slot) => ({ ...slot, state: 'final' as const }))
    await journal.write({ ...claimed, slots, state: 'succeeded', updatedAtMs: 2_000 })
    expect(await journal.archiveSlice(3_000, 0)).toBeNull()
    await journal.forgetSlice(3_000)
    expect(await journal.ledgerEntry(digestOf(5), SIGNER)).toBeNull()
    expect(await journal.ledgerEntry(digestOf(5), other)).toMatchObject({ workflowId: 'b' })
  })

  it('archives what ended, and forgets its nonces, digests and request later, but never that it was', async () => {
    await journal.adoptNonce(CHAIN, SIGNER, 5)
    for (const id of ['a', 'b', 'live']) await journal.open(cleared(id))
    const ended: Workflow[] = []
    for (const [index, id] of ['a', 'b'].entries()) {
      const nonce = 5 + index
      const claimed = await journal.claim(inFlight(id, nonce), reservation(id))
      if (claimed === 'lost') throw new TypeError(claimed)
      const hash = `0x0${nonce}` as const
      const attempts = [attemptOf({ digest: digestOf(nonce), state: 'sent', hash })]
      const slots = [slotOf({ nonce, attempts, state: 'final' })]
      await journal.post([{ ...row(hash), workflowId: id }])
      const prepared = { bytesSha256: '', answer: answerOf({ requestId: `wf-${id}` }), receivedAtMs: 1 }
      const done = { ...claimed, state: 'succeeded' as const, updatedAtMs: 2_000, slots, prepared }
      const written = await journal.writeBound(done, `wf-${id}`)
      if (written === 'taken') throw new TypeError(written)
      ended.push(written)
    }
    await journal.posted('0x05')
    const requests = async () =>
      (await redis.client().hkeys(store.keys.values)).filter((key) => key.startsWith('request:')).toSorted()
    expect(await requests()).toEqual(['request:wf-a', 'request:wf-b'])
    const [a] = ended
    const history = await journal.transitions('a')
    const count = () => redis.client().dbsize()
    const before = await count()

    expect(await journal.archiveSlice(1_999, 0)).toBeNull()
    expect(await redis.client().hget(store.keys.workflow('a'), 'body')).not.toBeNull()
    // The service has not been told of the other one.
    expect(await journal.archiveSlice(2_000, 0)).toBeNull()
    expect(await redis.client().hget(store.keys.workflow('a'), 'body')).toBeNull()
    expect(await redis.client().hget(store.keys.workflow('b'), 'body')).not.toBeNull()
    expect(await journal.get('a')).toEqual(a)
    expect(await journal.transitions('a')).toEqual(history)
    expect((await journal.newestOf('liquidator', 9)).map(({ id }) => id).toSorted()).toEqual([
      'a',
      'b',
      'live',
    ])
    expect(await journal.byNonce(CHAIN, SIGNER, 5)).toMatchObject({ id: 'a' })
    expect(await journal.ledgerEntry(digestOf(5), SIGNER)).toMatchObject({ workflowId: 'a' })
    expect(await journal.open(cleared('a'))).toBe('exists')

    expect(await journal.forgetSlice(2_000)).toBe(false)
    expect(await journal.ledgerEntry(digestOf(5), SIGNER)).toBeNull()
    // A server that no request ever left would be full one day.
    expect(await requests()).toEqual(['request:wf-b'])
    expect(await journal.ledgerEntry(digestOf(6), SIGNER)).toMatchObject({ workflowId: 'b' })
    expect(await journal.byNonce(CHAIN, SIGNER, 5)).toMatchObject({ id: 'a' })
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(7)
    expect(await journal.open({ ...cleared('c'), opportunity: 'a' })).toBe('exists')
    expect(await journal.open({ ...cleared('c'), opportunity: 'a', round: 1 })).toBe('opened')
    // Of `a` its record and its history are gone; `c` has both, `left` came and went, and
    // that this instance has an archive stays.
    expect(await count()).toBe(before + 1)
  })
})
