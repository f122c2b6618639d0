import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createFleetControl } from '../../src/fleet/doubts.ts'
import { switchFleet } from '../../src/fleet/switches.ts'
import { amnesia } from '../../src/journal/redis/link/faults.ts'
import { setForFleet } from '../../src/journal/redis/seats/controls.ts'
import { beat, controlsOf } from '../../src/journal/redis/seats/seat.ts'
import { readControl, setControl } from '../../src/ops/control.ts'
import { newDirectory } from '../support/directory.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, newStore, takeSeat } from '../support/redis-fleet.ts'
import { until } from '../support/until.ts'

const SEAT = '0x01'
const LEASE_MS = 1_000
const by = { by: 'someone', atMs: 1 }
const doubt = { check: 'fleet_amnesia', message: 'Redis forgot.', seen: 'sequence 3', toLeave: 'prove it' }
let redis: TestRedis

beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
afterAll(() => redis.stop())

/** Two instances of one fleet, each with a directory, and time that stands still. */
async function pair(port = redis.port) {
  const { store } = await newStore(port)
  const held = await takeSeat(store, SEAT)
  let [count, now] = [0, 0]
  const failed: string[] = []
  const member = (instance: string) => {
    const directory = newDirectory()
    const create = () =>
      createFleetControl({
        store,
        directory,
        instance,
        seats: [SEAT],
        leaseMs: LEASE_MS,
        nowMs: () => 5,
        monotonicMs: () => now,
        onFailed: ({ code }) => failed.push(code),
      })
    return { directory, create, control: create() }
  }
  /** What is set, as the next beat brings it. */
  const controls = () => {
    count += 1
    return beat(held, { beat: String(count), server: 'here' }, store)
  }
  const [one, two] = [member('one'), member('two')]
  const hear = async () => {
    const found = await controls()
    for (const { control } of [one, two]) control.heard(found)
    return found
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { store, one, two, hear, failed, pass }
}

const OPEN = { closed: false, paused: false }

it('is closed until the fleet was heard, and again once it has said nothing for a lease', async () => {
  const { one, hear, pass, store } = await pair()
  expect(one.control.gate(SEAT).closed).toBe(true)
  await hear()
  pass(LEASE_MS - 1)
  expect(one.control.gate(SEAT)).toEqual(OPEN)
  pass(1)
  expect(one.control.gate(SEAT).closed).toBe(true)
  store.close()
})

it('stays closed where an answer from before the kill comes late, on another line', async () => {
  const { one, two, hear, pass, store } = await pair()
  const before = await hear()
  await switchFleet('kill', true, by, { directory: one.directory, store })
  await hear()
  two.control.heard(before)
  expect(two.control.gate(SEAT).closed).toBe(true)
  // As long after it is no late answer, but another server.
  pass(2_000)
  two.control.heard(before)
  expect(two.control.gate(SEAT)).toEqual(OPEN)
  store.close()
})

it('stops every instance from one machine, and that one at once', async () => {
  const { one, two, hear, store } = await pair()
  await hear()
  await switchFleet('kill', true, by, { directory: one.directory, store })
  expect([one.control.gate(SEAT).closed, two.control.gate(SEAT).closed]).toEqual([true, false])
  await hear()
  expect(two.control.gate(SEAT)).toMatchObject({ closed: true, paused: false, pulled: [{ switch: 'kill' }] })
  expect(readControl(two.directory)).toMatchObject({ killed: false, paused: false })
  await switchFleet('kill', false, by, { directory: one.directory, store })
  await switchFleet('pause', true, by, { directory: one.directory, store })
  await hear()
  expect([one, two].map(({ control }) => control.gate(SEAT))).toMatchObject([
    { closed: false, paused: true },
    { closed: false, paused: true },
  ])
  store.close()
})

it('writes the file of this machine though Redis is away, and its instance passes it on', async () => {
  const own = await startRedis(DURABLE)
  const { one, two, hear, store, failed } = await pair(own.port)
  const { seq } = await hear()
  await own.kill()
  const switched = switchFleet('kill', true, by, { directory: one.directory, store })
  await expect(switched).rejects.toMatchObject({ code: 'journal.unreachable' })
  expect(one.control.gate(SEAT).closed).toBe(true)
  // What was heard just before cannot be passed on.
  one.control.heard(controlsOf(seq, []))
  await until(() => expect(failed).toEqual(['journal.unreachable']))
  await own.restart()
  await hear()
  await until(async () => expect((await hear()).has('killed')).toBe(true))
  expect(two.control.gate(SEAT).closed).toBe(true)
  store.close()
  await own.stop()
})

it('stops one machine alone whose directory is gone, and says so there', async () => {
  const { one, two, hear, store, failed } = await pair()
  await hear()
  rmSync(one.directory, { recursive: true })
  await hear()
  expect(one.control.switches()).toMatchObject({ killed: true, paused: true, pulled: [], isUnreadable: true })
  expect(failed).toEqual(['control.unreadable'])
  // What this one wrote for the fleet would be there by now.
  await setForFleet({ name: 'other', value: 'x', keeps: 'last' }, store)
  expect([...(await hear()).keys()]).toEqual(['other'])
  expect(two.control.gate(SEAT)).toEqual(OPEN)
  store.close()
})

it('passes a file on once each time that it appears', async () => {
  const { one, two, hear, store } = await pair()
  setControl(one.directory, 'kill', true)
  await hear()
  expect(JSON.parse((await hear()).get('killed') ?? '')).toEqual({ by: 'one', atMs: 5 })
  // Someone lifts it for the fleet; the machine with the file stays stopped, and alone.
  await setForFleet({ name: 'killed', value: '', keeps: 'last' }, store)
  await hear()
  await hear()
  expect([one, two].map(({ control }) => control.gate(SEAT).closed)).toEqual([true, false])
  setControl(one.directory, 'kill', false)
  await hear()
  setControl(one.directory, 'kill', true)
  await hear()
  expect((await hear()).has('killed')).toBe(true)
  store.close()
})

it('makes a signer SAFE on disk before anything else, for every instance, and over a restart', async () => {
  const { one, two, hear, store } = await pair()
  await hear()
  one.control.makeSafe(SEAT, doubt)
  const safe = { ok: false, check: 'safe', message: `${SEAT} is SAFE (fleet_amnesia): Redis forgot.` }
  expect(one.control.gate(SEAT)).toEqual({ ...OPEN, safe })
  expect(existsSync(join(one.directory, 'seats', SEAT, 'SAFE'))).toBe(true)
  await hear()
  await hear()
  expect(two.control.gate(SEAT)).toEqual({ ...OPEN, safe })
  expect(one.create().gate(SEAT).safe).toEqual(safe)
  // What was seen first stays.
  two.control.makeSafe(SEAT, { ...doubt, seen: 'later' })
  await hear()
  const { gen } = store.known()
  expect(JSON.parse((await hear()).get(`safe:${SEAT}`) ?? '')).toEqual({ ...doubt, gen, by: 'one', atMs: 5 })
  store.close()
})

it('is SAFE no more once a person has proven wrong what was doubted in that generation, and no later one', async () => {
  const { one, two, hear, store } = await pair()
  one.control.makeSafe(SEAT, doubt)
  await hear()
  await hear()
  const left = (over: readonly string[]) =>
    setForFleet({ name: `left:${SEAT}`, value: JSON.stringify({ ...by, over }), keeps: 'last' }, store)
  await left(['another'])
  await setForFleet({ name: `safe:${SEAT}`, value: '', keeps: 'last' }, store)
  await hear()
  expect(one.control.gate(SEAT).safe).toBeDefined()
  await left(['another', store.known().gen])
  await hear()
  for (const { control, create } of [one, two]) {
    expect(control.gate(SEAT)).toEqual(OPEN)
    const again = create()
    again.heard(controlsOf(0, []))
    expect(again.gate(SEAT)).toEqual(OPEN)
  }
  store.close()
})

it('is SAFE by the generation that was known, and not for the fleet again once a person has proven that wrong', async () => {
  const { one, two, hear, store } = await pair()
  const known = store.known().gen
  const over = JSON.stringify({ ...by, over: [known] })
  const { meta, control } = store.keys
  await redis.client().hset(meta, { gen: 'next', parent: known })
  await redis.client().hset(control, { [`left:${SEAT}`]: over })
  await hear()
  expect(store.known().gen).toBe('next')
  // What was asked in the one before may be answered this late.
  one.control.forgotten(amnesia({ seen: 'nothing', expected: 'more', gen: known }))
  expect(one.control.gate(SEAT).safe).toBeDefined()
  // What it has passed on is there by then.
  await setForFleet({ name: 'other', value: 'x', keeps: 'last' }, store)
  expect((await hear()).has(`safe:${SEAT}`)).toBe(false)
  for (const each of [one, two]) expect(each.control.gate(SEAT)).toEqual(OPEN)
  one.control.forgotten(amnesia({ seen: 'nothing', expected: 'more', gen: 'next' }))
  await until(async () => expect((await hear()).has(`safe:${SEAT}`)).toBe(true))
  expect(two.control.gate(SEAT).safe).toBeDefined()
  store.close()
})

it('is SAFE also by what is missed in a later generation, whatever it was SAFE by before', async () => {
  const { one, hear, store } = await pair()
  await hear()
  const known = store.known().gen
  const miss = (gen: string) => one.control.forgotten(amnesia({ seen: 'nothing', expected: 'more', gen }))
  const left = (...over: readonly string[]) =>
    redis.client().hset(store.keys.control, { [`left:${SEAT}`]: JSON.stringify({ ...by, over }) })
  miss(known)
  await redis.client().hset(store.keys.meta, { gen: 'next', parent: known })
  await hear()
  miss('next')
  // One that comes late takes nothing of it back.
  miss(known)
  await left(known)
  await hear()
  expect(one.control.gate(SEAT).safe).toBeDefined()
  expect(one.create().gate(SEAT).safe).toBeDefined()
  await left(known, 'next')
  await redis.client().hdel(store.keys.control, `safe:${SEAT}`)
  await hear()
  expect(one.control.gate(SEAT)).toEqual(OPEN)
  store.close()
})

it('passes on what its machine has once more to a generation that a person has begun', async () => {
  const { one, hear, store } = await pair()
  setControl(one.directory, 'kill', true)
  await until(async () => expect((await hear()).has('killed')).toBe(true))
  const { gen } = store.known()
  await redis.client().hset(store.keys.meta, { gen: 'next', parent: gen })
  await redis.client().del(store.keys.control)
  await until(async () => expect((await hear()).has('killed')).toBe(true))
  expect(store.known().gen).toBe('next')
  store.close()
})

it('is SAFE by what it cannot read', async () => {
  const { one, hear, store } = await pair()
  mkdirSync(join(one.directory, 'seats', SEAT), { recursive: true })
  let last = one.control
  for (const text of ['', 'null', '{}', '{"check":']) {
    writeFileSync(join(one.directory, 'seats', SEAT, 'SAFE'), text)
    const again = one.create()
    again.heard(await hear())
    expect(again.gate(SEAT).safe?.message).toContain('safe_unreadable')
    last = again
  }
  // A person has it left as any other of the generation of now.
  const set = async () => JSON.parse((await hear()).get(`safe:${SEAT}`) ?? '{}')
  await until(async () => expect(await set()).toMatchObject({ gen: store.known().gen }))
  const left = JSON.stringify({ ...by, over: [store.known().gen] })
  await redis.client().hset(store.keys.control, { [`left:${SEAT}`]: left })
  await redis.client().hdel(store.keys.control, `safe:${SEAT}`)
  last.heard(await hear())
  expect(last.gate(SEAT)).toEqual(OPEN)
  expect(existsSync(join(one.directory, 'seats', SEAT, 'SAFE'))).toBe(false)
  store.close()
})
