import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPublicClient, createTestClient, http } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { marketOfBorrower } from '../../../sandbox/cast/borrowers.ts'
import { fundCast } from '../../../sandbox/cast/funding.ts'
import { loadKeys, peopleOf, type SandboxKeys } from '../../../sandbox/cast/keys.ts'
import type { Chain } from '../../../sandbox/chain/chain.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { createTransactions } from '../../../sandbox/chain/transactions.ts'
import { lendingMarketAbi, priceOracleAbi } from '../../../sandbox/contracts/abis.ts'
import { type Deployment, deploySandbox } from '../../../sandbox/deploy/deploy.ts'
import { marketContracts } from '../../../sandbox/deploy/markets.ts'
import { SCENARIOS } from '../../../sandbox/story/scenarios.ts'
import { story } from '../../../sandbox/story/story.ts'
import { type Beginning, startWeather, type Weather } from '../../../sandbox/story/weather.ts'
import type { Clock } from '../../../src/clock.ts'
import { startAnvil } from '../../support/anvil.ts'
import { inOrder } from '../../support/in-order.ts'
import { removeDirectory, sandboxDirectory } from '../../support/sandbox.ts'

let chain: Chain
let deployment: Deployment
let keys: SandboxKeys
const directory = sandboxDirectory()
const file = join(directory, 'weather.json')
const troubles: unknown[] = []

beforeAll(async () => {
  chain = await startAnvil()
  keys = loadKeys(directory)
  deployment = await deploySandbox({
    rpcUrl: chain.rpcUrl,
    deployerKey: keys.deployer,
    ...peopleOf(keys),
  })
  await fundCast(chain.rpcUrl, deployment, keys, createTransactions(chain.rpcUrl, chain.chainId))
  await chain.setAutomine(false)
})
afterAll(async () => {
  await chain.stop()
  removeDirectory(directory)
})

/** What a tick sent, in one block. Anvil answers a read while it mines from two blocks at once. */
const mineBlock = () =>
  createTestClient({ mode: 'anvil', transport: http(chain.rpcUrl, TO_CHAIN) }).mine({ blocks: 1 })

/** A clock whose every wait is over once it was used, up to a tick; from then on it stands still. */
function lapse(
  weather: () => Weather | undefined,
  lastTick: number,
  passTime: () => Promise<void>,
): { clock: Clock; reached: Promise<void> } {
  let nowMs = 0
  let reach = () => {}
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const sleep = async (ms: number, signal?: AbortSignal) => {
    nowMs += ms
    await passTime()
    if ((weather()?.tick() ?? 0) < lastTick) return
    reach()
    if (signal?.aborted === true) return
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }))
  }
  return { clock: { nowMs: () => nowMs, monotonicMs: () => nowMs, sleep }, reached }
}

function start(
  lastTick: number,
  seed: number | undefined,
  begins: Beginning,
  passTime: () => Promise<void> = mineBlock,
) {
  let weather: Weather | undefined
  const { clock, reached } = lapse(() => weather, lastTick, passTime)
  const transactions = createTransactions(chain.rpcUrl, chain.chainId)
  const onTrouble = (cause: unknown) => troubles.push(cause)
  const { rpcUrl } = chain
  const scenario = SCENARIOS.lively
  const options = {
    rpcUrl,
    chain,
    deployment,
    keys,
    transactions,
    clock,
    sideStories: [],
    file,
    scenario,
    seed,
    onTrouble,
  }
  weather = startWeather(options, begins)
  return { weather, reached }
}

/** Play the story up to a tick, all of it mined. */
async function playUntil(tick: number, seed?: number): Promise<Weather> {
  const { weather, reached } = start(tick, seed, 'at-once')
  await reached
  await weather.stop()
  return weather
}

const reader = () =>
  createPublicClient({ cacheTime: 0, transport: http(chain.rpcUrl, { ...TO_CHAIN, batch: true }) })

const liquidatable = async () => {
  const flags = await Promise.all(
    keys.borrowers.map((key, index) =>
      reader().readContract({
        address: marketContracts(deployment, marketOfBorrower(index)).market,
        abi: lendingMarketAbi,
        functionName: 'isLiquidatable',
        args: [privateKeyToAddress(key)],
      }),
    ),
  )
  return flags.filter((flag) => flag).length
}

inOrder('one story', () => {
  it('puts borrowers on the chain under water within 12 ticks, by real transactions', async () => {
    const weather = await playUntil(13, 1)
    expect(troubles).toEqual([])
    expect(weather.tick()).toBe(13)
    expect(await liquidatable()).toBeGreaterThanOrEqual(1)
  })

  it('goes on after a restart with the next tick of the same story', async () => {
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ seed: 1, tick: 13 })
    const { weather } = start(0, undefined, 'paused')
    expect([weather.seed, weather.tick()]).toEqual([1, 13])
    await weather.stop()
    await playUntil(20)
    const [priceWad] = await reader().readContract({
      address: deployment.contracts.btcOracle.address,
      abi: priceOracleAbi,
      functionName: 'read',
    })
    expect(priceWad).toBe(
      story(SCENARIOS.lively.markets, 1, 19).markets.find(({ market }) => market === 'btc')?.priceWad,
    )
  })

  it('pauses and reopens a market in a crash, while borrowers go on from round to round', async () => {
    const contract = { address: marketContracts(deployment, 'btc').market, abi: lendingMarketAbi } as const
    const isPaused = () => reader().readContract({ ...contract, functionName: 'paused' })
    const nonce = () =>
      reader().getTransactionCount({ address: privateKeyToAddress(keys.borrowers[0] ?? '0x') })
    const before = await nonce()
    await playUntil(130)
    expect(await isPaused()).toBe(true)
    await playUntil(140)
    expect(await isPaused()).toBe(false)
    expect(troubles).toEqual([])
    expect(await nonce()).toBeGreaterThanOrEqual(before + 4)
    expect(await reader().readContract({ ...contract, functionName: 'totalDebt' })).toBeGreaterThan(0n)
  })

  it('reports once that the chain is gone, and goes on', async () => {
    process.kill(chain.pid, 'SIGKILL')
    const { weather, reached } = start(150, undefined, 'at-once', async () => {})
    await reached
    await weather.stop()
    expect(weather.tick()).toBe(150)
    expect(troubles).toHaveLength(1)
  })
})
