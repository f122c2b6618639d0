import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { storeConfigOf } from '../../../src/config/fleet.ts'
import { Secret } from '../../../src/config/secrets/secret.ts'
import { foundFleet } from '../../../src/journal/redis/link/generation.ts'
import {
  createKeeperScene,
  type KeeperScene,
  liquidationOf,
  reached,
  startTestKeeper,
  type TestKeeper,
} from '../../support/keeper-scene.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE } from '../../support/redis-fleet.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'

let world: KeeperScene
let redis: TestRedis
const started: TestKeeper[] = []
beforeAll(async () => {
  world = await createKeeperScene()
  redis = await startRedis(DURABLE)
})
afterEach(async () => {
  for (const { keeper } of started.splice(0)) await keeper.stop({ drainMs: 0 })
})
afterAll(async () => {
  await world.stop()
  await redis.stop()
})

/** An instance of a fleet of two, with both keys of the scene. */
const instance = (name: string, { port = redis.port, fleet = 'main', database = 0 } = {}) =>
  world.config({
    directory: join(world.directory, `${fleet}-${name}`),
    journal: { redis: { url: `redis://127.0.0.1:${port}/${database}` } },
    queue: 'bullmq',
    fleet: { name: fleet, instance: name, roster: ['a', 'b'], leaseMs: '8000' },
    agents: world.kms.keys.map(({ arn: keyId, address }) =>
      world.liquidator({ signer: { kms: { keyId, address } } }),
    ),
  })

const start = async (name: string) => {
  const one = await startTestKeeper(instance(name))
  started.push(one)
  return one
}

it('shares the seats of a configuration, and takes each opportunity once', async () => {
  const others = await world.liquidated()
  await foundFleet(storeConfigOf(instance('a')))
  const a = await start('a')
  const b = await start('b')
  for (const each of [a, b]) await each.until(({ type }) => type === 'role')
  const borrowers = [await world.openUnderWater(), await world.openUnderWater(), await world.openUnderWater()]
  const succeeded = (borrower: Address) =>
    Promise.race([a, b].map((each) => each.until(liquidationOf(borrower)('succeeded'))))
  await Promise.all(borrowers.map(succeeded))
  expect([...a.events, ...b.events].filter(reached('succeeded'))).toHaveLength(borrowers.length)
  expect((await world.liquidated()).toSorted()).toEqual([...others, ...borrowers].toSorted())
  let pages: readonly string[] = []
  const figures = (name: string) =>
    pages.map((page) => Number(new RegExp(`^rolekeeper_${name} (\\S+)$`, 'm').exec(page)?.[1]))
  const standing = async () => {
    pages = await Promise.all([a, b].map((each) => each.page('/metrics')))
    const names = ['seats', 'seats_held', 'fleet_instances', 'seat_free_seconds', 'standby', 'queue_deaf']
    return names.map(figures)
  }
  const even = [2, 1, 2, 0, 0, 0].map((each) => [each, each])
  await expect.poll(standing).toEqual(even)
  const counted = ['terms_total{what="begun"}', 'redis_call_seconds_count{call="fence",outcome="ok"}']
  for (const name of [...counted, 'redis_silent_seconds'])
    expect(Math.min(...figures(name))).toBeGreaterThan(0)
})

it('takes up a workflow that Redis has, and whose opening it was never told of', async () => {
  const proxy = await startTcpProxy(redis)
  const config = instance('a', { port: proxy.port, fleet: 'unheard' })
  await foundFleet(storeConfigOf(config))
  const keeper = await startTestKeeper(config)
  started.push(keeper)
  await keeper.until(({ type }) => type === 'role')
  const away = Promise.withResolvers<void>()
  let isAway = false
  proxy.setRule('toServer', (piece) => {
    if (isAway) return { kind: 'drop' }
    if (!piece.includes('"state":"discovered"')) return null
    isAway = true
    away.resolve()
    // It is served, and no other try to hear of it comes through.
    return { kind: 'cut', afterBytes: piece.length }
  })
  const borrower = await world.openUnderWater()
  await away.promise
  // It was tried for as long as anything is. What Redis does is read in the figures just then.
  await until(async () => {
    const page = await keeper.page('/metrics')
    expect(page).toMatch(/^rolekeeper_redis_call_seconds_count\{call="open",outcome="journal\.\w+"\} [1-9]/m)
    expect(page).toMatch(/^rolekeeper_redis_silent_seconds [1-9]/m)
  }, 100)
  proxy.setRule('toServer', null)
  await keeper.until(liquidationOf(borrower)('succeeded'))
  await keeper.keeper.stop({ drainMs: 0 })
  await proxy.stop()
})

it('says on the screen and on its pages that Redis is full, and goes on once it is not', async () => {
  const config = instance('a', { fleet: 'full' })
  await foundFleet(storeConfigOf(config))
  const one = await startTestKeeper(config)
  started.push(one)
  await one.until(({ type }) => type === 'role')
  const server = redis.client()
  await server.config('SET', 'maxmemory', '1mb')
  const borrower = await world.openUnderWater()
  const alarm = await one.until((event) => event.type === 'alarm' && event.code === 'journal.full')
  expect(alarm).toMatchObject({ fix: expect.stringContaining('maxmemory') })
  const { facets } = JSON.parse(await one.page('/readyz'))
  expect(facets.seats).toMatchObject({
    state: 'failing',
    message: expect.stringContaining('give Redis more memory'),
  })
  await server.config('SET', 'maxmemory', '0')
  await one.until(liquidationOf(borrower)('succeeded'))
})

it('ends with one line, and makes nobody SAFE, where a slip leads to a Redis without its fleet', async () => {
  const right = instance('a', { fleet: 'slip' })
  await foundFleet(storeConfigOf(right))
  const once = await startTestKeeper(right)
  await once.until(({ type }) => type === 'role')
  await once.keeper.stop({ drainMs: 0 })
  await expect(startTestKeeper(instance('a', { fleet: 'slip', database: 1 }))).rejects.toThrow(
    /This Redis has no fleet slip; this machine saw its generation \w+\. Fix: correct the URL or `fleet.name`;/,
  )
  const [seat = ''] = readdirSync(join(right.directory, 'seats'))
  expect(readdirSync(join(right.directory, 'seats', seat))).toEqual(['acknowledged'])
})

it('ends with one line where Redis does not take the user, and shows no password', async () => {
  const wrong = instance('a', { fleet: 'refused' })
  const { url } = wrong.journal.redis ?? expect.fail('no Redis')
  const access = { username: 'nobody', password: new Secret('canary-wrong') }
  const started = startTestKeeper({ ...wrong, journal: { redis: { url, replicas: 0, ...access } } })
  await expect(started).rejects.toMatchObject({ code: 'journal.refused', facts: { answer: 'WRONGPASS' } })
  await started.catch((error) => expect(inspect(error, { depth: 9 })).not.toContain('canary'))
})
