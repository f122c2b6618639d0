import type { Address } from 'viem'
import { z } from 'zod'
import { systemClock } from '../../../src/clock.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import {
  createKeeperScene,
  type KeeperScene,
  liquidationOf,
  type TestKeeper,
} from '../../support/keeper-scene.ts'
import { type NodeProxy, startNodeProxy } from '../../support/node-proxy.ts'
import { AT_START, BESIDE, FAILURES, type Failure, type Method } from './failures.ts'

/** One of three nodes fails so, or all of them. */
export type Cell = { readonly method: Method; readonly failure: Failure; readonly nodes: 'one' | 'all' }

/** What came of a cell. */
export type Outcome = Cell & {
  /** Calls of the method while it failed: with none, nothing is shown. */
  readonly calls: number
  /** A liquidation ended well while it failed. */
  readonly goesOn: boolean
  /** What was named meanwhile: codes of facets that are not well and suffer from no other, and what they fail with. */
  readonly named: readonly string[]
  /** The start that was tried beneath it was refused, for this code; null where none was. */
  readonly refused: string | null
  /** A liquidation ended well after it. */
  readonly recovers: boolean
}

/** A liquidation of this world takes half as long; what stops work is named within 30 s of its beginning. */
const LIMITS = { goesOnMs: 15_000, namedMs: 15_000 }
/** A node that was wrong is left alone for a minute. */
const WELL_MS = 120_000
/** Some methods are asked once a minute. */
const ASKED_MS = 65_000
const LOOK_MS = 250
const NODES = 3

const readyz = z.object({
  facets: z.record(
    z.string(),
    z.object({
      state: z.string(),
      code: z.string(),
      message: z.string(),
      because: z.string().optional(),
    }),
  ),
})

/** A keeper of three nodes, with people to liquidate. */
export type NodesWorld = {
  readonly run: (cell: Cell, limits?: typeof LIMITS) => Promise<Outcome>
  /** Resolve once nothing is named any more: the next cell begins there. */
  readonly untilWell: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Start it; of three nodes two must agree. */
export async function createNodesWorld(): Promise<NodesWorld> {
  const world = await createKeeperScene()
  const proxies = await Promise.all(
    Array.from({ length: NODES }, () => startNodeProxy(world.scene.chain.rpcUrl)),
  )
  const urls = proxies.map(({ url }) => url)
  const start = () =>
    world.start({
      chain: {
        id: String(world.scene.chain.chainId),
        finality: 'finalized',
        nodes: { read: [...urls], send: [...urls], agree: '2' },
      },
    })
  const parts: Parts = { world, proxies, keeper: await start(), start }
  return {
    run: (cell, limits = LIMITS) => run(cell, limits, parts),
    untilWell: async () => {
      await isSoBy(WELL_MS, async () => (await notWell(parts.keeper)).length === 0)
    },
    stop: async () => {
      await world.rest()
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await world.stop()
    },
  }
}

type Parts = {
  readonly world: KeeperScene
  readonly proxies: readonly NodeProxy[]
  readonly start: () => Promise<TestKeeper>
  keeper: TestKeeper
}

async function run(cell: Cell, limits: typeof LIMITS, parts: Parts): Promise<Outcome> {
  const { world, proxies } = parts
  const failing = cell.nodes === 'one' ? proxies.slice(0, 1) : proxies
  const beside = BESIDE[cell.method]
  for (const proxy of failing) {
    proxy.forget()
    proxy.setFaults(
      { deed: FAILURES[cell.failure], methods: [cell.method] },
      ...(beside === undefined ? [] : [beside]),
    )
  }
  const isDone = (borrower: Address) => () => parts.keeper.events.some(liquidationOf(borrower)('succeeded'))
  const calls = () =>
    failing.flatMap((proxy) => proxy.methods()).filter((method) => method === cell.method).length
  const recover = async (borrower: Address) => isSoBy(WELL_MS, isDone(borrower))
  if (AT_START.has(cell.method)) {
    await world.rest()
    try {
      parts.keeper = await parts.start()
    } catch (error) {
      if (!(error instanceof RolekeeperError)) throw error
      const asked = calls()
      for (const proxy of proxies) proxy.setFaults()
      parts.keeper = await parts.start()
      const recovers = await recover(await world.openUnderWater())
      return { ...cell, calls: asked, goesOn: false, named: [], refused: error.code, recovers }
    }
  }
  const work = async () => {
    const borrower = await world.openUnderWater()
    return { borrower, goesOn: await isSoBy(limits.goesOnMs, isDone(borrower)) }
  }
  let { borrower, goesOn } = await work()
  // Asked once a minute, perhaps: what comes after that is what counts.
  if (calls() === 0 && (await isSoBy(ASKED_MS, () => calls() > 0))) ({ borrower, goesOn } = await work())
  let named: readonly string[] = []
  const isNamed = async () => {
    named = await notWell(parts.keeper)
    return named.some(isOfNodes)
  }
  if (!goesOn) await isSoBy(limits.namedMs, isNamed)
  const asked = calls()
  for (const proxy of proxies) proxy.setFaults()
  const next = goesOn ? await world.openUnderWater() : borrower
  return { ...cell, calls: asked, goesOn, named, refused: null, recovers: await recover(next) }
}

/** Whether a code says that the nodes are what is wrong. */
export const isOfNodes = (code: string): boolean => code.startsWith('node.')

/** What does not stand well now by itself, by its code. */
async function notWell(keeper: TestKeeper): Promise<readonly string[]> {
  const { facets } = readyz.parse(JSON.parse(await keeper.page('/readyz')))
  const roots = Object.values(facets).filter(({ state, because }) => state !== 'ok' && because === undefined)
  return [...new Set(roots.flatMap(({ code, message }) => [code, ...(message.match(/\bnode\.\w+/g) ?? [])]))]
}

/** Whether something is so by then, looked at a few times a second. */
async function isSoBy(ms: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  const endsAtMs = systemClock.monotonicMs() + ms
  while (!(await isSo())) {
    if (systemClock.monotonicMs() >= endsAtMs) return false
    await systemClock.sleep(LOOK_MS)
  }
  return true
}
