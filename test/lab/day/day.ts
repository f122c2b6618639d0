import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createPublicClient, http, type PublicClient } from 'viem'
import { sandboxConfig } from '../../../src/cli/sandbox-config.ts'
import { prepareDirectory, startSandboxProcess } from '../../../src/cli/sandbox-process.ts'
import { createKeeper } from '../../../src/keeper/keeper.ts'
import type { KeeperEvent } from '../../../src/ops/events.ts'
import { createLog } from '../../../src/ops/log.ts'
import { writeAnswer } from '../../../src/ops/orders.ts'
import { findProblems } from './audit.ts'
import { hurriedClock } from './hurried-clock.ts'

type DayOptions = {
  readonly directory: string
  readonly seed: number
  readonly blocks: bigint
  readonly onProgress: (text: string) => void
}

/** How a day went. `roles` counts how each role's workflows ended; an empty `problems` is a good day. */
type DayReport = {
  readonly blocks: number
  readonly workflows: number
  readonly tookMs: number
  readonly roles: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Why workflows ended otherwise than in success, by role, state and check. */
  readonly reasons: Readonly<Record<string, number>>
  readonly problems: readonly string[]
}

/** What is in flight at the end has this long, as the keeper's clock has it, to come to its own end. */
const DRAIN_MS = 300_000
const LOOK_MS = 10_000
/** What a whole day must bring. */
const DAY = { blocks: 7_200n, workflows: 1_000 }

/** Play a day: sandbox and keeper on one hurried clock, every held workflow approved, and then the books checked. */
export async function playDay({ directory, seed, blocks, onProgress }: DayOptions): Promise<DayReport> {
  const startedAtMs = Date.now()
  process.env.STARTED_AT_MS = String(startedAtMs)
  const clock = hurriedClock(startedAtMs)
  prepareDirectory(directory, true)
  const program = pathToFileURL(join(import.meta.dirname, 'hurried-sandbox.ts'))
  const sandbox = startSandboxProcess({ program, directory, seed, fault: undefined, onProgress })
  try {
    await sandbox.ready
    const config = sandboxConfig(directory)
    const keeper = createKeeper(config, {
      version: 'day',
      clock,
      log: createLog({ level: 'warn', secrets: [], write: () => {} }),
    })
    const roles: Record<string, Record<string, number>> = {}
    const problems: string[] = []
    const reasons: Record<string, number> = {}
    let workflows = 0
    keeper.onEvent((event: KeeperEvent) => {
      if (event.type === 'held')
        writeAnswer(config.directory, event.id, {
          verdict: 'approve',
          hash: event.hash,
          by: { user: 'day@sandbox' },
        })
      if (event.type === 'alarm') onProgress(`alarm ${event.code}: ${event.message}`)
      if (event.type === 'workflow' && event.state === 'discovered') workflows += 1
      if (event.type === 'workflow' && event.check !== undefined) {
        const reason = `${event.role} ${event.state} ${event.check}`
        reasons[reason] = (reasons[reason] ?? 0) + 1
      }
    })
    const chain = createPublicClient({
      transport: http(config.chain.nodes.read[0]?.reveal(), { retryCount: 0 }),
      cacheTime: 0,
    })
    await keeper.start()
    const first = await chain.getBlockNumber()
    await reach(
      chain,
      first + blocks,
      clock.sleep,
      (done) => onProgress(`block ${done - first} of ${blocks}, ${workflows} workflows`),
      sandbox.ended,
    )
    await keeper.stop({ drainMs: DRAIN_MS })
    const { workflows: counts } = keeper.summary()
    for (const [role, ends] of Object.entries(counts))
      roles[role] = Object.fromEntries(Object.entries(ends).filter(([, count]) => count > 0))
    const books = {
      directory: config.directory,
      chainId: config.chain.id,
      signers: config.agents.map(({ role, signer: { address } }) => ({ role, address })),
    }
    problems.push(...(await findProblems(books, chain, workflows)))
    if (blocks >= DAY.blocks && workflows < DAY.workflows)
      problems.push(`only ${workflows} workflows; a day brings ${DAY.workflows}`)
    const tookMs = Date.now() - startedAtMs
    return { blocks: Number(blocks), workflows, tookMs, roles, reasons, problems }
  } finally {
    await sandbox.stop()
  }
}

async function reach(
  chain: PublicClient,
  block: bigint,
  sleep: (ms: number) => Promise<void>,
  onLook: (at: bigint) => void,
  ended: Promise<never>,
): Promise<void> {
  for (let looks = 0; ; looks += 1) {
    const at = await chain.getBlockNumber()
    if (at >= block) return
    if (looks % 30 === 0) onLook(at)
    await Promise.race([sleep(LOOK_MS), ended])
  }
}
