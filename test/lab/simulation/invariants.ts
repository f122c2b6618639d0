import { type Address, type Hex, keccak256, parseTransaction } from 'viem'
import type { JournalReads } from '../../../src/journal/journal.ts'
import { readSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import type { FeePolicy } from '../../../src/pipeline/transactions/fees.ts'
import type { Attempt, Slot } from '../../../src/workflow/slot.ts'
import { isTerminal, type Workflow } from '../../../src/workflow/workflow.ts'
import { type Block, CHAIN_ID, type Chain, type Tx, txOf } from './chain.ts'
import { effectOf } from './contracts.ts'
import { SIGNER } from './kms.ts'
import type { Opportunity } from './plan.ts'
import { ruleset } from './process.ts'

/** A payload may be signed this much later than its answer's end: what was under way in between. */
const LATE_MS = 10_000

/** What was signed for one nonce, oldest first. */
type Signed = { readonly purpose: 'payload' | 'noop'; readonly content: string }

/** Why a signer is SAFE whose chain left what had been final. */
const FORKED = 'reorg_past_finality'

/** What a schedule is held against. */
type CheckerWorld = {
  readonly chain: Chain
  /** The last of them is proposed when all trouble is over. */
  readonly effects: readonly { readonly name: string; readonly opportunity: Opportunity }[]
  /** What the policy pays. */
  readonly fees: FeePolicy
  /** The highest base fee of the schedule. */
  readonly baseFeeWeiMax: bigint
  /** The newest block that the keeper's view of the chain has come to. */
  readonly head: () => Hex | null
  /** Why the signer is SAFE. */
  readonly doubts: () => readonly string[]
  readonly onViolation: (text: string) => void
}

/** The effect that an opportunity is, as the chain's calldata names it. */
export const effectName = ({ kind }: Pick<Opportunity, 'kind'>, index: number, borrower: Address): string =>
  kind === 'settle' ? `settle ${index + 1}` : `liquidate ${borrower}`

/**
 * Holds a schedule against what must always be true. It believes the model chain and the key's own log, and of the journal
 * only what a commit made durable, read over a connection of its own.
 */
export class Checker {
  readonly violations: string[] = []
  /** What somebody else with our key sent. */
  stranger: Tx | null = null
  readonly #world: CheckerWorld
  readonly #chain: Chain
  readonly #signed = new Map<number, Signed[]>()
  /** The workflows of which digests were signed. */
  readonly #signedFor = new Map<Hex, string>()
  #reader: { readonly directory: string; readonly journal: JournalReads } | null = null

  /** The newest block of a fork on which more than finality was taken back, and the lowest block of it. */
  #left: { readonly tip: Block; readonly from: Block } | null = null
  /** The last block that a keeper called final. */
  #final: Block | null = null
  /** Digests that were asked for while the signer was SAFE. */
  readonly #askedInSafe = new Set<Hex>()
  /** The most that urgent payloads offered, by nonce. */
  readonly #urgent = new Map<number, bigint>()
  /** The first nonce that a keeper took to be its own. */
  #firstNonce = Number.POSITIVE_INFINITY
  #mayAdoptAnew = true
  /** Whether the signer was ever SAFE because somebody else has its key. */
  #wasDoubted = false

  constructor(world: CheckerWorld) {
    this.#world = world
    this.#chain = world.chain
  }

  violate(text: string): void {
    this.violations.push(text)
    this.#world.onViolation(text)
  }

  #durable(directory: string): JournalReads {
    if (this.#reader?.directory !== directory) {
      void this.close()
      this.#reader = { directory, journal: readSqliteJournal(directory) }
    }
    return this.#reader.journal
  }

  /** Let go of what is read of the journal. */
  async close(): Promise<void> {
    await this.#reader?.journal.close()
    this.#reader = null
  }

  /** The key is giving a signature now. */
  async signing(digest: Hex, directory: string, nowMs: number): Promise<void> {
    const journal = this.#durable(directory)
    const entry = await journal.ledgerEntry(digest, SIGNER)
    if (entry === null) return this.violate(`signed ${digest}, which no commit holds`)
    const workflow = entry.workflowId === null ? null : await journal.get(entry.workflowId)
    const slot = workflow?.slots.find((each) => each.nonce === entry.nonce)
    const attempt = slot?.attempts.find((each) => each.digest === digest)
    if (workflow === null || slot === undefined || attempt === undefined) {
      return this.violate(`signed ${digest}, which belongs to no durable attempt`)
    }
    this.#signedFor.set(digest, workflow.id)
    if (keccak256(attempt.unsigned) !== digest) this.violate(`digest ${digest} is not of its bytes`)
    const {
      to,
      data = '0x',
      value = 0n,
      gas = 0n,
      nonce,
      maxFeePerGas = 0n,
    } = parseTransaction(attempt.unsigned)
    if (nonce !== slot.nonce) this.violate(`nonce ${nonce} was signed for slot ${slot.nonce}`)
    if (maxFeePerGas > this.#world.fees.maxFeePerGasWei)
      this.violate(`offered ${maxFeePerGas} wei, above the cap`)
    const isNoop = to?.toLowerCase() === SIGNER && data === '0x'
    if (isNoop !== (attempt.purpose === 'noop'))
      this.violate(`nonce ${nonce}: a ${attempt.purpose} that is none`)
    await this.#mustFit(workflow, journal)
    this.#signedAt(slot, isNoop ? 'noop' : 'payload', [to, data, value, gas].join(' '))
    if (isNoop || slot.kind === 'revoke') return
    if (this.#askedInSafe.has(digest) && !slot.attempts.some(({ state }) => state === 'sent'))
      this.violate(`nonce ${nonce}: a payload that no node has was signed in SAFE`)
    this.#mustBeNeeded(slot, attempt)
    this.#payloadSigned(workflow, data, nowMs)
  }

  /** What a workflow may cost is reserved on disk, and what is reserved is within the policy's limits; filling a nonce is not of a budget. */
  async #mustFit({ id, slots, proposal }: Workflow, journal: JournalReads): Promise<void> {
    if (proposal.kind === 'fill') return
    const { perWorkflow, perHour } = ruleset.limits
    const rows = await journal.reservations('liquidator', 0)
    const reserved = rows.find(({ workflowId }) => workflowId === id)?.gasWei ?? 0n
    const offered = slots.reduce((sum, { attempts }) => {
      const costs = attempts.map(({ unsigned }) => {
        const { gas = 0n, maxFeePerGas = 0n } = parseTransaction(unsigned)
        return gas * maxFeePerGas
      })
      return sum + costs.reduce((most, cost) => (cost > most ? cost : most), 0n)
    }, 0n)
    if (offered > reserved) this.violate(`workflow ${id} offers ${offered} wei, and ${reserved} are reserved`)
    if (reserved > perWorkflow.gasWeiMax) this.violate(`workflow ${id} reserves ${reserved} wei`)
    const hour = rows.reduce((sum, { gasWei }) => sum + gasWei, 0n)
    if (hour > perHour.gasWeiMax) this.violate(`${hour} wei are reserved in one hour`)
    const usd = rows.reduce((sum, { usdMicros }) => sum + usdMicros, 0n)
    if (usd > perHour.usdMicrosMax) this.violate(`${usd} millionths of a dollar are reserved in one hour`)
  }

  /** Raw bytes are leaving now: whoever comes after must be able to send the same again. */
  async sending(raw: Hex, directory: string): Promise<void> {
    const { from, nonce } = txOf(raw)
    const workflow = await this.#durable(directory).byNonce(CHAIN_ID, from, nonce)
    const slots = workflow === null || workflow === 'archived' ? [] : workflow.slots
    const isHeld = slots.some(({ attempts }) => attempts.some((attempt) => attempt.raw === raw))
    if (!isHeld) this.violate(`nonce ${nonce}: bytes were sent that no commit holds`)
  }

  /** A replacement offers no more than its turn, the market or what is urgent behind it asks for. */
  #mustBeNeeded({ nonce, attempts }: Slot, attempt: Attempt): void {
    const { fees, baseFeeWeiMax } = this.#world
    const last = attempts[attempts.indexOf(attempt) - 1]
    if (last === undefined || last.purpose !== attempt.purpose) return
    const raised = (last.maxFeePerGasWei * (10_000n + fees.bumpBps) + 9_999n) / 10_000n
    const market = (baseFeeWeiMax * fees.baseFeeBps) / 10_000n + fees.priorityFeePerGasWeiMax
    const behind = [...this.#urgent].flatMap(([at, offered]) => (at > nonce ? [offered] : []))
    const most = [raised, market, ...behind].reduce((a, b) => (a > b ? a : b))
    if (attempt.maxFeePerGasWei > most)
      this.violate(`nonce ${nonce}: a bump offers ${attempt.maxFeePerGasWei} wei where ${most} would do`)
  }

  #signedAt({ nonce }: Slot, purpose: Signed['purpose'], content: string): void {
    const before = this.#signed.get(nonce) ?? []
    const isOther = (each: Signed) => each.purpose === 'payload' && each.content !== content
    if (purpose === 'payload' && before.some(({ purpose: earlier }) => earlier === 'noop')) {
      this.violate(`nonce ${nonce}: a payload was signed after a no-op`)
    }
    if (purpose === 'payload' && before.some(isOther)) this.violate(`nonce ${nonce} carries two payloads`)
    this.#signed.set(nonce, [...before, { purpose, content }])
  }

  #payloadSigned({ id, prepared }: Workflow, data: Hex, nowMs: number): void {
    const effect = effectOf(data)
    const { fate } = this.#world.effects.find(({ name }) => name === effect)?.opportunity ?? {}
    if (fate === 'healthy') this.violate(`signed ${effect}, where there was nothing to take`)
    if (effect !== null && fate === undefined) this.violate(`signed ${effect}, which nobody proposed`)
    const endMs = (prepared?.receivedAtMs ?? 0) + ruleset.freshness.lifetimeMsMax
    if (nowMs > endMs + LATE_MS)
      this.violate(`workflow ${id}: a payload was signed ${nowMs - endMs} ms after its end`)
  }

  /** A workflow was written. */
  moved(before: Workflow | null, after: Workflow): void {
    if (after.proposal.urgent === true) {
      for (const { nonce, attempts } of after.slots) {
        for (const { maxFeePerGasWei } of attempts) {
          if (maxFeePerGasWei > (this.#urgent.get(nonce) ?? 0n)) this.#urgent.set(nonce, maxFeePerGasWei)
        }
      }
    }
    for (const slot of after.slots) {
      const was = before?.slots.find(({ index }) => index === slot.index)
      if (slot.state === 'final' && was?.state !== 'final') this.#slotFinal(after.id, slot)
    }
    if (before?.state === after.state) return
    if (after.state === 'quarantined')
      this.violate(`workflow ${after.id} was quarantined: ${after.note?.message}`)
    const isDone = after.state === 'confirmed' || after.state === 'succeeded' || after.state === 'unconfirmed'
    if (isDone) this.#mustBeDone(after)
    else if (isTerminal(after.state)) this.#mustNotBeDone(after)
  }

  /** The chain is about to leave so many of its blocks, which are more than finality allows. */
  left(depth: number): void {
    const { tip } = this.#chain
    this.#left = { tip, from: this.#chain.below(tip, depth - 1) }
  }

  /** The keeper's view has come to a new head: where the chain left what the keeper had called final, it is SAFE. */
  headRead(): void {
    const head = this.#blockOf(this.#world.head())
    if (head === undefined || this.#final === null || head.number < this.#final.number) return
    // Where it is the head that the chain has left, the next one decides.
    const stands = this.#chain.isIn(head, this.#final) || this.#chain.isIn(this.#chain.tip, this.#final)
    if (!stands && !this.#world.doubts().includes(FORKED))
      this.violate(
        `a head was read on which block ${this.#final.number}, called final, is gone, without SAFE`,
      )
  }

  /** A keeper begins: of what the ones before it called final it knows what its journal holds. */
  startsFrom(hash: Hex | null): void {
    this.#final = this.#blockOf(hash) ?? null
  }

  /** The journal is an older one. */
  restored(): void {
    this.#mayAdoptAnew = true
  }

  /** The keeper calls another block final: one that follows the last, or it is SAFE. */
  calledFinal(hash: Hex): void {
    const block = this.#blockOf(hash)
    const last = this.#final
    if (block === undefined) {
      this.violate(`${hash} was called final, which is no block`)
      return
    }
    this.#final = block
    if (last === null || this.#chain.isIn(block, last) || this.#chain.isIn(last, block)) return
    if (!this.#world.doubts().includes(FORKED))
      this.violate(`block ${last.number} was called final and is gone, without SAFE`)
  }

  /** The signer is SAFE. */
  doubted(check: string, said: string): void {
    this.#wasDoubted ||= check.startsWith('nonce')
    // It has said that what was final is gone; a person may release the signer before anything else is final.
    if (check === FORKED) this.#final = null
    const isStranger = this.stranger !== null && said.includes(this.stranger.hash)
    if (check === 'nonce_taken' && !isStranger)
      this.violate(`what is ours was called somebody else's: ${said}`)
    if (check === 'landed_after_all' && isStranger) this.violate(`somebody else's was called ours: ${said}`)
  }

  /** The keeper takes its next nonce from the chain. */
  adopted(nonce: number): void {
    if (this.#mayAdoptAnew) this.#firstNonce = nonce
    this.#mayAdoptAnew = false
  }

  /** The key is asked to sign a digest. */
  asked(digest: Hex): void {
    if (this.#world.doubts().length > 0) this.#askedInSafe.add(digest)
  }

  #blockOf(hash: Hex | null): Block | undefined {
    return hash === null ? undefined : this.#chain.blocks.get(hash)
  }

  /** The tips that a keeper may go by: one that the chain has left is among them until the first head beyond is read. */
  #tips(): readonly Block[] {
    const { tip } = this.#chain
    const head = this.#blockOf(this.#world.head())
    const isBehind = this.#left !== null && head !== undefined && this.#chain.isIn(head, this.#left.from)
    return isBehind && this.#left !== null ? [tip, this.#left.tip] : [tip]
  }

  /** Violate by what is wrong at every tip that the keeper may go by. */
  #mustHold(wrongAt: (tip: Block) => readonly string[]): void {
    const wrong = this.#tips().map(wrongAt)
    if (wrong.every((each) => each.length > 0)) for (const text of wrong[0] ?? []) this.violate(text)
  }

  /** Final is what no honest node will ever take back. */
  #slotFinal(id: string, { nonce, inclusion, consumedByOther }: Slot): void {
    if (consumedByOther && this.#world.doubts().length === 0)
      this.violate(`nonce ${nonce} was somebody else's, without SAFE`)
    this.#mustHold((tip) => {
      const final = this.#chain.finalized(tip)
      if ((final.state.nonces.get(SIGNER) ?? 0) <= nonce)
        return [`nonce ${nonce} was called final while the chain has not finalized it`]
      if (consumedByOther && !this.#isOfOther(id, nonce, final))
        return [`nonce ${nonce} was given up as somebody else's`]
      if (inclusion === undefined) return []
      const found = this.#chain.find(tip, inclusion.hash)
      if (found === null || found.block.hash !== inclusion.blockHash)
        return [`nonce ${nonce} was called final in a block that is not on the chain`]
      const isSame = found.mined.ok === (inclusion.status === 'success')
      return isSame ? [] : [`nonce ${nonce} is final as ${inclusion.status}, which it was not`]
    })
  }

  /** Whether what is final at a nonce is somebody else's; or, where a deep reorg took it, of a workflow that had it there before. */
  #isOfOther(id: string, nonce: number, final: Block): boolean {
    const tx = this.#txAt(nonce, final)
    const holder = tx && this.#signedFor.get(tx.digest)
    if (holder === undefined) return tx !== undefined && tx.hash === this.stranger?.hash
    return this.#left !== null && holder !== id
  }

  #txAt(nonce: number, tip: Block): Tx | undefined {
    for (let block: Block | null = tip; block !== null; block = block.parent) {
      const mined = block.transactions.find(({ tx }) => tx.nonce === nonce)
      if (mined !== undefined) return mined.tx
    }
    return undefined
  }

  #mustBeDone({ id, state, slots }: Workflow): void {
    this.#mustHold((tip) =>
      slots.flatMap(({ kind, nonce, inclusion }) => {
        if (kind !== 'intent') return []
        const found = inclusion === undefined ? null : this.#chain.find(tip, inclusion.hash)
        const isDone = found?.mined.ok === true && inclusion?.purpose === 'payload'
        return isDone ? [] : [`workflow ${id} is ${state}, and its nonce ${nonce} did not do it`]
      }),
    )
  }

  #mustNotBeDone({ id, state, slots }: Workflow): void {
    this.#mustHold((tip) => {
      const final = this.#chain.finalized(tip)
      const isDone = (hash: Hex | undefined) => {
        const found = hash === undefined ? null : this.#chain.find(tip, hash)
        return found?.mined.ok === true && effectOf(found.mined.tx.data) !== null
      }
      return slots.flatMap(({ nonce, attempts }) => [
        ...((final.state.nonces.get(SIGNER) ?? 0) <= nonce
          ? [`workflow ${id} ended ${state} while its nonce ${nonce} may still be used`]
          : []),
        // `partial` says that some of it landed; it is never opened again.
        ...(state !== 'partial' && attempts.some(({ hash }) => isDone(hash))
          ? [`workflow ${id} ended ${state}, and its payload is on the chain`]
          : []),
      ])
    })
  }

  /** How often each effect is on the chain, from its beginning to a block. */
  #counted(tip: Block): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (let block: Block | null = tip; block !== null; block = block.parent) {
      for (const { tx, ok } of block.transactions) {
        const effect = effectOf(tx.data)
        if (ok && effect !== null) counts.set(effect, (counts.get(effect) ?? 0) + 1)
      }
    }
    return counts
  }

  /** Whether everything that can be done is final. */
  isComplete(): boolean {
    const counts = this.#counted(this.#chain.finalized())
    return this.#mustBeDoneAtEnd().every((name) => counts.has(name))
  }

  /** Where final blocks went, what had ended stays so, and a person looks at it: only what came after must be done. */
  #mustBeDoneAtEnd(): readonly string[] {
    const { effects } = this.#world
    const held = this.#left === null ? effects : effects.slice(-1)
    return held.flatMap(({ name, opportunity }) => (opportunity.fate === 'stays' ? [name] : []))
  }

  /** Hold the end against the chain; how many workflows ended how. */
  async conclude(journal: JournalReads): Promise<Readonly<Record<string, number>>> {
    const counts = this.#counted(this.#chain.tip)
    for (const { name } of this.#world.effects) {
      const count = counts.get(name) ?? 0
      if (count > 1) this.violate(`doubled: ${name} is on the chain ${count} times`)
    }
    for (const name of this.#mustBeDoneAtEnd())
      if (!counts.has(name)) this.violate(`lost: ${name} was never done`)
    const workflows = await journal.list(1_000)
    for (const { id, state, slots } of workflows) {
      if (!isTerminal(state)) {
        const held = slots.map((slot) => `${slot.nonce} ${slot.state}`).join(', ')
        this.violate(`wedged: workflow ${id} is still ${state} (${held})`)
      }
    }
    const next = await journal.nextNonce(CHAIN_ID, SIGNER)
    const counted = this.#chain.tip.state.nonces.get(SIGNER) ?? 0
    if (next !== counted) this.violate(`wedged: the chain counts ${counted} nonces, the ledger ${next}`)
    const theirs = this.#theirs()?.mined.tx.nonce ?? -1
    // Where a deep reorg opened again a nonce of what had ended, that workflow is named, and a person looks at it.
    const isOfEnded = workflows.some(
      ({ state, slots }) => isTerminal(state) && slots.some(({ nonce }) => nonce === theirs),
    )
    const isNamed = this.#left !== null && isOfEnded
    if (theirs >= this.#firstNonce && !this.#wasDoubted && !isNamed)
      this.violate(`nonce ${theirs} was taken by somebody else, and the signer was never SAFE`)
    if (this.#left === null) await this.#checkSpent(journal)
    const states: Record<string, number> = {}
    for (const { state } of workflows) states[state] = (states[state] ?? 0) + 1
    return states
  }

  /** What somebody else with our key sent, where it is on the chain. */
  #theirs() {
    return this.stranger === null ? null : this.#chain.find(this.#chain.tip, this.stranger.hash)
  }

  /** What the ledger says was spent is what the chain took. */
  async #checkSpent(journal: JournalReads): Promise<void> {
    const rows = await journal.reservations('liquidator', 0)
    const spent = rows.reduce((sum, { gasWei }) => sum + gasWei, 0n)
    const genesis = this.#chain.genesis.state.wei.get(SIGNER) ?? 0n
    const paid = genesis - (this.#chain.tip.state.wei.get(SIGNER) ?? 0n)
    const theirs = this.#theirs()
    const ours = paid - (theirs === null ? 0n : theirs.mined.gasUsed * theirs.mined.priceWei)
    if (spent !== ours) this.violate(`the ledger says that ${spent} wei went for gas; the chain took ${ours}`)
  }
}
