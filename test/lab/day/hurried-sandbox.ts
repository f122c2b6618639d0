/**
 * A sandbox whose time hurries: `--directory DIR --seed N [--scenario NAME]`, with the clock's start in `STARTED_AT_MS`. It reports to its parent over
 * IPC that it is ready, as the sandbox's own program does, and ends with it.
 */
import { parseArgs } from 'node:util'
import { createTestClient, http, publicActions } from 'viem'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { startSandbox } from '../../../sandbox/sandbox.ts'
import { scenarioOf } from '../../../sandbox/story/scenarios.ts'
import type { Clock } from '../../../src/clock.ts'
import { hurriedClock } from './hurried-clock.ts'

process.umask(0o077)
const { values } = parseArgs({
  options: {
    directory: { type: 'string', default: '' },
    seed: { type: 'string' },
    scenario: { type: 'string' },
  },
})
const clock = hurriedClock(Number(process.env.STARTED_AT_MS))
const sandbox = await startSandbox({
  directory: values.directory,
  seed: Number(values.seed),
  scenario: scenarioOf(values.scenario),
  clock,
  weather: 'at-once',
  // The audit at the end reads every transaction.
  blocksKept: 100_000n,
  onProgress: (text) => process.send?.({ type: 'progress', text }),
  onTrouble: (cause) => console.error(new Date().toISOString(), cause),
})
const stopping = new AbortController()
await sandbox.mineEvery(0)
const mining = mine(sandbox.chain.rpcUrl, clock, stopping.signal)
process.on('disconnect', async () => {
  stopping.abort()
  await mining
  await sandbox.stop()
  process.exit()
})
process.send?.({ type: 'ready' })

/**
 * Mine a block a second of the clock, each at the clock's time. On a machine that is too slow for that blocks are fewer,
 * as on a chain that misses slots: were each a second after the one before, the chain would fall behind the clock for good.
 */
async function mine(rpcUrl: string, { nowMs, sleep }: Clock, signal: AbortSignal): Promise<void> {
  const chain = createTestClient({ mode: 'anvil', transport: http(rpcUrl, TO_CHAIN) }).extend(publicActions)
  let timeS = (await chain.getBlock()).timestamp
  while (!signal.aborted) {
    const nextS = BigInt(Math.floor(nowMs() / 1_000))
    if (nextS > timeS) {
      timeS = nextS
      await chain.setNextBlockTimestamp({ timestamp: timeS })
      await chain.mine({ blocks: 1 })
    } else await sleep(1_000 - (nowMs() % 1_000), signal).catch(() => undefined)
  }
}
