import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { foundFleet, type StoreConfig } from '../../src/journal/redis/generation.ts'
import { startInstance, type TestInstance } from '../support/fleet-instance.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, storeAt } from '../support/redis-fleet.ts'

let redis: TestRedis
const started: TestInstance[] = []

beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
afterEach(async () => {
  for (const { seats, store } of started.splice(0)) {
    await seats.stop()
    store.close()
  }
})
afterAll(() => redis.stop())

const newFleet = async (): Promise<StoreConfig> => {
  const config = storeAt(redis.port)
  await foundFleet(config)
  return config
}
const start = (...args: Parameters<typeof startInstance>): TestInstance => {
  const instance = startInstance(...args)
  started.push(instance)
  return instance
}
const until = (isSo: () => void) => vi.waitFor(isSo, { timeout: 20_000, interval: 5 })
const SEAT = [{ name: '0x01' }]

it('hands a seat over as soon as its holder stops', async () => {
  const config = await newFleet()
  const one = start(config, { seats: SEAT, instance: 'one' })
  await until(() => expect(one.names()).toEqual(['0x01']))
  const two = start(config, { seats: SEAT, instance: 'two' })
  await until(() => expect(two.states).toEqual([null]))
  expect(two.seats.isOver('0x01')).toBe(true)
  expect(one.seats.isOver('0x01')).toBe(false)
  const stoppedAtMs = performance.now()
  await one.seats.stop()
  expect(one.seats.isOver('0x01')).toBe(true)
  expect(one.events.map(({ what }) => what)).toEqual(['begin 0x01', 'park 0x01'])
  await until(() => expect(two.names()).toEqual(['0x01']))
  // Far less than a lease.
  expect((two.events[0]?.atMs ?? 0) - stoppedAtMs).toBeLessThan(600)
  expect(two.seats.isOver('0x01')).toBe(false)
})
