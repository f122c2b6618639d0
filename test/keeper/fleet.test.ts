import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { storeConfigOf } from '../../src/config/fleet.ts'
import { foundFleet } from '../../src/journal/redis/generation.ts'
import {
  createKeeperScene,
  type KeeperScene,
  reached,
  startTestKeeper,
  type TestKeeper,
} from '../support/keeper-scene.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE } from '../support/redis-fleet.ts'

let world: KeeperScene
let redis: TestRedis
const started: TestKeeper[] = []
beforeAll(async () => {
  world = await createKeeperScene()
  redis = await startRedis(DURABLE)
})
afterAll(async () => {
  for (const { keeper } of started) await keeper.stop({ drainMs: 0 })
  await world.stop()
  await redis.stop()
})

/** An instance of a fleet of two, with both keys of the scene. */
const instance = (name: string) =>
  world.config({
    directory: join(world.directory, name),
    journal: { redis: { url: `redis://127.0.0.1:${redis.port}/0` } },
    queue: 'bullmq',
    fleet: { name: 'main', instance: name, roster: ['a', 'b'], leaseMs: '1000' },
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
  await foundFleet(storeConfigOf(instance('a')))
  const a = await start('a')
  const b = await start('b')
  for (const each of [a, b]) await each.until(({ type }) => type === 'role')
  const borrowers = [await world.openUnderWater(), await world.openUnderWater(), await world.openUnderWater()]
  const succeeded = () => [...a.events, ...b.events].filter(reached('succeeded'))
  await expect.poll(() => succeeded().length, { timeout: 30_000 }).toBe(borrowers.length)
  expect((await world.liquidated()).toSorted()).toEqual(borrowers.toSorted())
})
