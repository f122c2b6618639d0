import { z } from 'zod'
import {
  createKeeperScene,
  type KeeperScene,
  liquidationOf,
  type TestKeeper,
} from '../../support/keeper-scene.ts'
import { type NodeProxy, startNodeProxy } from '../../support/node-proxy.ts'
import { until } from '../../support/until.ts'
import { FAILURES, type Failure, type Method } from './failures.ts'

/** One of three nodes fails so, or all of them. */
export type Cell = { readonly method: Method; readonly failure: Failure; readonly nodes: 'one' | 'all' }

/** What came of a cell. */
export type Outcome = Cell & {
  /** Calls of the method while it failed: with none, nothing is shown. */
  readonly calls: number
  /** A liquidation ended well while it failed. */
  readonly goesOn: boolean
  /** What was named meanwhile: codes of facets that are not well. */
  readonly named: readonly string[]
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

const readyz = z.object({ facets: z.record(z.string(), z.object({ state: z.string(), code: z.string() })) })

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
  const keeper = await world.start({
    chain: {
      ...{ id: String(world.scene.chain.chainId), finality: 'finalized' },
      nodes: { read: [...urls], send: [...urls], agree: '2' },
    },
  })
  return {
    run: (cell, limits = LIMITS) => run(cell, limits, { world, proxies, keeper }),
    untilWell: async () => {
      const isWell = so(async () => (await notWell(keeper)).length === 0)
      await within(WELL_MS, isWell)
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
  readonly keeper: TestKeeper
}

async function run(cell: Cell, limits: typeof LIMITS, { world, proxies, keeper }: Parts): Promise<Outcome> {
  const failing = cell.nodes === 'one' ? proxies.slice(0, 1) : proxies
  for (const proxy of failing) {
    proxy.forget()
    proxy.setFaults({ deed: FAILURES[cell.failure], methods: [cell.method] })
  }
  const calls = () =>
    failing.flatMap((proxy) => proxy.methods()).filter((method) => method === cell.method).length
  const work = async () => {
    const borrower = await world.openUnderWater()
    const isDone = keeper.until(liquidationOf(borrower)('succeeded'))
    return { borrower, goesOn: await within(limits.goesOnMs, isDone) }
  }
  const isAsked = () => so(() => calls() > 0)
  let { borrower, goesOn } = await work()
  // Asked once a minute, perhaps: what comes after that is what counts.
  if (calls() === 0 && (await within(ASKED_MS, isAsked()))) ({ borrower, goesOn } = await work())
  const named = goesOn ? [] : await namesBy(limits.namedMs, keeper)
  const asked = calls()
  for (const proxy of proxies) proxy.setFaults()
  const next = goesOn ? await world.openUnderWater() : borrower
  const recovers = await within(WELL_MS, keeper.until(liquidationOf(next)('succeeded')))
  return { ...cell, calls: asked, goesOn, named, recovers }
}

/** Resolve once it is so. */
const so = (isSo: () => boolean | Promise<boolean>): Promise<void> =>
  until(async () => {
    if (!(await isSo())) throw new TypeError('it is not so yet')
  }, LOOK_MS)

/** What does not stand well now, by its code. */
async function notWell(keeper: TestKeeper): Promise<readonly string[]> {
  const { facets } = readyz.parse(JSON.parse(await keeper.page('/readyz')))
  return [...new Set(Object.values(facets).flatMap(({ state, code }) => (state === 'ok' ? [] : code)))]
}

/** What is named, at the latest by then. */
async function namesBy(ms: number, keeper: TestKeeper): Promise<readonly string[]> {
  let named: readonly string[] = []
  const isNamed = async () => {
    named = await notWell(keeper)
    return named.length > 0
  }
  await within(ms, so(isNamed))
  return named
}

/** Whether something happens by then. */
async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), ms)
  const isSo = work.then(
    () => true,
    () => false,
  )
  return Promise.race([isSo, late.promise]).finally(() => clearTimeout(timer))
}
