import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Passing } from '../../support/fault-proxy.ts'
import { compare, gather, type Order } from './checker.ts'
import { createKeeperProcess, type KeeperProcess } from './keeper-process.ts'
import { release, untilSettled } from './seed.ts'
import { type ChaosWorld, createChaosWorld } from './world.ts'

/** Every durable state, in the order that a workflow, its slots and their attempts pass through them. */
const STATES = [
  ...['discovered', 'requested', 'prepared', 'attested', 'cleared'],
  ...['ordered', 'signed', 'sent', 'mined', 'final', 'confirmed', 'succeeded'],
] as const

/** What a state's effect is where it is seen from outside; of the others it is the next state's write. */
const EFFECTS: Readonly<
  Partial<
    Record<(typeof STATES)[number], readonly ['service' | 'kms' | string, (passing: Passing) => boolean]>
  >
> = {
  requested: ['service', ({ path }) => path === '/v1/workflows/prepare'],
  attested: ['eth_simulateV1', () => true],
  ordered: ['kms', ({ body }) => body.includes('ECDSA_SHA_256')],
  signed: ['eth_sendRawTransaction', () => true],
  sent: ['service', ({ path }) => /^\/v1\/workflows\/[^/]+\/transactions$/.test(path)],
  confirmed: ['service', ({ method, path }) => method === 'GET' && path.startsWith('/v1/workflows/')],
}

type Cell = { readonly state: (typeof STATES)[number]; readonly when: 'before' | 'after' | 'effect' }

const CELLS: readonly Cell[] = STATES.flatMap((state) => [
  { state, when: 'before' } as const,
  { state, when: 'after' } as const,
  ...(EFFECTS[state] === undefined ? [] : [{ state, when: 'effect' } as const]),
])

/** A kill carries at least so many workflows. */
const LIVE_MIN = 50
/** So many are there when a keeper starts: some end before it is killed. */
const LIVE_BEFORE = 90
/** Each world takes every so-and-so-many-th cell. */
const WORLDS = 3
const CELL_MS_MAX = 60_000

/** What the matrix showed. */
export type CrashResult = {
  readonly cells: number
  readonly workflows: number
  readonly problems: readonly string[]
}

/** Kill a keeper in every durable state before the write, after it, and after its effect, and check each world. */
export async function runCrashes(keepIn: string, say: (text: string) => void): Promise<CrashResult> {
  const problems: string[] = []
  let workflows = 0
  for (let index = 0; index < WORLDS; index += 1) {
    const cells = CELLS.filter((_, at) => at % WORLDS === index)
    const result = await runWorld(cells, join(keepIn, String(index)), say)
    workflows += result.workflows
    problems.push(...result.problems)
  }
  return { cells: CELLS.length, workflows, problems }
}

async function runWorld(
  cells: readonly Cell[],
  keepIn: string,
  say: (text: string) => void,
): Promise<CrashResult> {
  mkdirSync(keepIn, { recursive: true })
  const world = await createChaosWorld({ nodes: 2, borrowers: 10, confirmations: 2 })
  mkdirSync(world.directory, { recursive: true, mode: 0o700 })
  const keeper = createKeeperProcess(world.configFile, join(keepIn, 'keeper.log'))
  const orders: Order[] = []
  const missed: string[] = []
  try {
    await world.price(Math.floor((world.borrowers.at(-1)?.price ?? 0) * 0.998))
    for (const cell of cells) {
      await topUp(world, orders)
      const carried = await killAt(cell, world, keeper)
      say(
        `${cell.state}, ${cell.when}: ${carried === null ? 'was not reached' : `${carried} workflows carried`}`,
      )
      if (carried === null || carried < LIVE_MIN)
        missed.push(`${cell.state}, ${cell.when}: the kill carried ${carried ?? 'nothing'}`)
    }
    keeper.start()
    await untilSettled(world, CELL_MS_MAX, () => release(world))
    await keeper.stop()
    const evidence = await gather(world, orders)
    const { workflows, problems } = await compare(world, orders, evidence, false)
    return { cells: cells.length, workflows, problems: [...missed, ...evidence.problems, ...problems] }
  } finally {
    await keeper.kill()
    cpSync(world.directory, join(keepIn, 'state'), { recursive: true })
    await world.stop()
  }
}

async function liveCount(world: ChaosWorld): Promise<number> {
  const journal = world.reads()
  return (await journal.live().finally(() => journal.close())).length
}

async function topUp(world: ChaosWorld, orders: Order[]): Promise<void> {
  const live = await liveCount(world).catch(() => 0)
  for (let more = live; more < LIVE_BEFORE; more += 1) {
    const order = { id: randomUUID(), assets: 1_000_000n + BigInt(orders.length) }
    orders.push(order)
    world.order(order.id, order.assets)
  }
}

/** Start a keeper and end it in a cell. @returns how many workflows it carried; null when it never came there. */
async function killAt(cell: Cell, world: ChaosWorld, keeper: KeeperProcess): Promise<number | null> {
  const { state, when } = cell
  if (when === 'effect') {
    keeper.start()
    await untilLive(world)
    atEffect(state, world, keeper)
  } else keeper.start({ state, when, live: LIVE_MIN + 10 })
  const untilMs = performance.now() + CELL_MS_MAX
  while (keeper.ended() === null && performance.now() < untilMs) await sleep(50)
  clear(world)
  const how = keeper.ended()
  await keeper.kill()
  return how === 'SIGKILL' ? liveCount(world) : null
}

async function untilLive(world: ChaosWorld): Promise<void> {
  const untilMs = performance.now() + CELL_MS_MAX
  while (performance.now() < untilMs && (await liveCount(world).catch(() => 0)) < LIVE_MIN) await sleep(50)
}

/** Kill when the answer to what the state does is on its way, and let the answer not arrive. */
function atEffect(state: Cell['state'], world: ChaosWorld, keeper: KeeperProcess): void {
  const [where, fits] = EFFECTS[state] ?? ['', () => false]
  const kill = <T>(answer: T): T => {
    keeper.signal('SIGKILL')
    return answer
  }
  if (where === 'service' || where === 'kms') {
    world[where].setRule((passing) => (fits(passing) ? { kind: 'rewrite', change: kill } : null))
    return
  }
  for (const node of world.nodes) node.setFaults({ methods: [where], deed: { kind: 'change', change: kill } })
}

function clear(world: ChaosWorld): void {
  world.service.setRule(null)
  world.kms.setRule(null)
  for (const node of world.nodes) node.setFaults()
}
