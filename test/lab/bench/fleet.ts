import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE } from '../../support/redis-fleet.ts'
import type { Said } from './fleet-instance.ts'
import {
  type FencePaces,
  measureFence,
  measureRedis,
  measureWakes,
  type Pace,
  type RedisPaces,
} from './fleet-redis.ts'
import { type Claimed, type Fleet, startFleet } from './fleet-world.ts'
import { startSide } from './throughput.ts'
import { createThroughputWorld, type Job, type ThroughputSettings } from './throughput-world.ts'
import { quantile } from './waves.ts'

/** How fast workflows came to `confirmed`, on one machine with all that they talk to. */
type CarryPace = {
  readonly perSecond: number
  /** By the keeper on SQLite, in the rounds before and after. */
  readonly toSqlite: number
  /** Computing of all instances, and of Redis, for one workflow. */
  readonly cpuMsEach: number
  readonly redisCpuMsEach: number
  /** What clients sent to Redis for one workflow; beats, looks and listening included. */
  readonly commandsEach: Readonly<Record<string, number>>
}

/** Each signer of a role of its own, and all of one: then each claim waits for the budget that the one before it left. */
type FleetRate = CarryPace & { readonly instances: number; readonly ofOneRole: CarryPace }

/** How long a seat's claims stood still, milliseconds, of each seat that changed its holder. */
type Gaps = { readonly seats: number; readonly p50Ms: number; readonly maxMs: number }

export type FleetFigures = {
  readonly type: 'fleet'
  readonly sqlitePerSecond: number
  readonly rates: readonly FleetRate[]
  /** Commands of one workflow carried alone, by what follows which state and by name; one transaction, no replica. */
  readonly commands: Extract<Said, { type: 'counted' }>['commands']
  readonly redis: RedisPaces
  readonly fence: FencePaces
  readonly wake: Pace
  readonly leaseMs: number
  /** From the holder's SIGKILL to the next claim of its seats. */
  readonly failover: Gaps
  /** Between two claims of a seat while three instances were replaced one after another. */
  readonly rolling: Gaps
  readonly load: readonly [number, number]
}

const KEYS = 8
const WORKFLOWS = 1_024
const AT_ONCE = 256
const INSTANCES = [1, 2, 4] as const
const LEASE_MS = 8_000
/** Enough that a seat claims a few times a second. */
const LOAD = 4

/**
 * Measure a fleet on a Redis that syncs each write: real instances with their seats, beside the keeper on SQLite, and each part
 * by itself. All processes share this machine.
 */
export async function measureFleet(say: (text: string) => void): Promise<FleetFigures> {
  const [loadBefore = 0] = loadavg()
  const redis = await startRedis(DURABLE)
  try {
    say('claims, barriers and wake-ups')
    const parts = {
      // First: a replica that copies much has no time to acknowledge.
      fence: await measureFence(redis, () =>
        startRedis({ ...DURABLE, replicaof: `127.0.0.1 ${redis.port}` }),
      ),
      wake: await measureWakes(redis),
      redis: await measureRedis(redis),
    }
    const carried = await measureRates(redis, say)
    return {
      type: 'fleet',
      ...carried,
      ...parts,
      leaseMs: LEASE_MS,
      load: [loadBefore, loadavg()[0] ?? 0],
    }
  } finally {
    await redis.stop()
  }
}

/** Carry workflows by SQLite and by fleets in turns, then take instances from one. */
async function measureRates(redis: TestRedis, say: (text: string) => void) {
  const world = await createThroughputWorld(2, KEYS)
  const [alone, shared] = world.settings
  if (alone === undefined || shared === undefined) throw new TypeError('a contender without settings')
  const sqlite = await startSide('unaudited', alone)
  try {
    const carryAlone = async () => {
      const { tookMs } = await sqlite.go({ jobs: nextJobs(), atOnce: AT_ONCE })
      say(`SQLite: ${Math.round(tookMs)} ms`)
      return tookMs
    }
    await carryAlone()
    const aloneMs = [await carryAlone()]
    const rates: FleetRate[] = []
    let commands: FleetFigures['commands'] = {}
    for (const instances of INSTANCES) {
      const names = Array.from({ length: instances }, (_, index) => `i${index}`)
      const fleet = await startFleet(shared, optionsOf(redis, `of-${instances}`, names))
      await fleet.start(names)
      const client = redis.client()
      await carryTogether(fleet, client)
      const round = await carryTogether(fleet, client)
      const ofOneRole = await carryTogether(fleet, client, false)
      say(
        `${instances} instances: ${Math.round(round.tookMs)} ms, of one role ${Math.round(ofOneRole.tookMs)} ms`,
      )
      if (instances === 1) commands = await countCommands(fleet)
      await fleet.stop()
      aloneMs.push(await carryAlone())
      const sqliteMs = ((aloneMs.at(-2) ?? 0) + (aloneMs.at(-1) ?? 0)) / 2
      rates.push({ instances, ...paceOf(round, sqliteMs), ofOneRole: paceOf(ofOneRole, sqliteMs) })
    }
    const gaps = await measureGaps(shared, redis, say)
    const sqlitePerSecond = (1_000 * WORKFLOWS) / quantile(aloneMs, 0.5)
    return { sqlitePerSecond, rates, commands, ...gaps }
  } finally {
    await sqlite.stop()
    await world.stop()
  }
}

const optionsOf = ({ port: redisPort }: TestRedis, fleet: string, roster: readonly string[]) => ({
  redisPort,
  fleet,
  roster,
  leaseMs: LEASE_MS,
})

