import { rmSync } from 'node:fs'
import { encodeFunctionData, parseUnits } from 'viem'
import { priceOracleAbi } from '../../sandbox/contracts/abis.ts'
import { type MarketName, marketContracts } from '../../sandbox/deploy/markets.ts'
import type { Snapshot } from '../../sandbox/indexer/canonical.ts'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import { createBorrowerCalls } from '../../sandbox/story/borrower.ts'
import { SCENARIOS } from '../../sandbox/story/scenarios.ts'
import { systemClock } from '../../src/clock.ts'
import { newDirectory } from './directory.ts'

/** A whole sandbox whose weather rests, so that a test tells the story. */
export type TestSandbox = Sandbox & {
  readonly directory: string
  /** Publish a price in whole dollars, in the next block. */
  readonly setPrice: (market: MarketName, whole: string) => Promise<void>
  /** Let a borrower owe so many whole dollars, at 99 % of what its collateral allows at `price`. */
  readonly open: (borrower: number, market: MarketName, whole: string, price: string) => Promise<void>
  /** Wait for the indexed state to be so. */
  readonly until: (holds: (snapshot: Snapshot) => boolean) => Promise<Snapshot>
}

/** Make a directory for a sandbox; the caller removes it. */
export const sandboxDirectory = () => newDirectory()

/** Fail the run for a trouble that the world goes on from, so that no other test waits for a world that ended. */
export const failRun = (cause: unknown): void =>
  queueMicrotask(() => {
    throw cause
  })

/** Start a sandbox in a directory. A trouble inside fails the run. */
export async function startTestSandbox(directory: string): Promise<TestSandbox> {
  const sandbox = await startSandbox({
    directory,
    seed: 1,
    scenario: SCENARIOS.lively,
    clock: systemClock,
    weather: 'paused',
    onProgress: () => {},
    onTrouble: failRun,
  })
  const { chain, deployment, keys, transactions, canonical } = sandbox
  const borrowerCalls = createBorrowerCalls(chain.rpcUrl, deployment, keys)
  return {
    ...sandbox,
    directory,
    setPrice: async (market, whole) => {
      // A time already indexed is not in the chain's future.
      const args = [parseUnits(whole, 18), BigInt(canonical.snapshot().block.timestampS)] as const
      const data = encodeFunctionData({ abi: priceOracleAbi, functionName: 'setPrice', args })
      await transactions.send([{ from: keys.feeder, to: marketContracts(deployment, market).oracle, data }])
    },
    open: async (borrower, market, whole, price) => {
      const act = { act: 'open', market, borrower, debtAssets: parseUnits(whole, 6) } as const
      const priceWad = parseUnits(price, 18)
      const weather = { market, priceWad, oracle: 'healthy', paused: false } as const
      await transactions.send(
        await borrowerCalls([{ ...act, limitBps: 9_900n, vaults: ['prime'] }], [weather]),
      )
    },
    until: (holds) =>
      new Promise((resolve) => {
        const look = (snapshot: Snapshot) => {
          if (!holds(snapshot)) return
          unsubscribe()
          resolve(snapshot)
        }
        const unsubscribe = canonical.onSnapshot(look)
        look(canonical.snapshot())
      }),
  }
}

/** Remove a sandbox's directory. A chain whose sandbox was killed still saves its state there: what comes meanwhile goes too. */
export const removeDirectory = (directory: string) =>
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
