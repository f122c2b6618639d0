import { hashOf } from '../journal/redis/link/answer.ts'
import { type CommandLine, openCommandLine } from '../journal/redis/link/command-line.ts'
import type { StoreConfig } from '../journal/redis/link/generation.ts'
import { type RedisHealth, readHealth } from '../journal/redis/link/health.ts'
import { readInstances } from '../journal/redis/seats/instances.ts'
import { readSeat } from '../journal/redis/seats/seat.ts'
import type { ActiveSwitch } from '../ops/control.ts'
import { type FleetDoubt, safeSeats } from './doubts.ts'
import { type Author, authorOf, pulledInFleet } from './switches.ts'

/** A seat, and who holds it. */
export type SeatOverview = {
  readonly seat: string
  /** Empty for one that is in this configuration no more. */
  readonly roles: readonly string[]
  /** Null where nobody does. */
  readonly holder: string | null
  /** Since when, ms since 1970 by Redis's clock; null where nobody holds it. */
  readonly sinceMs: number | null
  /** How often it was taken. */
  readonly epoch: number
}

/** An instance, as it was last heard of. */
export type InstanceOverview = {
  readonly name: string
  readonly zone: string | null
  /** Null where it never was heard of. */
  readonly release: string | null
  readonly seenMsAgo: number | null
  /** Longer than anything takes that lives. */
  readonly isSilent: boolean
  /** The seats that stand under its name. */
  readonly holds: readonly string[]
  /** Why it takes none, as the code of an error; null where it takes its share. */
  readonly standsBy: string | null
  readonly lagMs: number
  readonly killed: boolean
  readonly paused: boolean
  readonly pausedRoles: readonly string[]
  /** The sequence of Redis by which it knew what is set for the fleet, as it showed this; null where it does not say. */
  readonly heardSeq: number | null
}

/** How a fleet stands, as `rolekeeper fleet --json` prints it. */
export type FleetOverview = {
  readonly fleet: string
  readonly redis: RedisHealth
  /** Who set it, and when; null where nobody did. */
  readonly killed: Author | null
  readonly paused: Author | null
  /** The pauses of single roles. */
  readonly pausedRoles: readonly ActiveSwitch[]
  readonly safe: readonly (FleetDoubt & { readonly seat: string } & Author)[]
  readonly seats: readonly SeatOverview[]
  readonly instances: readonly InstanceOverview[]
}

/** A fleet, as its configuration has it. */
export type Shared = {
  readonly store: Omit<StoreConfig, 'instance'>
  readonly roster: readonly string[]
  readonly leaseMs: number
  readonly seats: readonly { readonly name: string; readonly roles: readonly string[] }[]
}

/** Read how a fleet stands. Throws what its Redis does not let be read. */
export async function readOverview(shared: Shared): Promise<FleetOverview> {
  const line = openCommandLine(shared.store)
  try {
    const redis = await readHealth(line, shared.store)
    const controls = hashOf(await line.read('HGETALL', line.keys.control))
    const seats = await readSeats(shared, line)
    return {
      fleet: shared.store.fleet,
      redis,
      killed: authorOf(controls.get('killed')),
      paused: authorOf(controls.get('paused')),
      pausedRoles: pulledInFleet(controls).filter(({ role }) => role !== undefined),
      safe: safeSeats(controls),
      seats,
      instances: await readFleetInstances(shared, seats, line),
    }
  } finally {
    line.close()
  }
}

/** Read what is set for a fleet, by its name. Throws what its Redis does not let be read. */
export async function readControls(store: StoreConfig): Promise<ReadonlyMap<string, string>> {
  const line = openCommandLine(store)
  try {
    return hashOf(await line.read('HGETALL', line.keys.control))
  } finally {
    line.close()
  }
}

/** Those of the configuration, and what is held beside them. */
async function readSeats(shared: Shared, line: CommandLine): Promise<readonly SeatOverview[]> {
  const ever = await line.read('SMEMBERS', line.keys.seats)
  const roles = new Map(shared.seats.map((seat) => [seat.name, seat.roles]))
  const held = Array.isArray(ever) ? ever.map(String) : []
  const names = [...new Set([...roles.keys(), ...held])]
  const all = await Promise.all(
    names.map(async (seat) => {
      const record = await readSeat(seat, line)
      const isHeld = record !== null && record.token !== ''
      return {
        seat,
        roles: roles.get(seat) ?? [],
        epoch: record?.epoch ?? 0,
        holder: isHeld ? record.holder : null,
        sinceMs: isHeld ? record.sinceS * 1_000 : null,
      }
    }),
  )
  return all.filter(({ seat, holder }) => roles.has(seat) || holder !== null)
}

/** Those of the roster, and whoever was heard of beside them. */
export async function readFleetInstances(
  { roster, leaseMs }: Pick<Shared, 'roster' | 'leaseMs'>,
  seats: readonly Pick<SeatOverview, 'seat' | 'holder'>[],
  line: Pick<CommandLine, 'keys' | 'read'>,
): Promise<readonly InstanceOverview[]> {
  const { instances, nowS } = await readInstances(line)
  const heard = new Map(instances.map((each) => [each.name, each]))
  return [...new Set([...roster, ...heard.keys()])].map((name) => {
    const found = heard.get(name)
    const seenMsAgo = found === undefined ? null : Math.max(nowS - found.seenS, 0) * 1_000
    return {
      name,
      zone: found?.zone ?? null,
      release: found?.release ?? null,
      seenMsAgo,
      // It shows itself eight times in a lease, and Redis's clock is read in whole seconds.
      isSilent: seenMsAgo === null || seenMsAgo > leaseMs + 1_000,
      holds: seats.filter(({ holder }) => holder === name).map(({ seat }) => seat),
      standsBy: found?.standsBy ?? null,
      lagMs: found?.lagMs ?? 0,
      killed: found?.killed ?? false,
      paused: found?.paused ?? false,
      pausedRoles: found?.pausedRoles ?? [],
      heardSeq: found?.heardSeq ?? null,
    }
  })
}
