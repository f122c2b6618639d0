import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { storeConfigOf } from '../../../src/config/fleet.ts'
import { membersOf } from '../../../src/guard/policy/compare/difference.ts'
import { foundFleet } from '../../../src/journal/redis/link/generation.ts'
import {
  createKeeperScene,
  type KeeperScene,
  liquidationOf,
  startTestKeeper,
  type TestKeeper,
} from '../../support/keeper-scene.ts'
import { policyOfOneOracle } from '../../support/policies.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE } from '../../support/redis-fleet.ts'

const NAMES = ['a', 'b', 'c'] as const
type Name = (typeof NAMES)[number]
let world: KeeperScene
let redis: TestRedis
const started = new Map<Name, TestKeeper>()
beforeAll(async () => {
  world = await createKeeperScene(NAMES.length)
  redis = await startRedis(DURABLE)
})
afterEach(async () => {
  for (const { keeper } of started.values()) await keeper.stop({ drainMs: 0 })
  started.clear()
})
afterAll(async () => {
  await world.stop()
  await redis.stop()
})

const fileOf = (name: Name) => join(world.directory, `policy-${name}.yaml`)

/** Save the policy of an instance, on its own machine. */
function save(name: Name, movedMax: string): void {
  const { environment: _sandbox, ...policy } = policyOfOneOracle()
  const limits = membersOf(policy.limits)
  const saved = {
    ...policy,
    limits: { ...limits, perHour: { ...membersOf(limits.perHour), movedMax } },
  }
  writeFileSync(fileOf(name), stringify(saved, { defaultStringType: 'QUOTE_DOUBLE' }))
}

/** An instance of production, in all that its policies are admitted by. */
const instance = (name: Name, fleet: string) => ({
  ...world.config({
    directory: join(world.directory, `${fleet}-${name}`),
    journal: { redis: { url: `redis://127.0.0.1:${redis.port}/0` } },
    queue: 'bullmq',
    fleet: { name: fleet, instance: name, roster: NAMES, leaseMs: '16000' },
    agents: world.kms.keys.map(({ arn: keyId, address }) =>
      world.liquidator({ policy: fileOf(name), signer: { kms: { keyId, address } } }),
    ),
  }),
  environment: 'production' as const,
})

/** Start three instances by one policy, each with one of the three seats. */
async function startAll(fleet: string): Promise<Readonly<Record<Name, TestKeeper>>> {
  for (const name of NAMES) save(name, WIDE)
  await foundFleet(storeConfigOf(instance('a', fleet)))
  for (const name of NAMES) started.set(name, await startTestKeeper(instance(name, fleet)))
  const [a, b, c] = NAMES.map((name) => started.get(name) ?? expect.fail('not started'))
  if (a === undefined || b === undefined || c === undefined) expect.fail('not started')
  await holding({ a: 1, b: 1, c: 1 })
  return { a, b, c }
}

const WIDE = '2,000,000 USD'
const NARROW = '1,500,000 USD'

/** Why roles of an instance do not work, by its page. */
function rolesDown(page: string): readonly string[] {
  const { facets } = JSON.parse(page) as { facets: Record<string, { state: string; message: string }> }
  const roles = Object.entries(facets).filter(([key]) => key.startsWith('role/'))
  return roles.flatMap(([, { state, message }]) => (state === 'ok' ? [] : [message]))
}

/** Wait until each instance holds so many seats, with as many roles at work. */
const holding = (counts: Partial<Record<Name, number>>) =>
  expect
    .poll(async () => {
      const held = [...started].map(async ([name, one]) => {
        const seats = Number(/^rolekeeper_seats_held (\S+)$/m.exec(await one.page('/metrics'))?.[1])
        const down = rolesDown(await one.page('/readyz'))
        return [name, down.length === 0 ? seats : down.join(' ')]
      })
      return Object.fromEntries(await Promise.all(held))
    })
    .toEqual(counts)

/** Why each had none of the duty, and where a role had a policy that it may not work by. */
const codes = ({ events }: TestKeeper) =>
  events.flatMap((event) =>
    event.type === 'alarm' && /^(fleet.stands_by|policy)/.test(event.code) ? [event.code] : [],
  )

it('works by the narrower policy that its newest instance took up, and shares again once all have it', async () => {
  const { a, b, c } = await startAll('tighten')
  save('c', NARROW)
  await holding({ a: 0, b: 0, c: 3 })
  expect([a, b, c].map(codes)).toEqual([['fleet.stands_by'], ['fleet.stands_by'], []])
  save('a', NARROW)
  save('b', NARROW)
  await holding({ a: 1, b: 1, c: 1 })
  expect([a, b, c].map(codes)).toEqual([['fleet.stands_by'], ['fleet.stands_by'], []])
  const borrower = await world.openUnderWater()
  await Promise.race([a, b, c].map((each) => each.until(liquidationOf(borrower)('succeeded'))))
})

it('is not loosened by the death of who was tightened, and goes on where the file is saved', async () => {
  const { a, b, c } = await startAll('dies')
  save('c', NARROW)
  await holding({ a: 0, b: 0, c: 3 })
  await c.keeper.stop({ drainMs: 0 })
  started.delete('c')
  const down = (one: TestKeeper) => one.until((event) => event.type === 'alarm' && event.code === 'role.down')
  expect(await Promise.race([a, b].map(down))).toMatchObject({
    message: expect.stringContaining('limits.perHour.movedMax 1,500,000 USD → 2,000,000 USD'),
    fix: expect.stringMatching(/^write into .*policy-[ab].yaml what it worked by, in a fleet what its other/),
  })
  save('a', NARROW)
  save('b', NARROW)
  await expect
    .poll(async () => {
      const pages = await Promise.all([a, b].map((one) => one.page('/readyz')))
      return pages.flatMap(rolesDown)
    })
    .toEqual([])
})