let jobs = 0
const nextJobs = (ofOwnRole = true): readonly Job[] =>
  Array.from({ length: WORKFLOWS }, (_, index) => {
    jobs += 1
    return { key: index % KEYS, id: jobs, ofOwnRole }
  })

type Round = {
  readonly tookMs: number
  readonly cpuMs: number
  readonly redisCpuMs: number
  readonly commands: Readonly<Record<string, number>>
}

/** Have a fleet carry as much as the keeper alone, each instance what its seats sign. */
async function carryTogether(fleet: Fleet, client: Redis, ofOwnRole = true): Promise<Round> {
  const instances = fleet.instances()
  const all = nextJobs(ofOwnRole)
  const before = await usageOf(client)
  const startedMs = performance.now()
  const carried = await Promise.all(
    instances.map(({ keys, ask }) => {
      const own = all.filter(({ key }) => keys.includes(key))
      return ask({ type: 'carry', jobs: own, atOnce: AT_ONCE / instances.length }, 'carried')
    }),
  )
  const tookMs = performance.now() - startedMs
  const after = await usageOf(client)
  const since = (name: string) => (after.calls[name] ?? 0) - (before.calls[name] ?? 0)
  return {
    tookMs,
    cpuMs: carried.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    redisCpuMs: after.cpuMs - before.cpuMs,
    commands: Object.fromEntries(FROM_CLIENTS.map((name) => [name, since(name)])),
  }
}

/** What comes from clients alone: what scripts call is counted by Redis under the same names, so others say nothing. */
const FROM_CLIENTS = ['evalsha', 'wait', 'bzpopmin']

/** Redis's own counts so far. */
async function usageOf(client: Redis) {
  const [stats, cpu] = [await client.info('commandstats'), await client.info('cpu')]
  const calls = Object.fromEntries(
    [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name = '', count]) => [name, Number(count)]),
  )
  const cpuS = [...cpu.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)].reduce((sum, [, s]) => sum + Number(s), 0)
  return { calls, cpuMs: 1_000 * cpuS }
}

function paceOf({ tookMs, cpuMs, redisCpuMs, commands }: Round, sqliteMs: number): CarryPace {
  return {
    perSecond: (1_000 * WORKFLOWS) / tookMs,
    toSqlite: sqliteMs / tookMs,
    cpuMsEach: cpuMs / WORKFLOWS,
    redisCpuMsEach: redisCpuMs / WORKFLOWS,
    commandsEach: Object.fromEntries(
      Object.entries(commands).map(([name, count]) => [name, count / WORKFLOWS]),
    ),
  }
}

/** Count what one workflow asks of Redis, at the average of one a key. */
async function countCommands(fleet: Fleet): Promise<FleetFigures['commands']> {
  const [instance] = fleet.instances()
  if (instance === undefined) throw new TypeError('a fleet without an instance')
  const own = nextJobs().slice(0, KEYS)
  const { commands } = await instance.ask({ type: 'count', jobs: own }, 'counted')
  return Object.fromEntries(
    Object.entries(commands).map(([step, counts]) => [
      step,
      Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / own.length])),
    ]),
  )
}

/** Replace three instances one after another under load, then kill two. */
async function measureGaps(shared: ThroughputSettings, redis: TestRedis, say: (text: string) => void) {
  const names = ['a', 'b', 'c']
  const fleet = await startFleet(shared, optionsOf(redis, 'of-3', names))
  await fleet.start(names)
  fleet.load(LOAD)
  await claimed(
    fleet,
    nowMs(),
    Array.from({ length: KEYS }, (_, key) => key),
  )
  const beganMs = nowMs()
  for (const name of names) {
    await fleet.leave(name)
    await fleet.start([name])
    say(`${name} was replaced`)
  }
  const endedMs = nowMs()
  const rolling = Array.from({ length: KEYS }, (_, key) => longestGap(fleet.claims, key, beganMs, endedMs))
  const failover: number[] = []
  for (const name of names.slice(0, 2)) {
    const atMs = nowMs()
    const keys = await fleet.kill(name)
    failover.push(...(await claimed(fleet, atMs, keys, name)))
    say(`${name} was killed; its seats claimed again after ${failover.map(Math.round).join(', ')} ms`)
  }
  fleet.load(0)
  await fleet.stop()
  return { rolling: gapsOf(rolling), failover: gapsOf(failover) }
}

const nowMs = () => Number(process.hrtime.bigint()) / 1e6

/** Resolve with how long after a time each key was claimed by another instance. */
async function claimed(fleet: Fleet, sinceMs: number, keys: readonly number[], notBy?: string) {
  for (;;) {
    const first = keys.flatMap((key) => {
      const claim = fleet.claims.find(
        (each) => each.key === key && each.atMs > sinceMs && each.instance !== notBy,
      )
      return claim === undefined ? [] : [claim.atMs - sinceMs]
    })
    if (first.length === keys.length) return first
    await sleep(50)
  }
}

function longestGap(claims: readonly Claimed[], key: number, fromMs: number, toMs: number): number {
  const times = claims.flatMap((each) => (each.key === key ? [each.atMs] : [])).toSorted((a, b) => a - b)
  return times.reduce((longest, atMs, index) => {
    const before = times[index - 1]
    return before === undefined || atMs < fromMs || before > toMs ? longest : Math.max(longest, atMs - before)
  }, 0)
}

const gapsOf = (gaps: readonly number[]): Gaps => ({
  seats: gaps.length,
  p50Ms: quantile(gaps, 0.5),
  maxMs: Math.max(...gaps),
})
