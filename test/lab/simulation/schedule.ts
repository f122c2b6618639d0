import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Address } from 'viem'
import { RolekeeperError } from '../../../src/errors.ts'
import { openDatabase } from '../../../src/journal/sqlite/database.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { isTerminal, type Workflow } from '../../../src/workflow/workflow.ts'
import { CHAIN_ID, Chain, txOf } from './chain.ts'
import {
  balanceKey,
  COLLATERAL,
  LOAN,
  MARKET,
  type Position,
  PRICE_WAD,
  type State,
  seizedFor,
  VAULT,
} from './contracts.ts'
import { copyFiles, installDisk } from './disk.ts'
import { Checker, effectName } from './invariants.ts'
import { ModelKms, SIGNER, strangerRaw } from './kms.ts'
import { ModelNode, type NodeWorld } from './node.ts'
import { type CrashPoint, type Opportunity, type Plan, TROUBLE_MS } from './plan.ts'
import { feesUnder, Process } from './process.ts'
import { createRandom } from './random.ts'
import { createScheduler, installTimers } from './scheduler.ts'
import { ModelService } from './service.ts'

/** When every schedule begins, Unix milliseconds. */
const START_MS = 1_800_000_000_000
/** After its last fault, everything must have come to its end within this. */
const QUIET_MS = 400_000
/** A person looks after a signer in SAFE this often, once all trouble is over. */
const ATTEND_MS = 5_000
/** The agent looks this often, and proposes all that it ever saw. */
const LOOK_MS = 2_000
/** Proposed when all trouble is over: a signer that is not wedged does it. */
const LAST: Opportunity = {
  kind: 'liquidate',
  seenAtMs: TROUBLE_MS,
  fate: 'stays',
  goneAtMs: 0,
  urgent: false,
}
/** A sync of the disk takes at most so long. */
const SYNC_MS = 5
const REPAY = 1_000_000_000n
const BASE_FEE_WEI = 1_000_000_000n

const JOURNAL = 'journal.sqlite'
const IS_JOURNAL = /^(journal|archive)\.sqlite(-wal)?$/
const IS_MARK = /^watermark.*\.log$/

/** Memory where the machine has a file system for it: a schedule is not about the disk's speed. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

let empty: Buffer | undefined

/** A journal that nothing was written in yet: to make one takes longer than to copy it. */
function emptyJournal(): Buffer {
  if (empty === undefined) {
    const directory = mkdtempSync(join(ROOT, 'rolekeeper-simulation-'))
    openDatabase(directory).close()
    empty = readFileSync(join(directory, JOURNAL))
    rmSync(directory, { recursive: true, force: true })
  }
  return empty
}

const borrowerOf = (index: number): Address => `0x${String(index + 1).padStart(40, 'b')}`

/** The proposal that an opportunity is, always the same. Pure. */
function proposalOf({ kind, urgent }: Pick<Opportunity, 'kind' | 'urgent'>, index: number): Proposal {
  const lane = urgent ? { urgent: true as const } : {}
  if (kind === 'settle') {
    return {
      workflowType: 'role.liquidator.settleLiquidationClaim',
      ...lane,
      kind,
      subject: `${MARKET}:${index + 1}`,
      occurrence: String(index + 1),
      input: { marketAddress: MARKET, claimId: String(index + 1) },
      exposure: { token: null, assets: 0n, usdMicros: 0n },
      summary: 'settle',
      reason: {},
    }
  }
  return {
    workflowType: 'role.liquidator.liquidate',
    ...lane,
    kind,
    subject: `${MARKET}:${VAULT}:${borrowerOf(index)}`,
    occurrence: 'shares:1,collateral:1',
    input: {
      marketAddress: MARKET,
      vaultAddress: VAULT,
      borrowerAddress: borrowerOf(index),
      repayAssets: String(REPAY),
      minCollateralAssets: String((seizedFor(REPAY) * 9_900n) / 10_000n),
      recipientAddress: SIGNER,
    },
    exposure: { token: LOAN, assets: REPAY, usdMicros: REPAY },
    summary: 'repay',
    reason: { priceWad: String(PRICE_WAD) },
  }
}

