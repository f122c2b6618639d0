import { type Address, createPublicClient, encodeFunctionData, type Hex, http } from 'viem'
import { z } from 'zod'
import type { Clock } from '../../src/clock.ts'
import { invariant } from '../../src/errors.ts'
import type { SandboxKeys } from '../cast/keys.ts'
import type { Chain } from '../chain/chain.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { Call, Transactions } from '../chain/transactions.ts'
import { lendingMarketAbi, priceOracleAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { type MarketName, marketContracts } from '../deploy/markets.ts'
import { readJsonFile, writeJsonFile } from '../files.ts'
import { createBorrowerCalls } from './borrower.ts'
import { badSpellS, type Scenario } from './scenarios.ts'
import { type MarketWeather, roll, story } from './story.ts'

/**
 * What happens in a tick beside the weather, at the newest block's time in seconds. Its calls travel with the tick's,
 * because the deployer's nonces have one source.
 */
export type SideStory = (nowS: bigint, tick: number) => Promise<readonly Call[]>

/** What the weather works on. */
type WeatherOptions = {
  readonly rpcUrl: string
  readonly chain: Pick<Chain, 'setNextBaseFee'>
  readonly deployment: Deployment
  readonly keys: SandboxKeys
  readonly transactions: Transactions
  readonly clock: Clock
  readonly sideStories: readonly SideStory[]
  /** Remembers the seed and the next tick, so that a restart goes on where it stopped. */
  readonly file: string
  readonly scenario: Scenario
  /** Another seed than the remembered one changes the story from the next tick on. */
  readonly seed: number | undefined
  /** Gets why a tick failed, such as a node that does not answer; once, until a tick succeeds. Each one is tried. */
  readonly onTrouble: (cause: unknown) => void
}

/**
 * When the story begins: at once; with its first tick at once and the rest when it is told to begin, so that there is
 * something of everything while it waits; or wholly then.
 */
export type Beginning = 'at-once' | 'first-tick' | 'paused'

/** The running weather. */
export type Weather = {
  readonly seed: number
  /** Resolves with a transaction of the first tick that could be played, once it is sent. */
  readonly opened: Promise<Hex>
  /** The tick that comes next. */
  readonly tick: () => number
  /** Play the rest, where it waits for that. */
  readonly begin: () => void
  /** Let no further tick begin; resolves when none is being carried out. */
  readonly pause: () => Promise<void>
  /** Take a pause back; what has not begun still waits. */
  readonly resume: () => void
  readonly isPaused: () => boolean
  /** Whether it is paused or has not begun. */
  readonly isResting: () => boolean
  readonly stop: () => Promise<void>
}

const TICK_MS = 1_000
const ORACLE_STATES = { healthy: 1, stale: 2 } as const
const memory = z.strictObject({ seed: z.number().int(), tick: z.number().int().min(0) })

/** Play the story on the chain, a tick a second. */
export function startWeather(options: WeatherOptions, begins: Beginning): Weather {
  const { clock, file, onTrouble } = options
  const stored = readJsonFile(file, memory)
  const seed = options.seed ?? stored?.seed ?? clock.nowMs() % 1_000_000
  let tick = stored?.tick ?? 0
  writeJsonFile(file, { seed, tick })
  const perform = createPerformance(options, seed)
  const stopping = new AbortController()
  const { promise: opened, resolve: open } = Promise.withResolvers<Hex>()
  let waits = begins === 'paused'
  let waitsAfterTick = begins === 'first-tick'
  let paused = false
  const isResting = () => waits || paused
  let failing = false
  let performing: Promise<void> = Promise.resolve()

  const step = async () => {
    const now = tick
    // First remembered, then done: after a crash a tick is left out rather than done twice.
    tick += 1
    writeJsonFile(file, { seed, tick })
    open(await perform(now))
    failing = false
    if (waitsAfterTick) waits = true
    waitsAfterTick = false
  }
  const running = (async () => {
    let dueMs = clock.nowMs()
    while (!stopping.signal.aborted) {
      if (!isResting()) {
        performing = step().catch((cause: unknown) => {
          if (!failing && !stopping.signal.aborted) onTrouble(cause)
          failing = true
        })
        await performing
      }
      // A machine that slept does not catch up on what it missed.
      dueMs = Math.max(dueMs + TICK_MS, clock.nowMs())
      await clock.sleep(dueMs - clock.nowMs(), stopping.signal).catch(() => undefined)
    }
  })()

  return {
    seed,
    opened,
    tick: () => tick,
    pause: async () => {
      paused = true
      await performing
    },
    begin: () => {
      waitsAfterTick = false
      waits = false
    },
    resume: () => {
      paused = false
    },
    isPaused: () => paused,
    isResting,
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

/** Returns the hash of the tick's last transaction. */
type Performance = (tick: number) => Promise<Hex>

/** The reference oracle of a market trembles by itself, a part of its price in so many. */
const REFERENCE_TREMBLE_BPS = 5
const BPS = 10_000n

/** Carry out ticks. What a market's switches are is known from what was sent last; at the start, nothing is. */
function createPerformance(options: WeatherOptions, seed: number): Performance {
  const { rpcUrl, chain, deployment, keys, transactions, scenario, sideStories } = options
  const transport = http(rpcUrl, TO_CHAIN)
  const reader = createPublicClient({ cacheTime: 0, transport })
  const borrowerCalls = createBorrowerCalls(rpcUrl, deployment, keys)
  const last = new Map<MarketName, MarketWeather>()

  const marketCalls = (now: MarketWeather, tick: number, sourceAsOfS: bigint): readonly Call[] => {
    const { market, oracle, reference } = marketContracts(deployment, now.market)
    const before = last.get(now.market)
    const feed = (to: Address, data: Call['data']): Call => ({ from: keys.feeder, to, data })
    return [
      feed(oracle, setPrice(now.priceWad, sourceAsOfS)),
      feed(reference, setPrice(referencePriceWad(now, tick), sourceAsOfS)),
      ...(before?.oracle === now.oracle ? [] : [feed(oracle, setState(ORACLE_STATES[now.oracle]))]),
      ...(before?.paused === now.paused ? [] : [setPaused(keys.deployer, market, now.paused)]),
    ]
  }
  const referencePriceWad = ({ market, priceWad }: MarketWeather, tick: number): bigint => {
    const tremble = Math.round((2 * roll(seed, 'reference', market, tick) - 1) * REFERENCE_TREMBLE_BPS)
    const wrong = scenario.sourceFactor !== null && badSpellS(scenario, tick) > 0
    return ((priceWad * (BPS + BigInt(tremble))) / BPS) * BigInt(wrong ? scenario.sourceFactor : 1)
  }

  return async (tick) => {
    const { markets, acts, baseFeePerGasWei } = story(scenario.markets, seed, tick)
    // The next block's time is not earlier than this one's, and the oracle takes no time to come.
    const [{ timestamp }, calls] = await Promise.all([reader.getBlock(), borrowerCalls(acts, markets)])
    const beside = await Promise.all(sideStories.map((story) => story(timestamp, tick)))
    const weather = markets.flatMap((market) => marketCalls(market, tick, timestamp))
    if (baseFeePerGasWei !== null) await chain.setNextBaseFee(baseFeePerGasWei)
    const sent = (await transactions.send([...weather, ...calls, ...beside.flat()])).at(-1)
    for (const market of markets) last.set(market.market, market)
    invariant(sent !== undefined, 'every tick sends prices')
    return sent
  }
}

const setPrice = (priceWad: bigint, sourceAsOfS: bigint) =>
  encodeFunctionData({ abi: priceOracleAbi, functionName: 'setPrice', args: [priceWad, sourceAsOfS] })
const setState = (state: number) =>
  encodeFunctionData({ abi: priceOracleAbi, functionName: 'setState', args: [state] })
const setPaused = (from: Call['from'], market: Address, paused: boolean): Call => ({
  from,
  to: market,
  data: encodeFunctionData({ abi: lendingMarketAbi, functionName: 'setPaused', args: [paused] }),
})
