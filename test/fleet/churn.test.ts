import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { endpointOf } from '../../src/config/redis.ts'
import { foundFleet } from '../../src/journal/redis/link/generation.ts'
import { fence } from '../../src/journal/redis/seats/seat.ts'
import { startInstance, type TestInstance } from '../support/fleet-instance.ts'
import { startRedis } from '../support/redis.ts'
import { DURABLE, storeAt } from '../support/redis-fleet.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const LEASE_MS = 400
/** By the seed that is taken where none is given, the rounds do each deed, and to each instance. */
const ROUNDS = Number(process.env.ROUNDS ?? 12)
const SEATS = Array.from({ length: 4 }, (_, index) => ({ name: `0x0${index}` }))
const NAMES = ['one', 'two', 'three']

/** Numbers from 0 up to 1 that follow from a seed. */
const randomOf = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}

/** What the gates of some instances let happen, and that no two let the same at once. */
function watchGates(instances: readonly TestInstance[]) {
  const open = (seat: string) => instances.filter(({ seats }) => !seats.isOver(seat)).map(({ name }) => name)
  const doubled: string[] = []
  let looks = 0
  const timer = setInterval(() => {
    looks += 1
    for (const { name } of SEATS) if (open(name).length > 1) doubled.push(`${name}: ${open(name)}`)
  }, 1)
  return { doubled, looks: () => looks, stop: () => clearInterval(timer) }
}

it('opens no gate of a seat in two instances at once, whatever is cut, slow or started anew', async () => {
  const seed = Number(process.env.SEED ?? 5)
  const random = randomOf(seed)
  const among = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] ?? (all[0] as T)
  const redis = await startRedis(DURABLE)
  const config = storeAt(redis.port)
  await foundFleet(config)
  const proxies = new Map<string, TcpProxy>()
  const instances: TestInstance[] = []
  const start = (instance: string, port: number) => {
    const endpoint = endpointOf(`redis://127.0.0.1:${port}/0`)
    const options = { seats: SEATS, instance, leaseMs: LEASE_MS, roster: NAMES }
    instances.push(startInstance({ ...config, endpoint }, options))
  }
  for (const name of NAMES) {
    const proxy = await startTcpProxy(redis)
    proxies.set(name, proxy)
    start(name, proxy.port)
  }
  const gates = watchGates(instances)
  for (let round = 0; round < ROUNDS; round += 1) {
    const name = among(NAMES)
    const proxy = proxies.get(name)
    const deed = among([
      () => proxy?.setRule('toServer', { kind: 'hold' }),
      () => proxy?.setRule('toClient', { kind: 'hold' }),
      () => proxy?.setRule('toClient', { kind: 'delay', ms: Math.floor(random() * LEASE_MS) }),
      () => proxy?.loseLines(),
      () => redis.pause(),
      async () => {
        const index = instances.findLastIndex((each) => each.name === name)
        const [old] = instances.splice(index, 1)
        old?.store.close()
        await old?.seats.stop()
        start(name, proxy?.port ?? 0)
      },
    ])
    await deed()
    await systemClock.sleep(random() * 2.5 * LEASE_MS)
    if (random() < 0.7) for (const each of proxies.values()) each.setRule('toServer', null)
    if (random() < 0.7) for (const each of proxies.values()) each.setRule('toClient', null)
    redis.resume()
  }
  for (const proxy of proxies.values())
    for (const way of ['toServer', 'toClient'] as const) proxy.setRule(way, null)
  const isSpread = () => {
    const held = instances.flatMap(({ names, seats }) => names().filter((seat) => !seats.isOver(seat)))
    expect(held.toSorted()).toEqual(SEATS.map(({ name }) => name))
  }
  await until(isSpread)
  gates.stop()
  expect({ seed, doubled: gates.doubled }).toEqual({ seed, doubled: [] })
  expect(gates.looks()).toBeGreaterThan(ROUNDS)
  // Whose gate is open, his fence passes; a seat may still be on its way to where it belongs.
  for (const { seats, store } of instances) {
    for (const held of seats.held()) {
      await fence({ ...held, writer: 'w', answered: 0 }, [], store).catch((error: unknown) => {
        const isHeld = seats.held().some(({ token }) => token === held.token)
        if (isHeld && !seats.isOver(held.seat)) throw error
      })
    }
  }
  for (const { seats, store } of instances) {
    await seats.stop()
    store.close()
  }
  for (const proxy of proxies.values()) await proxy.stop()
  await redis.stop()
})