function genesisOf(opportunities: readonly Opportunity[]): State {
  const position = (fate: Opportunity['fate']): Position => ({
    debt: 10n * REPAY,
    collateral: 10n ** 12n,
    healthWad: fate === 'healthy' ? 2n * 10n ** 18n : 9n * 10n ** 17n,
  })
  return {
    nonces: new Map([[SIGNER, 7]]),
    wei: new Map([[SIGNER, 10n ** 20n]]),
    tokens: new Map([
      [balanceKey(LOAN, SIGNER), 10n ** 15n],
      [balanceKey(COLLATERAL, MARKET), 10n ** 15n],
    ]),
    allowances: new Map(),
    positions: new Map(opportunities.map(({ fate }, index) => [borrowerOf(index), position(fate)])),
    claims: new Map(
      opportunities.map(({ fate }, index) => [
        BigInt(index + 1),
        { owner: SIGNER, borrower: borrowerOf(index), assets: 1_000n, settled: fate === 'healthy' },
      ]),
    ),
    paused: false,
  }
}

/** What a schedule came to. */
export type Outcome = {
  readonly violations: readonly string[]
  readonly states: Readonly<Record<string, number>>
  readonly virtualMs: number
  readonly deaths: number
  readonly lies: number
  readonly alarms: ReadonlySet<string>
  readonly calls: ReadonlyMap<string, number>
}

/** Run one schedule to its end, and say what it violated. The same plan gives the same outcome. */
export async function runSchedule(plan: Plan, trace?: (line: string) => void): Promise<Outcome> {
  const root = mkdtempSync(join(ROOT, 'rolekeeper-simulation-'))
  const schedule = new Schedule(plan, root, trace ?? (() => undefined))
  // What nobody reads a stack of costs a tenth of a schedule to write it.
  const { stackTraceLimit } = Error
  if (trace === undefined) Error.stackTraceLimit = 0
  const restoreTimers = installTimers(schedule.scheduler, () => schedule.owner, schedule.thrown)
  const restoreDisk = installDisk(schedule.sync)
  try {
    return await schedule.run()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    restoreDisk()
    restoreTimers()
    rmSync(root, { recursive: true, force: true })
  }
}

class Schedule {
  readonly scheduler
  readonly #plan: Plan
  readonly #root: string
  readonly #trace: (line: string) => void
  readonly #random
  readonly #chain: Chain
  readonly #nodes: readonly ModelNode[]
  readonly #service: ModelService
  readonly #kms: ModelKms
  readonly #checker: Checker
  readonly #opportunities: readonly Opportunity[]
  readonly #counts = new Map<CrashPoint, number>()
  readonly #alarms = new Set<string>()
  readonly #calls = new Map<string, number>()
  readonly #live = new Set<string>()
  /** Opportunities that a workflow has done, as far as the agent knows. */
  readonly #done = new Set<number>()
  #process: Process | null = null
  #directory: string
  /** Whether the next process begins on the backup. */
  #restores = false
  #deaths = 0
  #lies = 0
  #ended = false

