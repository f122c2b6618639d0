import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endpointOf } from '../../../src/config/redis.ts'
import { seatFolder } from '../../../src/fleet/witnesses.ts'
import { foundFleet } from '../../../src/journal/redis/link/generation.ts'
import { compare, gather, type Order } from './checker.ts'
import { createFleetWorld, FLEET, type FleetRedis, type FleetSize, type FleetWorld } from './fleet-world.ts'
import { type Holders, watchHolders } from './holders.ts'
import { holdPrice, untilSettled } from './seed.ts'
import { createRolls } from './weather.ts'

/** What the injections showed. */
export type AmnesiaResult = {
  readonly injections: number
  /** By kind: how many, and how many with their holder dead. */
  readonly kinds: Readonly<Record<string, { readonly alive: number; readonly dead: number }>>
  /** Milliseconds until every seat was SAFE, of each. */
  readonly foundMs: readonly number[]
  /** Workflows under way at each. */
  readonly carried: readonly number[]
  /** Calls of the KMS between an injection and its end. */
  readonly calls: number
  readonly problems: readonly string[]
}

/** What is forgotten: done while nobody reaches Redis. `older` is a copy from before the last signatures. */
type Kind = (world: FleetWorld, older: string) => Promise<unknown>

const KINDS: Readonly<Record<string, Kind>> = {
  FLUSHALL: ({ redis }) => redis.line().flushall(),
  'an older file': ({ redis }, older) => rewound(redis, older),
  'a lagging failover': ({ redis }) => redis.promote(),
  'a new empty server': ({ redis }) => rewound(redis, null),
  'another generation': async ({ redis }) => {
    await rewound(redis, null)
    const endpoint = endpointOf(`redis://127.0.0.1:${redis.master().port}/0`)
    await foundFleet({ endpoint, fleet: FLEET, replicas: 0 })
  },
}

/** So long without a call of the KMS, once the lines are held, and none is under way. */
const STILL_MS = 2_000
/** Whoever would sign all the same has done so by then. */
const AFTER_MS = 1_000
const FOUND_MS_MAX = 20_000
const WITNESSED_MS_MAX = 60_000
const SETTLED_MS_MAX = 120_000
const ORDER_EVERY_MS = 200
const HIGH = 60_000

/** Let a Redis forget, again and again, under load; each time nothing may be signed before all signers are SAFE. */
export async function runAmnesia(
  count: number,
  size: FleetSize & { readonly seed: number },
  say: (text: string) => void,
): Promise<AmnesiaResult> {
  mkdirSync(size.keepIn, { recursive: true })
  const world = await createFleetWorld({ ...size, hasReplica: true, replicas: 0 })
  const holders = watchHolders(world.redis.line, world.keys, world.seats)
  const prices = holdPrice(world)
  prices.set(HIGH)
  const roll = createRolls(size.seed)
  const kinds: Record<string, { alive: number; dead: number }> = {}
  const result = { foundMs: [] as number[], carried: [] as number[], calls: 0, problems: [] as string[] }
  const orders: Order[] = []
  try {
    for (let index = 0; index < count; index += 1) {
      const [name = '', forget] = Object.entries(KINDS)[index % Object.keys(KINDS).length] ?? []
      if (forget === undefined) break
      const isDead = roll() < 0.5
      const one = await inject({ world, holders, orders, keepIn: size.keepIn, forget, isDead })
      const counted = kinds[name] ?? { alive: 0, dead: 0 }
      kinds[name] = { ...counted, [isDead ? 'dead' : 'alive']: counted[isDead ? 'dead' : 'alive'] + 1 }
      result.foundMs.push(one.foundMs)
      result.carried.push(one.carried)
      result.calls += one.calls
      const told = `${index + 1}: ${name}, holder ${isDead ? 'dead' : 'alive'}`
      result.problems.push(...one.problems.map((problem) => `${told}: ${problem}`))
      say(
        `${told}: SAFE after ${Math.round(one.foundMs)} ms, ${one.carried} carried, ${one.calls} calls; ${one.problems.join('; ')}`,
      )
    }
    for (const { keeper } of world.members) keeper.start()
    await untilSettled(world, SETTLED_MS_MAX, world.people.release)
    await Promise.all(world.members.map(({ keeper }) => keeper.stop()))
    const evidence = await gather(world, orders)
    const { problems } = await compare(world, orders, evidence, false)
    result.problems.push(...evidence.problems, ...problems)
    return { injections: count, kinds, ...result }
  } finally {
    await prices.stop()
    await holders.stop()
    await world.stop()
  }
}

type Injection = {
  readonly world: FleetWorld
  readonly holders: Holders
  readonly orders: Order[]
  readonly keepIn: string
  readonly forget: Kind
  readonly isDead: boolean
}

