import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { foundFleet, type StoreConfig } from '../../src/journal/redis/link/generation.ts'
import { LONG_LEASE_MS, startInstance, type TestInstance } from '../support/fleet-instance.ts'
import { type FleetTime, startFleetTime } from '../support/fleet-time.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, storeAt } from '../support/redis-fleet.ts'
import { until } from '../support/until.ts'

let redis: TestRedis
let config: StoreConfig
const started = new Set<TestInstance>()
const LEASE_MS = LONG_LEASE_MS
let time: FleetTime
const EIGHT = Array.from({ length: 8 }, (_, index) => ({ name: `0x0${index}` }))

beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
beforeEach(() => {
  time = startFleetTime(LEASE_MS)
})
afterEach(async () => {
  for (const instance of started) await stop(instance)
  time.stop()
})
afterAll(() => redis.stop())

const newFleet = async () => {
  config = storeAt(redis.port)
  await foundFleet(config)
}
let count = 0
type Options = Partial<Parameters<typeof startInstance>[1]> & { readonly offMs?: number }
const start = (instance: string, { offMs = 0, ...options }: Options = {}) => {
  count += 1
  const { clock, monotonicMs } = time.clockOf(`${instance} ${count}`)
  const own = { clock: { ...clock, nowMs: () => Date.now() + offMs }, monotonicMs }
  const each = startInstance(config, { seats: EIGHT, leaseMs: LEASE_MS, instance, ...own, ...options })
  started.add(each)
  return each
}
const stop = async (instance: TestInstance) => {
  await instance.seats.stop()
  instance.store.close()
  started.delete(instance)
}
const hold = (counts: Record<string, number>) =>
  until(() =>
    expect(Object.fromEntries([...started].map(({ name, names }) => [name, names().length]))).toEqual(counts),
  )
const begun = (instances: readonly TestInstance[]) =>
  instances.flatMap(({ events }) => events.filter(({ what }) => what.startsWith('begin'))).length

it('spreads eight seats over one, two and three instances and back, each move for a reason', async () => {
  await newFleet()
  const one = start('one')
  await hold({ one: 8 })
  const two = start('two')
  await hold({ one: 4, two: 4 })
  const three = start('three')
  await until(() => {
    const counts = [one, two, three].map(({ names }) => names().length)
    expect(counts.toSorted()).toEqual([2, 3, 3])
  })
  // 8 at first, 4 to the second, 2 to the third.
  expect(begun([one, two, three])).toBe(14)
  // Nobody moves what is even.
  await time.pass(2 * LEASE_MS)
  expect(begun([one, two, three])).toBe(14)
  await stop(three)
  await hold({ one: 4, two: 4 })
  await stop(one)
  await hold({ two: 8 })
  expect(begun([one, two, three])).toBe(14 + 2 + 4)
})

it('leaves no seat for longer than a lease in a rolling restart of three', async () => {
  await newFleet()
  const all = ['one', 'two', 'three'].map((name) => start(name))
  await until(() => expect(all.map(({ names }) => names().length).toSorted()).toEqual([2, 3, 3]))
  const fromMs = time.nowMs()
  for (const [index, name] of ['one', 'two', 'three'].entries()) {
    await stop(all[index] ?? start(name))
    all.push(start(name))
    await until(() =>
      expect([...started].flatMap(({ names }) => names()).toSorted()).toEqual(EIGHT.map((each) => each.name)),
    )
  }
  const events = all.flatMap((instance) => instance.events).toSorted((a, b) => a.atMs - b.atMs)
  const gaps = EIGHT.flatMap(({ name }) => {
    const ofSeat = events.filter(({ what, atMs }) => what.endsWith(name) && atMs > fromMs)
    return ofSeat.flatMap(({ what, atMs }, index) =>
      what.startsWith('begin') ? [atMs - (ofSeat[index - 1]?.atMs ?? atMs)] : [],
    )
  })
  expect(gaps.length).toBeGreaterThanOrEqual(8)
  expect(Math.max(...gaps)).toBeLessThan(LEASE_MS)
  // One at a time has it: each begin follows a park.
  for (const { name } of EIGHT) {
    const kinds = events.filter(({ what }) => what.endsWith(name)).map(({ what }) => what.split(' ')[0])
    expect(kinds.filter((kind, index) => kind !== (index % 2 === 0 ? 'begin' : 'park'))).toEqual([])
  }
})

