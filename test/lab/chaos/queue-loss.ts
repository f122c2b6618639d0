import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { compare, gather, type Order } from './checker.ts'
import { flushQueue } from './fleet-faults.ts'
import { untilHeld } from './fleet-seed.ts'
import { createFleetWorld, type FleetSize } from './fleet-world.ts'
import { watchHolders } from './holders.ts'
import { holdPrice, untilSettled } from './seed.ts'

/** What orders took with all keys of BullMQ deleted once a second, or not at all. */
export type QueueLossResult = {
  readonly flushed: number
  readonly workflows: number
  readonly problems: readonly string[]
  /** From an order to its workflow, and to its signature, ms. */
  readonly takenMs: Spread
  readonly signedMs: Spread
}

type Spread = { readonly p50: number; readonly p99: number; readonly max: number }

const ORDER_EVERY_MS = 250
const QUIET_MS_MAX = 60_000
const HIGH = 60_000

/** Let people order from a fleet for so long while BullMQ loses everything each so-and-so-many milliseconds. */
export async function runQueueLoss(
  size: FleetSize & { readonly forMs: number; readonly flushEveryMs: number | null },
): Promise<QueueLossResult> {
  const { keepIn, forMs, flushEveryMs } = size
  mkdirSync(keepIn, { recursive: true })
  const world = await createFleetWorld(size)
  const holders = watchHolders(world.redis.line, world.keys, world.seats)
  const prices = holdPrice(world)
  prices.set(HIGH)
  const orders: (Order & { readonly atMs: number })[] = []
  let flushed = 0
  try {
    for (const { keeper } of world.members) keeper.start()
    await untilHeld(world, holders)
    const flushing = setInterval(
      () => {
        void flushQueue(world).then((count) => {
          flushed += count > 0 ? 1 : 0
        })
      },
      flushEveryMs ?? forMs * 2,
    )
    const fromMs = Date.now()
    while (Date.now() < fromMs + forMs) {
      const order = { id: randomUUID(), assets: 1_000_000n + BigInt(orders.length), atMs: Date.now() }
      orders.push(order)
      world.people.order(order.id, order.assets)
      await sleep(ORDER_EVERY_MS)
    }
    clearInterval(flushing)
    await untilSettled(world, QUIET_MS_MAX, world.people.release)
    const rows = await world.reads().list(100_000)
    await Promise.all(world.members.map(({ keeper }) => keeper.stop()))
    const evidence = await gather(world, orders)
    const { workflows, problems } = await compare(world, orders, evidence, false)
    const byAssets = new Map(rows.map((row) => [String(row.proposal.input.assets), row]))
    const signs = new Map(
      world.deeds().flatMap((deed) => (deed.kind === 'sign' ? [[deed.digest, deed.atMs] as const] : [])),
    )
    const taken: number[] = []
    const signed: number[] = []
    for (const { assets, atMs } of orders) {
      const row = byAssets.get(String(assets))
      if (row === undefined) continue
      taken.push(row.createdAtMs - atMs)
      const first = row.slots.flatMap(({ attempts }) =>
        attempts.flatMap(({ digest }) => signs.get(digest) ?? []),
      )
      if (first.length > 0) signed.push(Math.min(...first) - atMs)
    }
    return {
      flushed,
      workflows,
      takenMs: spread(taken),
      signedMs: spread(signed),
      problems: [...evidence.problems, ...problems],
    }
  } finally {
    await prices.stop()
    await holders.stop()
    await world.stop()
  }
}

/** Pure. */
export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0)
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}