/** One injection: a fleet at work, what is forgotten, what it does then, and all as it was. */
async function inject({ world, holders, orders, keepIn, forget, isDead }: Injection) {
  const { members, redis, seats } = world
  const isFailover = forget === KINDS['a lagging failover']
  const [older, truth] = [join(keepIn, 'older'), join(keepIn, 'truth')]
  const ended = await tokensOf(world)
  for (const { keeper } of members) keeper.start()
  while ((await tokensOf(world)).some((token, index) => token === '' || token === ended[index]))
    await sleep(50)
  const load = setInterval(() => {
    const order = { id: randomUUID(), assets: 1_000_000n + BigInt(orders.length) }
    orders.push(order)
    world.people.order(order.id, order.assets)
  }, ORDER_EVERY_MS)
  const signs = () => world.deeds().filter(({ kind }) => kind === 'sign').length
  try {
    await untilWitnessed(world)
    copy(redis.master().directory, older)
    redis.replication?.setRule('toClient', { kind: 'drop' })
    await untilWitnessed(world)
  } finally {
    clearInterval(load)
  }
  for (const member of members) hold(member.redis, true)
  // What had passed its barrier by then is signed.
  for (let count = -1; count !== signs(); ) {
    count = signs()
    await sleep(STILL_MS)
  }
  copy(redis.master().directory, truth)
  const carried = await redis.line().hlen(world.keys.brief)
  const holder = members.find(({ name }) => holders.of(name).length > 0)
  if (isDead) await holder?.keeper.kill()
  await forget(world, older)
  const before = signs()
  const fromMs = performance.now()
  for (const member of members) hold(member.redis, false)
  if (isDead) holder?.keeper.start()
  const problems: string[] = []
  while (!isSafe(world)) {
    await sleep(5)
    if (performance.now() - fromMs < FOUND_MS_MAX) continue
    const states = members.map(
      ({ name, keeper }) => `${name} ${keeper.ended() ?? (keeper.isReady() ? 'ready' : 'not ready')}`,
    )
    problems.push(`NOT FOUND: a signer is not SAFE; ${states.join(', ')}`)
    break
  }
  const foundMs = performance.now() - fromMs
  await sleep(AFTER_MS)
  const calls = signs() - before
  if (calls > 0) problems.push(`SIGNED: the KMS was called ${calls} times`)
  if (carried === 0) problems.push('IDLE: nothing was under way')
  // The Redis that has it all comes back, and a person who proved that lets the signers go.
  for (const { keeper } of members) await keeper.kill()
  if (isFailover) await redis.lead()
  else await rewound(redis, truth)
  await redis.follow()
  for (const { world: own } of members)
    for (const seat of seats) rmSync(join(seatFolder(own.directory, seat), 'SAFE'), { force: true })
  return { foundMs, carried, calls, problems }
}

/** The token of each seat: another process holds it by another one. */
const tokensOf = ({ redis, keys, seats }: FleetWorld) =>
  Promise.all(seats.map(async (seat) => (await redis.line().hget(keys.seat(seat), 'token')) ?? ''))

/** Wait until an instance has on its disk that what is written after now was acknowledged, and something is under way. */
async function untilWitnessed({ redis, keys, members, seats }: FleetWorld): Promise<void> {
  const untilMs = performance.now() + WITNESSED_MS_MAX
  const witnessed = () =>
    members.flatMap(({ world }) => seats.map((seat) => sequenceIn(seatFolder(world.directory, seat))))
  const from = Math.max(Number(await redis.line().hget(keys.meta, 'seq')), ...witnessed())
  const isIdle = async () => (await redis.line().hlen(keys.brief)) === 0
  while (Math.max(...witnessed()) <= from || (await isIdle())) {
    if (performance.now() > untilMs) throw new TypeError('nothing is acknowledged before anything is wrong')
    await sleep(10)
  }
}

/** The newest sequence that a seat's witness shows; 0 where there is none. */
function sequenceIn(folder: string): number {
  const file = join(folder, 'acknowledged')
  if (!existsSync(file)) return 0
  const lines = readFileSync(file, 'utf8').matchAll(/^[0-9a-f]{8} [0-9a-f]+ (\d+) /gm)
  return Math.max(0, ...[...lines].map(([, seq]) => Number(seq)))
}

const hold = (proxy: FleetWorld['members'][number]['redis'], isHeld: boolean) => {
  for (const way of ['toServer', 'toClient'] as const) proxy.setRule(way, isHeld ? { kind: 'hold' } : null)
}

/** Whether each seat is SAFE on the disk of somebody. */
const isSafe = ({ members, seats }: FleetWorld) =>
  seats.every((seat) =>
    members.some(({ world }) => existsSync(join(seatFolder(world.directory, seat), 'SAFE'))),
  )

const AOF = 'appendonlydir'

function copy(directory: string, to: string): void {
  rmSync(to, { recursive: true, force: true })
  cpSync(join(directory, AOF), to, { recursive: true })
}

/** Restart a Redis on a copy of its files, or on none. */
async function rewound({ master, restart }: FleetRedis, from: string | null): Promise<void> {
  const { directory, kill } = master()
  await kill()
  rmSync(join(directory, AOF), { recursive: true, force: true })
  if (from !== null) cpSync(from, join(directory, AOF), { recursive: true })
  await restart()
}