it('moves a seat to the zone that it prefers, and back elsewhere when that zone is gone', async () => {
  await newFleet()
  const seats = [{ name: '0x01', zone: 'west' }, { name: '0x02' }]
  const east = start('east', { seats, zone: 'east' })
  await hold({ east: 2 })
  const west = start('west', { seats, zone: 'west' })
  await until(() => expect([east.names(), west.names()]).toEqual([['0x02'], ['0x01']]))
  await stop(west)
  await hold({ east: 2 })
})

it('has an instance of another fingerprint stand by until none of those before it lives', async () => {
  await newFleet()
  const one = start('one')
  const two = start('two')
  await hold({ one: 4, two: 4 })
  await stop(one)
  const newer = start('one', { agreement: () => ({ fingerprint: 'other', tightened: 0 }) })
  await until(() => expect(newer.states).toEqual(['fleet.stands_by']))
  await hold({ one: 0, two: 8 })
  await time.pass(LEASE_MS)
  await hold({ one: 0, two: 8 })
  await stop(two)
  await hold({ one: 8 })
  expect(newer.states).toEqual(['fleet.stands_by', null])
})

it('takes no seat with a clock that is 30 s off', async () => {
  await newFleet()
  const late = start('late', { offMs: -60_000 })
  const early = start('early', { offMs: 60_000 })
  await until(() => expect([late.states, early.states]).toEqual([['fleet.clock'], ['fleet.clock']]))
  await time.pass(LEASE_MS)
  expect([late.names(), early.names()]).toEqual([[], []])
  const right = start('right', { offMs: 29_000 })
  await until(() => expect(right.names()).toHaveLength(8))
})

it("takes seats where the newest block says that Redis's clock is the wrong one, and none where both differ", async () => {
  await newFleet()
  const offMs = 60_000
  const both = start('both', { offMs, blockOffMs: () => -35_000 })
  await until(() => expect(both.states).toEqual(['fleet.clock']))
  const byChain = start('by-chain', { offMs, blockOffMs: () => 4_000 })
  await until(() => expect(byChain.names()).toHaveLength(8))
  expect([byChain.states, both.names()]).toEqual([[null], []])
})

it('takes seats while the chain stands still and the clocks agree', async () => {
  await newFleet()
  const one = start('one', { blockOffMs: () => 3_600_000 })
  await until(() => expect(one.names()).toHaveLength(8))
})

it('has who lags wait so much longer before it takes what was left or lost, and give it back to who does not', async () => {
  await newFleet()
  const seats = EIGHT.slice(0, 2)
  const lagMs = LEASE_MS
  const begunAtMs = time.nowMs()
  const late = start('late', { seats, lagMs })
  const later = start('later', { seats, lagMs: 100 * LEASE_MS })
  await hold({ late: 2, later: 0 })
  expect((late.events[0]?.atMs ?? 0) - begunAtMs).toBeGreaterThanOrEqual(lagMs)
  const one = start('one', { seats })
  await hold({ late: 0, later: 0, one: 2 })
  const two = start('two', { seats })
  await hold({ late: 0, later: 0, one: 1, two: 1 })
  await stop(one)
  await hold({ late: 0, later: 0, two: 2 })
  const before = late.events.length
  // Killed: it leaves nothing.
  two.store.close()
  const killedAtMs = time.nowMs()
  await until(() => expect(late.names()).toHaveLength(2))
  expect((late.events[before]?.atMs ?? 0) - killedAtMs).toBeGreaterThan(1.25 * LEASE_MS + lagMs)
  expect(later.events).toEqual([])
})

it('ends all terms of a process once another began with its name, and has that wait as for any other', async () => {
  await newFleet()
  count = 0
  const first = start('one', { place: 'here' })
  await hold({ one: 8 })
  // Which ends without a word to the clock.
  time.leaveOut('one 1')
  const beganMs = time.nowMs()
  const second = start('one', { place: 'elsewhere' })
  await until(() => expect(first.states.at(-1)).toBe('fleet.name_taken'))
  await until(() => expect([first.names().length, second.names().length]).toEqual([0, 8]))
  expect((second.events[0]?.atMs ?? 0) - beganMs).toBeGreaterThan(LEASE_MS)
})
