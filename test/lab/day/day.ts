import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createPublicClient, http, type PublicClient } from 'viem'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { balancesOf } from '../../../src/accounts/balances.ts'
import { periodOf } from '../../../src/accounts/period.ts'
import { sandboxConfig } from '../../../src/cli/target/sandbox-config.ts'
import { prepareDirectory, startSandboxProcess } from '../../../src/cli/target/sandbox-process.ts'
import type { Clock } from '../../../src/clock.ts'
import type { RunConfig } from '../../../src/config/config.ts'
import { readAccounts } from '../../../src/journal/sqlite/accounts.ts'
import { createKeeper } from '../../../src/keeper/keeper.ts'
import { checkAccounts } from '../../../src/keeper/money/check-accounts.ts'
import type { KeeperEvent, SummaryEvent } from '../../../src/ops/events.ts'
import { createLog } from '../../../src/ops/log.ts'
import { writeAnswer } from '../../../src/ops/orders.ts'
import { leftText } from '../../support/progress.ts'
import { findProblems } from './audit.ts'
import { createGasAudit, hourText, overspent, withGasHour } from './gas-audit.ts'
import { hurriedClock } from './hurried-clock.ts'

type DayOptions = {
  readonly directory: string
  readonly seed: number
  /** By its name; absent, the ordinary one. */
  readonly scenario: string | undefined
  readonly blocks: bigint
  /** What each role may pay for gas in an hour, for example `0.05 ETH`; absent, what its policy says. */
  readonly gasHour: string | undefined
  /** How often everything is ended and started again meanwhile. */
  readonly restarts: number
  readonly onProgress: (text: string) => void
}

/** How a day went. `roles` counts how each role's workflows ended; an empty `problems` is a good day. */
type DayReport = {
  readonly blocks: number
  readonly workflows: number
  readonly tookMs: number
  /** How long each start took, until every role was at work. */
  readonly startsMs: readonly number[]
  readonly roles: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Why workflows ended otherwise than in success, by role, state and check. */
  readonly reasons: Readonly<Record<string, number>>
  /** What each role paid for gas in its dearest hour, by its balance, of what it may. */
  readonly gasHours: Readonly<Record<string, string>>
  readonly problems: readonly string[]
}

/** What is in flight at the end has this long, as the keeper's clock has it, to come to its own end. */
const DRAIN_MS = 300_000
const LOOK_MS = 10_000
const LOOKS_A_LINE = 30
/** What a whole day must bring. */
const DAY = { blocks: 7_200n, workflows: 1_000 }

/** Play a day: sandbox and keeper on one hurried clock, every held workflow approved, and then the books checked. */
export async function playDay(options: DayOptions): Promise<DayReport> {
  const { directory, blocks, restarts } = options
  const startedAtMs = Date.now()
  process.env.STARTED_AT_MS = String(startedAtMs)
  prepareDirectory(directory, true)
  const counts = createCounts()
  const gas = createGasAudit()
  const startsMs: number[] = []
  const problems: string[] = []
  let hours: ReturnType<typeof gas.hours> = {}
  for (let part = 0; part <= restarts; part += 1) {
    const isLast = part === restarts
    const playing = await start(options, hurriedClock(startedAtMs), counts)
    startsMs.push(playing.startMs)
    try {
      const { keeper, config, chain } = playing
      await playing.reach(blocks / BigInt(restarts + 1), () => gas.look(config, chain))
      await keeper.stop({ drainMs: isLast ? DRAIN_MS : 0 })
      await gas.look(config, chain)
      counts.add(keeper.summary())
      if (!isLast) continue
      hours = gas.hours(config)
      problems.push(
        ...(await findProblems(playing.books, chain, counts.workflows())),
        ...(await unexplained(config)),
        ...overspent(hours),
        ...gas.raised(),
      )
    } finally {
      await playing.sandbox.stop()
    }
  }
  const workflows = counts.workflows()
  if (blocks >= DAY.blocks && workflows < DAY.workflows)
    problems.push(`only ${workflows} workflows; a day brings ${DAY.workflows}`)
  const tookMs = Date.now() - startedAtMs
  const gasHours = Object.fromEntries(Object.entries(hours).map(([role, hour]) => [role, hourText(hour)]))
  return { blocks: Number(blocks), workflows, tookMs, startsMs, ...counts.report(), gasHours, problems }
}

