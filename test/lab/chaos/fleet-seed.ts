import { mkdirSync } from 'node:fs'
import { compare, gather } from './checker.ts'
import { type Takeover, takeovers, trespasses } from './fleet-checker.ts'
import { createFleetWeather } from './fleet-weather.ts'
import { createFleetWorld, type FleetSize, type FleetWorld } from './fleet-world.ts'
import { type Holders, watchHolders } from './holders.ts'
import { holdPrice, inject, type SeedOptions, type SeedResult, untilSettled, watchOver } from './seed.ts'

/** How a fleet's seed is run. */
export type FleetSeedOptions = Omit<FleetSize, 'hasReplica' | 'replicas'> &
  Pick<SeedOptions, 'seed' | 'orders' | 'forMs' | 'quietMsMax'>

/** What one seed of a fleet showed. */
export type FleetSeedResult = SeedResult & {
  /** How often a seat changed hands. */
  readonly changes: number
  readonly takeovers: readonly Takeover[]
}

/** Every so-and-so-many-th seed has a replica, and fails over to it. */
const REPLICA_EVERY = 4

/** Run one seed of a fleet: a world, its people and orders, everything that goes wrong, quiet, and the checker's word. */
export async function runFleetSeed(given: FleetSeedOptions): Promise<FleetSeedResult> {
  const hasReplica = given.seed % REPLICA_EVERY === 0
  const options = { ...given, hasReplica, replicas: hasReplica ? 1 : 0 } as const
  const { seed, leaseMs, forMs, keepIn } = options
  mkdirSync(keepIn, { recursive: true })
  const world = await createFleetWorld(options)
  const holders = watchHolders(world.redis.line, world.keys, world.seats)
  const weather = createFleetWeather(world, { seed, forMs, leaseMs, heldBy: holders.of })
  const ends: Record<string, number> = {}
  const watches = world.members.map(({ keeper }) => watchOver(keeper, ends))
  const prices = holdPrice(world)
  const rest = async () => {
    for (const watch of watches) watch.stop()
    await prices.stop()
    await holders.stop()
  }
  try {
    for (const { keeper } of world.members) keeper.start()
    await untilHeld(world, holders)
    weather.begin()
    const orders = await inject(
      { borrowers: world.borrowers, order: world.people.order },
      options,
      prices.set,
    )
    await weather.end()
    const quietFromMs = performance.now()
    await untilSettled(world, options.quietMsMax, world.people.release)
    const quietMs = performance.now() - quietFromMs
    for (const watch of watches) watch.stop()
    await Promise.all(world.members.map(({ keeper }) => keeper.stop()))
    await rest()
    const evidence = await gather(world, orders)
    const { workflows, states, problems } = await compare(world, orders, evidence, false)
    const trespassed = await trespasses(world, holders)
    return {
      seed,
      workflows,
      states,
      transactions: evidence.mined.length,
      ends,
      quietMs,
      starts: world.members.reduce((sum, { keeper }) => sum + keeper.starts(), 0),
      hits: weather.hits(),
      changes: holders.changes().length,
      takeovers: takeovers(weather.gone(), world, holders),
      problems: [...evidence.problems, ...problems, ...trespassed],
    }
  } finally {
    await rest()
    await world.stop()
  }
}

const HELD_MS_MAX = 90_000

/** Wait until every seat is held, before anything is wrong. */
export async function untilHeld({ seats, members }: FleetWorld, { of }: Pick<Holders, 'of'>): Promise<void> {
  const untilMs = performance.now() + HELD_MS_MAX
  while (members.flatMap(({ name }) => of(name)).length < seats.length) {
    if (performance.now() > untilMs) throw new TypeError('the seats of a new fleet were not taken')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
