import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { leavePlace } from '../../../src/cli/target/place.ts'
import { storeConfigOf } from '../../../src/config/fleet.ts'
import { foundFleet } from '../../../src/journal/redis/link/generation.ts'
import { runCommand } from '../../support/commands.ts'
import {
  createKeeperScene,
  ENVIRONMENT,
  type KeeperScene,
  liquidationOf,
  reached,
  startTestKeeper,
  type TestKeeper,
} from '../../support/keeper-scene.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE } from '../../support/redis-fleet.ts'

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

const changes = (name: string) => ({
  directory: join(world.directory, name),
  journal: { redis: { url: `redis://127.0.0.1:${redis.port}/0` } },
  fleet: { name: 'main', instance: name, roster: ['a', 'b', 'c'], leaseMs: '8000' },
  agents: world.kms.keys.map(({ arn: keyId, address }) =>
    world.liquidator({ signer: { kms: { keyId, address }, window: '2' } }),
  ),
})

const start = async (name: string) => {
  const one = await startTestKeeper(world.config(changes(name)))
  started.push(one)
  return one
}

it('is SAFE once Redis was flushed, and works on after a person has proven for each signer what may go on', async () => {
  const file = world.configFile(changes('a'))
  leavePlace({ directory: join(world.directory, 'a'), fleet: { instance: 'a' } }, file)
  const run = (...args: readonly string[]) => runCommand([...args, '--config', file], ENVIRONMENT)
  await foundFleet(storeConfigOf(world.config(changes('a'))))
  const [a, b] = [await start('a'), await start('b')]
  for (const each of [a, b]) await each.until(({ type }) => type === 'role')
  const succeeded = (borrower: Address) =>
    Promise.race([a, b].map((each) => each.until(liquidationOf(borrower)('succeeded'))))
  await succeeded(await world.openUnderWater())
  const signers = world.kms.keys.map(({ address }) => address.toLowerCase())

  await redis.client().flushall()
  const safeFiles = () =>
    ['a', 'b'].flatMap((name) => signers.map((each) => join(world.directory, name, 'seats', each, 'SAFE')))
  await expect.poll(() => safeFiles().every(existsSync)).toBe(true)
  const shown = await run('safe')
  expect(shown).toMatchObject({ code: 0, err: '' })
  for (const each of signers) expect(shown.out).toContain(`rolekeeper safe leave ${each}`)
  const signatures = () => world.kms.calls().filter(({ operation }) => operation === 'Sign').length
  const signed = signatures()

  // The second moved something, and both share their role's budgets.
  const counts = await Promise.all(
    world.kms.keys.map(({ address }) => world.scene.client.getTransactionCount({ address })),
  )
  const moved = signers[counts.findIndex((count) => count > 0)] ?? ''
  const [first = '', second = ''] = [...signers.filter((each) => each !== moved), moved]
  const refused = await run('safe', 'leave', first, '--yes')
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('not all is proven') })
  expect(refused.out).toContain('yes  the instance b is heard, or gone: it saw sequence')
  expect(refused.out).toContain('NO   the instance c is heard, or gone: it has said nothing to this Redis')
  // What was sent last may still be pending on the node.
  const plan = async () => (await run('safe', 'leave', first, '--gone', 'c')).out
  await expect
    .poll(plan)
    .toMatch(/begins a generation that follows[\s\S]*Nothing was done; --yes does it\.\n$/)
  expect(signatures()).toBe(signed)
  // What a node does not say in time is not proven, and nothing is done then.
  const begin = async () => (await run('safe', 'leave', first, '--gone', 'c', '--yes')).out
  await expect.poll(begin).toMatch(/Done\.\n$/)
  expect(await redis.client().hkeys('{rk:main}:budget:liquidator')).toContain(`adopted:${second}:0`)
  // The others attest to what was begun anew first.
  const leave = async () => (await run('safe', 'leave', second, '--yes')).out
  await expect.poll(leave).toMatch(/said that it is gone for good[\s\S]*Done\.\n$/)
  await expect.poll(() => safeFiles().some(existsSync)).toBe(false)
  expect((await run('safe')).out).not.toContain('rolekeeper safe leave')
  // What `c` may have signed lands no more once its nonces are closed, and a person says so.
  expect((await run('safe')).out).toContain('forgotten_nonces')
  const released = async () => {
    for (const each of signers) await run('signer', 'release', each, '--yes')
    return (await run('safe')).out
  }
  await expect.poll(released, { interval: 1_000 }).toBe('No signer is SAFE.\n')
  expect((await run('safe', 'leave', signers[0] ?? '')).out).toContain('is not SAFE')
  const borrower = await world.openUnderWater()
  await succeeded(borrower)
  expect([...a.events, ...b.events].filter(reached('succeeded'))).toHaveLength(2)
  expect(await world.liquidated(borrower)).toEqual([borrower])
  expect(JSON.parse((await run('fleet', '--json')).out)).toMatchObject({
    redis: { parents: [expect.stringMatching(/^[0-9a-f]{16}$/)], problem: null },
    safe: [],
  })
})
