import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { endpointOf } from '../../src/config/redis.ts'
import { foundFleet, type StoreConfig } from '../../src/journal/redis/link/generation.ts'
import { LONG_LEASE_MS, startInstance, type TestInstance } from '../support/fleet-instance.ts'
import { type FleetTime, startFleetTime } from '../support/fleet-time.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, storeAt } from '../support/redis-fleet.ts'
import { startRedisProxy } from '../support/redis-proxy.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

let redis: TestRedis
let time: FleetTime
const started: TestInstance[] = []

beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
beforeEach(() => {
  time = startFleetTime(LEASE_MS)
})
afterEach(async () => {
  for (const { seats, store } of started.splice(0)) {
    await seats.stop()
    store.close()
  }
  time.stop()
})
afterAll(() => redis.stop())

const newFleet = async (): Promise<StoreConfig> => {
  const config = storeAt(redis.port)
  await foundFleet(config)
  return config
}
type Options = Parameters<typeof startInstance>[1] & { readonly instance: string }
const start = (config: StoreConfig, options: Options): TestInstance => {
  const own = options.clock === undefined ? time.clockOf(options.instance) : { monotonicMs: time.nowMs }
  const instance = startInstance(config, { leaseMs: LEASE_MS, ...own, ...options })
  started.push(instance)
  return instance
}
const SEAT = [{ name: '0x01' }]
const EIGHT = Array.from({ length: 8 }, (_, index) => ({ name: `0x0${index}` }))
const LEASE_MS = LONG_LEASE_MS
/** Of processes that live by the machine's time. */
const REAL_LEASE_MS = 2_000

it('hands a seat over as soon as its holder stops', async () => {
  const config = await newFleet()
  const one = start(config, { seats: SEAT, instance: 'one' })
  await until(() => expect(one.names()).toEqual(['0x01']))
  const two = start(config, { seats: SEAT, instance: 'two' })
  await until(() => expect(two.states).toEqual([null]))
  expect(two.seats.isOver('0x01')).toBe(true)
  expect(one.seats.isOver('0x01')).toBe(false)
  const stoppedAtMs = time.nowMs()
  await one.seats.stop()
  expect(one.seats.isOver('0x01')).toBe(true)
  expect(one.events.map(({ what }) => what)).toEqual(['begin 0x01', 'park 0x01'])
  await until(() => expect(two.names()).toEqual(['0x01']))
  // Far less than a lease.
  expect((two.events[0]?.atMs ?? 0) - stoppedAtMs).toBeLessThan(LEASE_MS / 4)
  expect(two.seats.isOver('0x01')).toBe(false)
})

it('lets a seat be taken when its holder is dead, not before, and the same instance take its own at once', async () => {
  const config = await newFleet()
  const one = start(config, { seats: SEAT, instance: 'one' })
  await until(() => expect(one.names()).toEqual(['0x01']))
  const two = start(config, { seats: SEAT, instance: 'two' })
  await time.pass(LEASE_MS)
  const killedAtMs = time.nowMs()
  one.store.close()
  await until(() => expect(two.names()).toEqual(['0x01']))
  const tookMs = (two.events[0]?.atMs ?? 0) - killedAtMs
  // The last beat was up to a quarter of a lease before.
  expect(tookMs).toBeGreaterThan(1.25 * LEASE_MS)
  // It is seen to be the same from one look on until another.
  expect(tookMs).toBeLessThan(1.5 * LEASE_MS + LEASE_MS / 4)

  two.store.close()
  const restartedAtMs = time.nowMs()
  const again = start(config, { seats: SEAT, instance: 'two' })
  await until(() => expect(again.names()).toEqual(['0x01']))
  expect((again.events[0]?.atMs ?? 0) - restartedAtMs).toBeLessThan(LEASE_MS / 4)
})

