import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { compare, gather, leftOver, type Order } from './checker.ts'
import type { Ground } from './ground.ts'
import { createKeeperProcess, type KeeperProcess, MAIN } from './keeper-process.ts'
import { createRolls, createWeather, planOf } from './weather.ts'
import { type ChaosWorld, createChaosWorld, type Size } from './world.ts'

/** How a seed is run. */
export type SeedOptions = Size & {
  readonly seed: number
  readonly orders: number
  /** How long things go wrong. */
  readonly forMs: number
  /** Where the keeper's log and, at the end, its state go. */
  readonly keepIn: string
  /** How long it may take until nothing is under way any more, once nothing is wrong. */
  readonly quietMsMax: number
}

/** What one seed showed. */
export type SeedResult = {
  readonly seed: number
  readonly workflows: number
  readonly states: Readonly<Record<string, number>>
  readonly transactions: number
  readonly starts: number
  /** Ends of the keeper that nobody asked for. */
  readonly ends: Readonly<Record<string, number>>
  readonly quietMs: number
  readonly hits: Readonly<Record<string, number>>
  readonly problems: readonly string[]
}

const HIGH = 60_000
/** Looks from one order to release the signer to the next. */
const RELEASE_EVERY = 10

/** Run one seed: a world, its people and orders, everything that goes wrong, quiet, and the checker's word. */
export async function runSeed(options: SeedOptions): Promise<SeedResult> {
  const { seed, forMs, keepIn } = options
  mkdirSync(keepIn, { recursive: true })
  const world = await createChaosWorld(options)
  mkdirSync(world.directory, { recursive: true, mode: 0o700 })
  const keeper = createKeeperProcess(world.configFile, join(keepIn, 'keeper.log'))
  const plan = planOf(seed, forMs, options.nodes)
  const weather = createWeather(plan, world, keeper, seed)
  const ends: Record<string, number> = {}
  const watch = watchOver(keeper, ends)
  const prices = holdPrice(world)
  try {
    keeper.start()
    weather.begin()
    const orders = await inject(world, options, prices.set)
    await weather.end()
    const quietFromMs = performance.now()
    await untilSettled(world, options.quietMsMax, () => release(world))
    const quietMs = performance.now() - quietFromMs
    watch.stop()
    await keeper.stop()
    await prices.stop()
    const evidence = await gather(world, orders)
    const isRestored = weather.hits()['disk.restored'] !== undefined
    const { workflows, states, problems } = await compare(world, orders, evidence, isRestored)
    return {
      seed,
      workflows,
      states,
      transactions: evidence.mined.length,
      starts: keeper.starts(),
      ends,
      quietMs,
      hits: weather.hits(),
      problems: [...evidence.problems, ...problems],
    }
  } finally {
    watch.stop()
    await keeper.kill()
    await prices.stop()
    rmSync(join(options.keepIn, 'state'), { recursive: true, force: true })
    cpSync(world.directory, join(options.keepIn, 'state'), { recursive: true })
    await world.stop()
  }
}

/** Start the keeper again whenever it ended. */
export function watchOver(keeper: KeeperProcess, ends: Record<string, number>) {
  const timer = setInterval(() => {
    const how = keeper.ended()
    if (how === null) return
    if (how !== 'SIGKILL' && how !== 'exit 0') ends[how] = (ends[how] ?? 0) + 1
    keeper.start()
  }, 200)
  return { stop: () => clearInterval(timer) }
}

/** Keep the price of one BTC where it is wanted: fresh, and also after a reorg took it back. */
export function holdPrice(world: Pick<Ground, 'price'>) {
  let wanted = HIGH
  let stopped = false
  const done = (async () => {
    while (!stopped) {
      await world.price(wanted).catch(() => undefined)
      await sleep(1_000)
    }
  })()
  return {
    set: (whole: number) => {
      wanted = whole
    },
    stop: async () => {
      stopped = true
      await done
    },
  }
}

/** Let people order and prices fall, one after the other, for as long as things go wrong. */
export async function inject(
  world: Pick<Ground, 'borrowers'> & { readonly order: (id: string, assets: bigint) => void },
  { seed, orders: count, forMs }: Pick<SeedOptions, 'seed' | 'orders' | 'forMs'>,
  setPrice: (whole: number) => void,
): Promise<readonly Order[]> {
  const roll = createRolls(seed ^ 0x2545f491)
  const orders: Order[] = []
  const steps = 100
  const startedAtMs = performance.now()
  for (let step = 0; step < steps; step += 1) {
    const share = Math.min(1, (step + 1) / (steps * 0.9))
    while (orders.length < count * share) {
      const hex = () =>
        Math.floor(roll() * 2 ** 32)
          .toString(16)
          .padStart(8, '0')
      const [a, b, c, d] = [hex(), hex(), hex(), hex()]
      const id = `${a}-${b.slice(0, 4)}-4${b.slice(5)}-8${c.slice(1, 4)}-${c.slice(4)}${d}`
      const order = { id, assets: 1_000_000n + BigInt(orders.length) }
      orders.push(order)
      world.order(order.id, order.assets)
    }
    const fallen = world.borrowers[Math.ceil(world.borrowers.length * share) - 1]
    if (fallen !== undefined) setPrice(Math.floor(fallen.price * 0.998))
    await sleep(Math.max(1, startedAtMs + ((step + 1) * forMs) / steps - performance.now()))
  }
  return orders
}

/** Wait until nothing is under way or to be had, for at most as long as quiet may take. */
export async function untilSettled(
  world: Ground & Pick<ChaosWorld, 'reads'>,
  msMax: number,
  release: () => Promise<unknown>,
): Promise<void> {
  const untilMs = performance.now() + msMax
  let still = 0
  for (let look = 1; performance.now() < untilMs && still < 3; look += 1) {
    await sleep(1_000)
    // As a person does who was told why the signer is SAFE; where it is not, nothing happens.
    if (look % RELEASE_EVERY === 0) await release()
    still = (await isSettled(world)) ? still + 1 : 0
  }
}

/** As a person does who looked at the signer. */
export async function release({ directory, scene }: ChaosWorld): Promise<void> {
  const order = ['signer', 'release', scene.signer, '--yes', '--directory', directory]
  await once(spawn(process.execPath, [MAIN, ...order], { stdio: 'ignore' }), 'exit')
}

async function isSettled(world: Ground & Pick<ChaosWorld, 'reads'>): Promise<boolean> {
  try {
    const journal = world.reads()
    const live = await journal.live().finally(() => journal.close())
    if (live.length > 0) return false
  } catch {
    return false
  }
  return (await leftOver(world)).length === 0
}