  constructor(plan: Plan, root: string, trace: (line: string) => void) {
    this.#plan = plan
    this.#root = root
    this.#trace = trace
    this.#random = createRandom(plan.seed)
    const random = this.#random
    this.scheduler = createScheduler(START_MS, random)
    const { scheduler } = this
    this.#chain = new Chain({
      state: genesisOf([...plan.opportunities, LAST]),
      nowMs: scheduler.nowMs,
      finalityBlocks: plan.finalityBlocks,
      transferGas: 21_000n,
      baseFee: BASE_FEE_WEI,
      random,
      blocks: 12 + plan.finalityBlocks + (plan.deep?.beyond ?? 0),
    })
    const chain = this.#chain
    const world: NodeWorld = {
      chain,
      scheduler,
      random,
      startMs: START_MS,
      faults: plan.nodeFaults,
      liar: plan.liar,
      latencyMs: plan.latencyMs,
      calls: this.#calls,
      onLie: (node, method) => {
        this.#lies += 1
        this.#say(`node ${node + 1} lies about ${method}`)
      },
    }
    this.#nodes = Array.from({ length: plan.nodes }, (_, index) => new ModelNode(index, world))
    const shared = { scheduler, random, startMs: START_MS }
    this.#service = new ModelService({ ...shared, chain, faults: plan.serviceFaults })
    this.#opportunities = [...plan.opportunities, LAST]
    const effects = this.#opportunities.map((opportunity, index) => ({
      opportunity,
      name: effectName(opportunity, index, borrowerOf(index)),
    }))
    const spike = plan.spikes.reduce((most, { factor }) => Math.max(most, factor), 1)
    this.#checker = new Checker({
      chain,
      effects,
      fees: feesUnder(plan.feeCapWei),
      baseFeeWeiMax: BASE_FEE_WEI * BigInt(spike),
      head: () => this.#process?.head ?? null,
      doubts: () => this.#process?.doubts ?? [],
      onViolation: (text) => this.#say(`VIOLATION ${text}`),
    })
    this.#kms = new ModelKms({
      ...shared,
      faults: plan.kmsFaults,
      onSign: (digest, directory) => {
        this.#say(`signs ${digest.slice(0, 10)}`)
        void this.#checker.signing(digest, directory, scheduler.nowMs())
      },
    })
    this.#directory = join(root, 'life-0')
    mkdirSync(this.#directory)
    writeFileSync(join(this.#directory, JOURNAL), emptyJournal())
  }

  /** What is written is on disk a moment later, whoever has died meanwhile. */
  readonly sync = (): Promise<void> =>
    new Promise((resolve) => this.scheduler.after(this.#random.int(0, SYNC_MS), resolve))

  get owner(): () => boolean {
    return this.#process?.isAlive ?? (() => true)
  }

  /** What a timer threw. A dead process that meets its closed files on its way out is not heard. */
  readonly thrown = (error: unknown): void => {
    const code = error instanceof RolekeeperError ? error.code : String(error)
    this.#say(`a timer threw ${code}`)
    if (code !== 'watermark.failed' || this.#deaths === 0) this.#checker.violate(`a timer threw ${code}`)
  }

  #say(line: string): void {
    this.#trace(`${String(this.scheduler.nowMs() - START_MS).padStart(7)} ${line}`)
  }

  async run(): Promise<Outcome> {
    this.#arrange()
    this.#begin()
    const { scheduler } = this
    const { finalityBlocks, blockMs } = this.#plan
    const endMs = START_MS + TROUBLE_MS + Math.max(QUIET_MS, 2 * finalityBlocks * blockMs)
    let checked = 0
    await scheduler.run(() => {
      if (scheduler.nowMs() >= endMs) return true
      // Looked at once a virtual second: a look costs as much as an event.
      if (scheduler.nowMs() - checked < 1_000) return false
      checked = scheduler.nowMs()
      return this.#isQuiet()
    })
    this.#ended = true
    const process = this.#process
    const journal = process?.journal ?? null
    if (journal === null) this.#checker.violate('wedged: no process could be started')
    for (const { id, state, slots } of (await process?.journal?.live()) ?? []) {
      for (const { nonce, state: slotState, attempts, inclusion, closing } of slots) {
        const tries = attempts.map(
          (each) =>
            `${each.purpose} ${each.state} ${each.maxFeePerGasWei}/${each.maxPriorityFeePerGasWei} ${each.hash?.slice(0, 10)} sent at ${each.sentAtBlock}`,
        )
        this.#say(
          `${id.slice(0, 8)} ${state}: ${nonce} ${slotState} closing ${closing}, in ${inclusion?.blockNumber}: ${tries.join('; ')}`,
        )
      }
    }
    this.#say(
      `the chain is at ${this.#chain.tip.number} and counts ${this.#chain.tip.state.nonces.get(SIGNER)}; waiting: ${[...this.#chain.pool.values()].map((tx) => `${tx.nonce} ${tx.hash.slice(0, 10)} ${tx.maxFee}`).join(', ')}`,
    )
    const states = journal === null ? {} : await this.#checker.conclude(journal)
    await this.#release(process)
    await this.#checker.close()
    const { violations } = this.#checker
    return {
      violations,
      states,
      virtualMs: scheduler.nowMs() - START_MS,
      deaths: this.#deaths,
      lies: this.#lies,
      alarms: this.#alarms,
      calls: this.#calls,
    }
  }

  /** End the last process as it ends itself: its files are let go of in its own time. */
  async #release(process: Process | null): Promise<void> {
    let hasEnded = process === null
    process?.release().finally(() => {
      hasEnded = true
    })
    await this.scheduler.run(() => hasEnded)
    process?.die()
  }

  /** Everything that happens by itself. */
  #arrange(): void {
    const { scheduler } = this
    const { blockMs, inclusion, reorgs, spikes, evictions, deep, intruder, finalityBlocks } = this.#plan
    const opportunities = this.#opportunities
    const chain = this.#chain
    const mine = () => {
      if (this.#ended) return
      const isLucky = scheduler.nowMs() - START_MS > TROUBLE_MS
      chain.mine(chain.tip, () => isLucky || this.#random.chance(inclusion))
      scheduler.after(blockMs, mine)
    }
    scheduler.after(blockMs, mine)
    for (const { atMs, depth, forgets } of reorgs) {
      scheduler.after(atMs, () => {
        this.#say(`reorg of ${depth}`)
        chain.reorg(depth, forgets)
      })
    }
    if (deep !== null) {
      scheduler.after(deep.atMs, () => {
        this.#say(`reorg ${deep.beyond} blocks deeper than finality`)
        this.#checker.left(finalityBlocks + deep.beyond)
        chain.reorg(finalityBlocks + deep.beyond, deep.forgets)
      })
    }
    if (intruder !== null) scheduler.after(intruder.atMs, () => this.#intrude(intruder.takes))
    for (const { atMs, lengthMs, factor } of spikes) {
      scheduler.after(atMs, () => {
        chain.baseFee = BASE_FEE_WEI * BigInt(factor)
      })
      scheduler.after(atMs + lengthMs, () => {
        chain.baseFee = BASE_FEE_WEI
      })
    }
    const { backup } = this.#plan
    if (backup !== null) {
      scheduler.after(Math.max(0, backup.restoreAtMs - backup.ageMs), () => this.#backUp())
      scheduler.after(backup.restoreAtMs, () => {
        this.#say('the journal is replaced by its backup')
        this.#restores = true
        this.#kill(1_000)
      })
    }
    const attend = () => {
      if (this.#ended) return
      if (scheduler.nowMs() - START_MS >= TROUBLE_MS) this.#process?.attend()
      scheduler.after(ATTEND_MS, attend)
    }
    scheduler.after(ATTEND_MS, attend)
    for (const atMs of evictions) scheduler.after(atMs, () => chain.pool.clear())
    for (const [index, { fate, goneAtMs }] of opportunities.entries()) {
      if (fate === 'gone') scheduler.after(goneAtMs, () => this.#takeAway(index))
    }
    const look = () => {
      if (this.#ended) return
      const atMs = scheduler.nowMs() - START_MS
      for (const [index, opportunity] of opportunities.entries()) {
        // What is done is proposed again now and then: it must come to nothing.
        const isDue = !this.#done.has(index) || this.#random.chance(0.2)
        if (opportunity.seenAtMs <= atMs && isDue) this.#process?.propose(proposalOf(opportunity, index))
      }
      scheduler.after(atMs < TROUBLE_MS ? LOOK_MS : 3 * LOOK_MS, look)
    }
    scheduler.after(0, look)
  }

  /** Somebody else signs with our key. */
  #intrude(takes: 'held' | 'free'): void {
    const { pool, tip } = this.#chain
    let nonce = tip.state.nonces.get(SIGNER) ?? 0
    while (takes === 'free' && pool.has(`${SIGNER}:${nonce}`)) nonce += 1
    const tx = txOf(strangerRaw(CHAIN_ID, nonce))
    this.#say(`somebody else takes nonce ${nonce} in ${tx.hash.slice(0, 10)}`)
    pool.set(`${SIGNER}:${nonce}`, tx)
    this.#checker.stranger = tx
  }

  /** Somebody else is first. */
  #takeAway(index: number): void {
    this.#say(`opportunity ${index} goes`)
    this.#chain.change(({ positions, claims }) => {
      const borrower = borrowerOf(index)
      const position = positions.get(borrower)
      if (position !== undefined)
        positions.set(borrower, { ...position, collateral: 1n, healthWad: 2n * 10n ** 18n })
      const claim = claims.get(BigInt(index + 1))
      if (claim !== undefined) claims.set(BigInt(index + 1), { ...claim, settled: true })
    })
  }

  #begin(): void {
    if (this.#ended) return
    const process = new Process({
      scheduler: this.scheduler,
      directory: this.#directory,
      nodes: this.#nodes,
      agree: this.#plan.nodes > 1 ? 2 : 1,
      finality:
        this.#plan.finality === 'finalized'
          ? 'finalized'
          : { confirmations: BigInt(this.#plan.finalityBlocks) },
      fees: feesUnder(this.#plan.feeCapWei),
      service: this.#service,
      kms: this.#kms,
      passes: (point, when) => this.#passes(point, when),
      onSend: (raw, directory) => void this.#checker.sending(raw, directory),
      onResumed: (workflow) => this.#live.add(workflow.id),
      onMove: (before, after) => this.#moved(before, after),
      onHead: () => this.#checker.headRead(),
      onFinalRead: (hash) => this.#checker.startsFrom(hash),
      onFinal: (hash) => this.#checker.calledFinal(hash),
      onAdopt: (nonce) => this.#checker.adopted(nonce),
      onAsk: (digest) => this.#checker.asked(digest),
      onOrder: (said) => this.#say(said),
      onAlarm: (error) => {
        this.#alarms.add(error.code)
        if (error.code === 'signer.safe') this.#checker.doubted(String(error.facts.check), error.shortMessage)
        this.#say(`alarm ${error.code}: ${error.shortMessage}`)
      },
      onBroken: (what, error) => {
        const text = error instanceof Error ? `${error.name} ${error.message}` : String(error)
        const isOutside = error instanceof RolekeeperError && error.retry !== 'never'
        this.#say(`${what}: ${error instanceof Error ? error.stack : text}`)
        if (!isOutside) this.#checker.violate(`a step threw (${what}): ${text}`)
      },
    })
    this.#process = process
    this.#say('a process begins')
    process.start().catch((error: unknown) => {
      if (!process.isAlive()) return
      this.#say(`the start failed: ${error instanceof Error ? error.message : String(error)}`)
      if (!(error instanceof RolekeeperError)) this.#checker.violate(`the start threw ${String(error)}`)
      this.#kill(1_000)
    })
  }

  #moved(before: Workflow | null, after: Workflow): void {
    if (before?.state !== after.state) {
      const why = after.note === undefined ? '' : ` (${after.note.check})`
      this.#say(`${after.id.slice(0, 8)} ${after.proposal.kind} round ${after.round} → ${after.state}${why}`)
    }
    if (isTerminal(after.state)) this.#live.delete(after.id)
    else this.#live.add(after.id)
    if (after.state === 'succeeded') {
      this.#done.add(
        this.#opportunities.findIndex(
          (each, index) => proposalOf(each, index).subject === after.proposal.subject,
        ),
      )
    }
    this.#checker.moved(before, after)
  }

  #passes(point: CrashPoint, when: 'before' | 'after'): void {
    const count = (this.#counts.get(point) ?? 0) + (when === 'before' ? 1 : 0)
    this.#counts.set(point, count)
    const crash = this.#plan.crashes.find(
      (each) => each.at === point && each.when === when && each.nth === count - 1,
    )
    if (crash !== undefined && this.#process?.isAlive()) {
      this.#say(`dies ${when} ${point} ${count - 1}`)
      this.#kill(crash.downMs)
    }
  }

  /** Kill the process; another begins later, on what the last commit made durable. */
  #kill(downMs: number): void {
    const dead = this.#process
    if (dead === null) return
    dead.die()
    this.#deaths += 1
    this.#process = null
    const next = join(this.#root, `life-${this.#deaths}`)
    const from = this.#directory
    this.#live.clear()
    // What was on its way to the disk has come there by then; what no commit holds was in the memory of the dead alone.
    this.scheduler.after(0, () => {
      mkdirSync(next)
      copyFiles(from, next, (name) => IS_JOURNAL.test(name) || IS_MARK.test(name))
      if (this.#restores) this.#restore(next)
      this.#directory = next
      dead.release().catch(() => undefined)
    })
    this.scheduler.after(Math.max(1, downMs), () => this.#begin())
  }

  /** Copy the journal, and not its watermark, as a backup at night does. */
  #backUp(): void {
    const backup = join(this.#root, 'backup')
    mkdirSync(backup)
    copyFiles(this.#directory, backup, (name) => IS_JOURNAL.test(name))
  }

  #restore(directory: string): void {
    this.#restores = false
    this.#checker.restored()
    const backup = join(this.#root, 'backup')
    if (!existsSync(join(backup, JOURNAL))) return
    for (const suffix of ['', '-wal']) rmSync(join(directory, JOURNAL + suffix), { force: true })
    copyFiles(backup, directory, () => true)
  }

  /** Whether nothing can happen any more but the same again. */
  #isQuiet(): boolean {
    const { scheduler } = this
    if (scheduler.nowMs() - START_MS < TROUBLE_MS) return false
    if (!this.#process?.hasBegun || this.#live.size > 0) return false
    return this.#checker.isComplete()
  }
}