it('closes the gate of a holder that is cut off before another takes its seat, and ends its term when it hears of it', async () => {
  const config = await newFleet()
  const proxy = await startTcpProxy(redis)
  const endpoint = endpointOf(`redis://127.0.0.1:${proxy.port}/0`)
  const one = start({ ...config, endpoint }, { seats: SEAT, instance: 'one' })
  await until(() => expect(one.names()).toEqual(['0x01']))
  const two = start(config, { seats: SEAT, instance: 'two' })
  await until(() => expect(two.states).toEqual([null]))
  let closedAtMs = 0
  time.onStep(() => {
    if (closedAtMs === 0 && one.seats.isOver('0x01')) closedAtMs = time.nowMs()
  })
  proxy.setRule('toServer', { kind: 'hold' })
  time.leaveOut('one')
  const cutAtMs = time.nowMs()
  await until(() => expect(two.names()).toEqual(['0x01']))
  expect(closedAtMs - cutAtMs).toBeGreaterThan(0.5 * LEASE_MS)
  expect((two.events[0]?.atMs ?? 0) - closedAtMs).toBeGreaterThan(0.25 * LEASE_MS)
  expect(one.events.map(({ what }) => what)).toEqual(['begin 0x01'])
  proxy.setRule('toServer', null)
  time.takeIn('one')
  await until(() =>
    expect(one.events.map(({ what }) => what)).toEqual(['begin 0x01', 'lost 0x01', 'park 0x01']),
  )
  expect(one.seats.isOver('0x01')).toBe(true)
  expect(two.seats.isOver('0x01')).toBe(false)
  await one.seats.stop()
  await proxy.stop()
})

