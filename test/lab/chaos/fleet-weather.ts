import { setTimeout as sleep } from 'node:timers/promises'
import { FAULTS } from './faults.ts'
import {
  FAILOVER,
  type FleetMeans,
  flushQueue,
  PROCESS_FAULTS,
  REDIS_FAULTS,
  WAY_FAULTS,
} from './fleet-faults.ts'
import type { FleetWorld, Member } from './fleet-world.ts'
import { createRolls, createWeather, type Plan, shuffled, type Weather } from './weather.ts'

/** An instance that held seats when it was killed or stopped. */
export type Gone = {
  readonly name: string
  readonly how: 'killed' | 'stopped'
  readonly atMs: number
  /** When it was let go on. */
  untilMs: number
  readonly seats: readonly string[]
}

/** The weather of a fleet: that of each instance's own ways, and what befalls instances and Redis. */
export type FleetWeather = Weather & { readonly gone: () => readonly Gone[] }

type FleetWeatherOptions = {
  readonly seed: number
  readonly forMs: number
  readonly leaseMs: number
  readonly heldBy: (name: string) => readonly string[]
}

/** The engine's faults come so far apart at each instance. */
const PAUSE_MS = 2_000
const PAUSE_MS_MORE = 4_000
const REORG_EVERY_MS = 6_000
/** Between two faults of the fleet's own, in each of the three rows. */
const REST_MS = 300
const REST_MS_MORE = 1_200
const FLUSH_EVERY_MS = 1_000

/** What of an engine's weather meets one instance of a fleet: its processes and disks are the fleet's matter. */
function planOf(seed: number, forMs: number, nodes: number, isFirst: boolean): Plan {
  const roll = createRolls(seed)
  const liar = Math.floor(roll() * nodes)
  const kinds = Object.keys(FAULTS).filter(
    (kind) =>
      !/^(process|disk)\./.test(kind) && (isFirst || !/^(chain|service\.(host|ind|str|pre))/.test(kind)),
  )
  const deck = shuffled(kinds, roll)
  const episodes: Plan['episodes'][number][] = []
  for (let atMs = 1_000; atMs < forMs; atMs += PAUSE_MS + roll() * PAUSE_MS_MORE) {
    const kind = deck[episodes.length % deck.length] ?? ''
    episodes.push({ atMs, kind, forMs: 500 + roll() * 2_000, seed: Math.floor(roll() * 2 ** 31) })
  }
  for (let atMs = REORG_EVERY_MS * (0.5 + roll()); isFirst && atMs < forMs; atMs += REORG_EVERY_MS)
    episodes.push({ atMs, kind: 'chain.reorg', forMs: 0, seed: Math.floor(roll() * 2 ** 31) })
  return { liar, noise: 0.05, episodes: episodes.toSorted((a, b) => a.atMs - b.atMs) }
}

/** Create the weather of a fleet's seed. */
export function createFleetWeather(world: FleetWorld, options: FleetWeatherOptions): FleetWeather {
  const { seed, forMs, leaseMs, heldBy } = options
  const { members } = world
  const own = members.map(({ world: seen, keeper }, index) =>
    createWeather(
      planOf(seed * 16 + index, forMs, seen.nodes.length, index === 0),
      ...([seen, keeper, seed * 16 + index] as const),
    ),
  )
  const hits: Record<string, number> = {}
  const gone: Gone[] = []
  const over = new AbortController()
  const rows: Promise<void>[] = []
  const wait = (ms: number) => sleep(ms, undefined, { signal: over.signal }).catch(() => undefined)

  /** One fault after another, each to its end. */
  const row = async (kinds: Readonly<Record<string, (means: FleetMeans) => Promise<void>>>, salt: number) => {
    const roll = createRolls(seed ^ salt)
    const deck = shuffled(Object.keys(kinds), roll)
    for (let turn = 0; ; turn += 1) {
      await wait(REST_MS + roll() * REST_MS_MORE)
      const kind = deck[turn % deck.length] ?? ''
      // Who holds nothing misses little.
      const holding = members.filter(({ name }) => heldBy(name).length > 0)
      const among = holding.length === 0 ? members : holding
      const member = among[Math.floor(roll() * among.length)]
      if (over.signal.aborted || member === undefined) return
      hits[kind] = (hits[kind] ?? 0) + 1
      await kinds[kind]?.({
        world,
        member,
        leaseMs,
        roll: createRolls(Math.floor(roll() * 2 ** 31)),
        gone: ({ name }: Member, how) => {
          const seats = [...heldBy(name)]
          const one: Gone = { name, how, atMs: Date.now(), untilMs: Number.POSITIVE_INFINITY, seats }
          gone.push(one)
          return () => {
            one.untilMs = Date.now()
          }
        },
      })
    }
  }
  const flushing = async () => {
    for (;;) {
      await wait(FLUSH_EVERY_MS)
      if (over.signal.aborted) return
      // It may be down just now.
      const work = flushQueue(world).catch(() => 0)
      const count = await Promise.race([work, wait(FLUSH_EVERY_MS).then(() => 0)])
      hits['queue.flushed'] = (hits['queue.flushed'] ?? 0) + (Number(count) > 0 ? 1 : 0)
    }
  }
  const withReplica = world.redis.replication === null ? {} : { 'redis.failed_over': FAILOVER }
  return {
    gone: () => gone,
    hits: () => {
      const all: Record<string, number> = { ...hits }
      for (const each of own)
        for (const [kind, times] of Object.entries(each.hits())) all[kind] = (all[kind] ?? 0) + times
      return all
    },
    begin: () => {
      for (const each of own) each.begin()
      rows.push(
        row({ ...REDIS_FAULTS, ...withReplica }, 0x1b873593),
        row(PROCESS_FAULTS, 0x3c6ef372),
        row(WAY_FAULTS, 0x2545f491),
      )
      if (seed % 2 === 0) rows.push(flushing())
    },
    end: async () => {
      over.abort()
      await Promise.all(rows)
      for (const each of own) await each.end()
    },
  }
}
