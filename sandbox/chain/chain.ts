import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { createTestClient, http, publicActions } from 'viem'
import { systemClock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import type { ChainStarted } from './chain-watchdog.ts'
import { chargeForBytes } from './data-fees.ts'
import { TO_CHAIN } from './to-chain.ts'

/** A running chain of the sandbox. */
export type Chain = {
  readonly rpcUrl: string
  readonly chainId: number
  /** Anvil's own process, not its watchdog's. */
  readonly pid: number
  /** Say whether each transaction is mined at once; if not, somebody has to have blocks mined. */
  readonly setAutomine: (isAtOnce: boolean) => Promise<void>
  /** Give the next block this base fee, in wei. */
  readonly setNextBaseFee: (baseFeePerGasWei: bigint) => Promise<void>
  /** Resolves with why when the chain ends without being asked to; else never. */
  readonly died: Promise<RolekeeperError>
  /** Save the state and end the chain, in under two seconds. */
  readonly stop: () => Promise<void>
}

/** What a chain starts from. */
type ChainOptions = {
  /**
   * Where the chain's state is kept, as JSON; loaded when it exists. Two neighbours are the chain's too: `.part` and
   * `.pid`. The caller holds the directory's lock: a chain that still runs on this file is taken for a leftover.
   */
  readonly stateFile: string
  readonly chainId: number
  /** On loopback; any free one if absent. */
  readonly port?: number
  /** {@link BLOCKS_KEPT} if absent. */
  readonly blocksKept?: bigint | undefined
  /** Of how many blocks the state is kept: as many as geth does, if absent. */
  readonly statesKept?: number
  /** Whether it is one of the OP stack, which charges for the bytes of a transaction. */
  readonly isOpStack?: boolean
}

/**
 * How many blocks keep their transactions, receipts and logs, counted from the newest: about half an hour. Of older ones the
 * chain has the headers alone, or its state would grow by 4 GB a day.
 */
export const BLOCKS_KEPT = 2_000n

/** Loading a state of many thousand blocks is the slow case; a fresh chain listens in about 0.2 s. */
const startMsMax = 30_000

/**
 * Start anvil under a watchdog that ends it when this process does, by whatever cause.
 * Blocks, the receipts of the newest {@link BLOCKS_KEPT} and the latest state survive a restart; older states do not, and the state is saved every 30 s, so
 * a killed anvil comes back up to half a minute behind: a reorg to everyone else. It starts mining each transaction at once.
 * Throws `sandbox.chain_binary_missing`, `sandbox.chain_port_in_use`, `sandbox.chain_exited` or
 * `sandbox.chain_start_timeout`.
 */
export async function startChain({
  stateFile,
  chainId,
  port = 0,
  blocksKept = BLOCKS_KEPT,
  statesKept = 128,
  isOpStack = false,
}: ChainOptions): Promise<Chain> {
  const watchdog = spawn(
    process.execPath,
    [
      `${import.meta.dirname}/chain-watchdog.ts`,
      anvilBinary(),
      resolve(stateFile),
      String(chainId),
      String(port),
      isOpStack ? 'optimism' : 'ethereum',
      ...[String(blocksKept), String(statesKept)],
    ],
    { detached: true, stdio: ['pipe', 'pipe', 'pipe'] },
  )
  let stopping = false
  const died = new Promise<RolekeeperError>((resolve) => {
    watchdog.once('exit', () => {
      if (!stopping) resolve(ended())
    })
  })
  const stop = async () => {
    stopping = true
    if (watchdog.exitCode !== null || watchdog.signalCode !== null) return
    const exited = once(watchdog, 'exit')
    watchdog.stdin.end()
    await exited
  }
  const started = await announcement(watchdog, port).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  const rpcUrl = `http://127.0.0.1:${started.port}`
  // Retrying would hide a chain that is gone.
  const client = createTestClient({ mode: 'anvil', transport: http(rpcUrl, TO_CHAIN) }).extend(publicActions)
  // Nobody reads it, and anvil would write a line for every request.
  await client.setLoggingEnabled(false)
  // Anvil takes the machine's time, also where that was set back since: a block would be older than its parent.
  const { timestamp } = await client.getBlock()
  const aheadS = Number(timestamp) - Math.floor(systemClock.nowMs() / 1_000)
  if (aheadS >= 0) await client.increaseTime({ seconds: aheadS + 1 })
  if (isOpStack) await chargeForBytes(rpcUrl)
  return {
    rpcUrl,
    chainId,
    pid: started.pid,
    setAutomine: (isAtOnce) => client.setAutomine(isAtOnce),
    setNextBaseFee: (baseFeePerGas) => client.setNextBlockBaseFeePerGas({ baseFeePerGas }),
    died,
    stop,
  }
}

const ended = () =>
  new RolekeeperError('sandbox.chain_ended', "The sandbox's chain ended without being asked to.", {
    fix: 'start the sandbox again; it goes on from the state saved last, up to half a minute behind.',
  })

/** Wait for the watchdog's one line. */
async function announcement(watchdog: ChildProcess, port: number): Promise<ChainStarted> {
  let complaint = ''
  watchdog.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  const firstText = new Promise<string>((done) => watchdog.stdout?.setEncoding('utf8').once('data', done))
  const gone = once(watchdog, 'close').then(() => {
    throw exitedEarly(complaint, port)
  })
  const deadline = AbortSignal.timeout(startMsMax)
  const late = once(deadline, 'abort').then(() => {
    throw new RolekeeperError(
      'sandbox.chain_start_timeout',
      `Anvil did not listen within ${startMsMax} ms.`,
      {
        fix: 'start over with `--fresh`: the saved chain may have grown too large to load.',
      },
    )
  })
  return JSON.parse(await Promise.race([firstText, gone, late]))
}

function exitedEarly(complaint: string, port: number): RolekeeperError {
  if (/address already in use/i.test(complaint)) {
    return new RolekeeperError('sandbox.chain_port_in_use', `Port ${port} is in use.`, {
      fix: 'end the program that listens there, or choose another port.',
      facts: { port },
    })
  }
  return new RolekeeperError('sandbox.chain_exited', `Anvil exited at start: ${firstLine(complaint)}`, {
    fix: 'start over with `--fresh` if the saved state is at fault.',
  })
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] || 'it said nothing.'
}

/** Find anvil's platform binary; the package's own command is a wrapper whose death would orphan it. */
function anvilBinary(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/anvil`)
  } catch (cause) {
    throw new RolekeeperError('sandbox.chain_binary_missing', `The package ${name} is not installed.`, {
      fix: 'run `npm install` with development and optional dependencies, on Linux or macOS.',
      facts: { package: name },
      cause,
    })
  }
}