/** What accounts could not name, or closed with otherwise than the chain says, where it still has that block's state. */
async function unexplained(config: RunConfig): Promise<readonly string[]> {
  const accounts = readAccounts(config.directory)
  const pages = await accounts.pages().finally(accounts.close)
  const rows = await checkAccounts(balancesOf(periodOf(pages, 0)), config)
  return rows.flatMap(({ role, symbol, unexplained, closing, onChain }) => [
    ...(unexplained === 0n ? [] : [`${role} ${symbol}: ${unexplained} unexplained`]),
    ...(onChain === null || onChain === closing
      ? []
      : [`${role} ${symbol}: closes with ${closing}, the chain has ${onChain}`]),
  ])
}

/** Start the sandbox and a keeper beside it, and wait until it is ready. */
async function start(
  { directory, seed, scenario, gasHour, onProgress }: DayOptions,
  clock: Clock,
  counts: Counts,
) {
  const startedAtMs = performance.now()
  const program = pathToFileURL(join(import.meta.dirname, 'hurried-sandbox.ts'))
  const sandbox = startSandboxProcess({ program, directory, seed, scenario, fault: undefined, onProgress })
  try {
    await sandbox.ready
    const written = sandboxConfig(directory)
    const config = gasHour === undefined ? written : withGasHour(written, gasHour)
    const keeper = createKeeper(config, {
      version: 'day',
      clock,
      log: createLog({ level: 'warn', secrets: [], write: () => {} }),
    })
    keeper.onEvent((event: KeeperEvent) => {
      counts.note(event)
      if (event.type === 'alarm') onProgress(`alarm ${event.code}: ${event.message}`)
      if (event.type === 'held')
        writeAnswer(config.directory, event.id, {
          verdict: 'approve',
          hash: event.hash,
          by: { user: 'day@sandbox' },
        })
    })
    const chain = createPublicClient({
      transport: http(config.chain.nodes.read[0]?.reveal(), TO_CHAIN),
      cacheTime: 0,
    })
    await keeper.start()
    const startMs = Math.round(performance.now() - startedAtMs)
    const first = await chain.getBlockNumber()
    onProgress(`ready at block ${first} after ${(startMs / 1_000).toFixed(1)} s`)
    const beganAtMs = performance.now()
    const onLook = (done: bigint, of: bigint) => {
      const left = leftText(Number(done), Number(of), performance.now() - beganAtMs)
      onProgress(`block ${done} of ${of}, ${counts.workflows()} workflows${left}`)
    }
    const signers = config.agents.map(({ role, signer: { address } }) => ({ role, address }))
    return {
      sandbox,
      keeper,
      config,
      chain,
      startMs,
      books: { directory: config.directory, chainId: config.chain.id, signers },
      reach: (blocks: bigint, look: () => Promise<void>) =>
        reach(chain, first + blocks, async (looks, at) => {
          if (looks % LOOKS_A_LINE === 0) onLook(at - first, blocks)
          await look()
          await Promise.race([clock.sleep(LOOK_MS), sandbox.ended])
        }),
    }
  } catch (error) {
    await sandbox.stop()
    throw error
  }
}

type Counts = ReturnType<typeof createCounts>

/** Count over all keepers of a day what began, and how it ended. */
function createCounts() {
  const roles: Record<string, Record<string, number>> = {}
  const reasons: Record<string, number> = {}
  let workflows = 0
  const raise = (counts: Record<string, number>, key: string, by = 1) => {
    if (by > 0) counts[key] = (counts[key] ?? 0) + by
  }
  return {
    workflows: () => workflows,
    report: () => ({ roles, reasons }),
    note: (event: KeeperEvent) => {
      if (event.type !== 'workflow') return
      if (event.state === 'discovered') workflows += 1
      if (event.check !== undefined) raise(reasons, `${event.role} ${event.state} ${event.check}`)
    },
    add: ({ workflows: ended }: SummaryEvent) => {
      for (const [role, ends] of Object.entries(ended)) {
        const counts = roles[role] ?? {}
        roles[role] = counts
        for (const [state, count] of Object.entries(ends)) if (state !== 'parked') raise(counts, state, count)
      }
    },
  }
}

/** Look at the chain until it has a block. */
async function reach(
  chain: PublicClient,
  block: bigint,
  look: (looks: number, at: bigint) => Promise<void>,
): Promise<void> {
  for (let looks = 0; ; looks += 1) {
    const at = await chain.getBlockNumber()
    if (at >= block) return
    await look(looks, at)
  }
}