it('ends the term of a holder that was frozen for longer than every lease, the moment it wakes', async () => {
  const config = await newFleet()
  const child = spawn(process.execPath, ['test/fleet/instance-process.ts'], {
    env: {
      ...process.env,
      CONFIG: JSON.stringify(config),
      NAME: 'frozen',
      LEASE_MS: String(REAL_LEASE_MS),
      SEATS: JSON.stringify(SEAT),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const said: string[] = []
  createInterface(child.stdout).on('line', (line) => said.push(line))
  await until(() => expect(said).toEqual(['begin 0x01']))
  const real = { clock: systemClock, monotonicMs: () => performance.now(), leaseMs: REAL_LEASE_MS }
  const two = start(config, { seats: SEAT, instance: 'two', ...real })
  await until(() => expect(two.states).toEqual([null]))
  child.kill('SIGSTOP')
  await until(() => expect(two.names()).toEqual(['0x01']))
  // What it is asked first of all when it wakes.
  child.stdin.write('0x01\n')
  child.kill('SIGCONT')
  await until(() => expect(said).toHaveLength(5))
  expect(said.toSorted()).toEqual([
    ...['begin 0x01', 'fence seat.lost', 'lost 0x01', 'over 0x01 true', 'park 0x01'],
  ])
  expect(two.seats.isOver('0x01')).toBe(false)
  child.stdin.end()
  await once(child, 'exit')
})

it('moves no seat while Redis is away, and goes on when it is back', async () => {
  const own = await startRedis(DURABLE)
  const config = storeAt(own.port)
  await foundFleet(config)
  const pair = ['one', 'two'].map((instance) => start(config, { seats: EIGHT, instance }))
  const isEven = () => expect(pair.map((each) => each.names().length)).toEqual([4, 4])
  await until(isEven)
  const before = pair.map(({ events }) => events.length)
  const closed = () => pair.every(({ seats, names }) => names().every((seat) => seats.isOver(seat)))
  await own.kill()
  for (const { name } of pair) time.leaveOut(name)
  await until(() => expect(closed()).toBe(true))
  await time.pass(LEASE_MS)
  for (const { name } of pair) time.takeIn(name)
  await own.restart()
  await until(() =>
    expect(pair.some(({ seats, names }) => names().some((seat) => seats.isOver(seat)))).toBe(false),
  )
  isEven()
  expect(pair.map(({ events }) => events.length)).toEqual(before)
  expect(pair[0]?.states.at(-1)).toBe(null)
  for (const { seats } of pair) await seats.stop()
  await own.stop()
})

it('closes the gate when the wall clock jumps, until the next beat, and keeps the seat', async () => {
  const config = await newFleet()
  let offMs = 0
  // Shorter than what makes a clock a wrong one.
  const leaseMs = 20_000
  const { clock } = time.clockOf('one')
  const jumping = { ...clock, nowMs: () => Date.now() + offMs }
  const one = start(config, { seats: SEAT, instance: 'one', leaseMs, clock: jumping })
  await until(() => expect(one.names()).toEqual(['0x01']))
  const goOn = time.hold()
  await until(() => expect(time.isAtWork('one')).toBe(false))
  offMs = leaseMs
  expect(one.seats.isOver('0x01')).toBe(true)
  goOn()
  await until(() => expect(one.seats.isOver('0x01')).toBe(false))
  offMs = 0
  expect(one.seats.isOver('0x01')).toBe(false)
  expect(one.events.map(({ what }) => what)).toEqual(['begin 0x01'])
})

it('counts a term from when its beat was sent, however late the answer comes', async () => {
  const config = await newFleet()
  const proxy = await startTcpProxy(redis)
  const endpoint = endpointOf(`redis://127.0.0.1:${proxy.port}/0`)
  const one = start({ ...config, endpoint }, { seats: SEAT, instance: 'one' })
  await until(() => expect(one.names()).toEqual(['0x01']))
  proxy.setRule('toClient', { kind: 'hold' })
  time.leaveOut('one')
  // A beat is on its way by then.
  await time.pass(1.5 * LEASE_MS)
  // No other follows.
  const goOn = time.hold()
  proxy.setRule('toClient', null)
  await until(() => expect(time.isAtWork('one')).toBe(false))
  // It was answered, and did not give up.
  expect(one.states).toEqual([null])
  expect(one.seats.isOver('0x01')).toBe(true)
  goOn()
  await one.seats.stop()
  await proxy.stop()
})

it('closes its gate before it leaves a seat, not when it hears that it has', async () => {
  const config = await newFleet()
  const proxy = await startTcpProxy(redis)
  const endpoint = endpointOf(`redis://127.0.0.1:${proxy.port}/0`)
  const one = start({ ...config, endpoint }, { seats: SEAT, instance: 'one' })
  await until(() => expect(one.names()).toEqual(['0x01']))
  const two = start(config, { seats: SEAT, instance: 'two' })
  await until(() => expect(two.states).toEqual([null]))
  proxy.setRule('toClient', { kind: 'hold' })
  const stopping = one.seats.stop()
  await until(() => expect(two.names()).toEqual(['0x01']))
  expect([one.seats.isOver('0x01'), two.seats.isOver('0x01')]).toEqual([true, false])
  proxy.setRule('toClient', null)
  await stopping
  await proxy.stop()
})

it('leaves a seat at once, though every answer to that is lost', async () => {
  const config = await newFleet()
  const proxy = await startRedisProxy(redis.port)
  const endpoint = endpointOf(`redis://127.0.0.1:${proxy.port}/0`)
  const one = start({ ...config, endpoint }, { seats: SEAT, instance: 'one' })
  await until(() => expect(one.names()).toEqual(['0x01']))
  const two = start(config, { seats: SEAT, instance: 'two' })
  await until(() => expect(two.states).toEqual([null]))
  proxy.losing(() => true)
  const stopping = one.seats.stop()
  await until(() => expect(two.names()).toEqual(['0x01']))
  expect(proxy.lost()).toBeGreaterThan(0)
  proxy.losing(null)
  await stopping
  // What it asked again and again has not taken the seat from who has it now.
  await time.pass(LEASE_MS)
  expect([two.seats.isOver('0x01'), two.events.length]).toEqual([false, 1])
  await proxy.stop()
})

it('opens no gate by an acquisition whose answer a process that was paused reads a lease later', async () => {
  const config = await newFleet()
  let goneMs = 0
  const own = time.clockOf('one')
  const monotonicMs = () => own.monotonicMs() + goneMs
  const gates: boolean[] = []
  const one: TestInstance = start(config, {
    seats: SEAT,
    instance: 'one',
    clock: own.clock,
    monotonicMs,
    onHeld: () => {
      // All that the process does after the pause comes after this.
      goneMs = LEASE_MS
      queueMicrotask(() => gates.push(one.seats.isOver('0x01')))
      return async () => undefined
    },
  })
  await until(() => expect(gates).toEqual([true]))
  // Nobody took it meanwhile.
  await until(() => expect(one.seats.isOver('0x01')).toBe(false))
})
