import { type Address, type Hex, keccak256, parseTransaction } from 'viem'
import type { JournalReads } from '../../src/journal/journal.ts'
import { readSqliteJournal } from '../../src/journal/sqlite.ts'
import type { Slot } from '../../src/workflow/slot.ts'
import { isTerminal, type Workflow } from '../../src/workflow/workflow.ts'
import { type Block, CHAIN_ID, type Chain, txOf } from './chain.ts'
import { effectOf } from './contracts.ts'
import { SIGNER } from './kms.ts'
import type { Opportunity } from './plan.ts'
import { ruleset } from './process.ts'

/** A payload may be signed this much later than its answer's end: what was under way in between. */
const LATE_MS = 10_000

/** What was signed for one nonce, oldest first. */
type Signed = { readonly purpose: 'payload' | 'noop'; readonly content: string }

/** The effect that an opportunity is, as the chain's calldata names it. */
export const effectName = ({ kind }: Pick<Opportunity, 'kind'>, index: number, borrower: Address): string =>
  kind === 'settle' ? `settle ${index + 1}` : `liquidate ${borrower}`

/**
 * Holds a schedule against what must always be true. It believes the model chain and the key's own log, and of the journal
 * only what a commit made durable, read over a connection of its own.
 */
export class Checker {
  readonly violations: string[] = []
  readonly #chain: Chain
  readonly #effects: readonly { readonly name: string; readonly opportunity: Opportunity }[]
  readonly #feeCapWei: bigint
  readonly #onViolation: (text: string) => void
  readonly #signed = new Map<number, Signed[]>()
  #reader: { readonly directory: string; readonly journal: JournalReads } | null = null

  constructor(
    chain: Chain,
    effects: readonly { readonly name: string; readonly opportunity: Opportunity }[],
    feeCapWei: bigint,
    onViolation: (text: string) => void,
  ) {
    this.#chain = chain
    this.#effects = effects
    this.#feeCapWei = feeCapWei
    this.#onViolation = onViolation
  }

  violate(text: string): void {
    this.violations.push(text)
    this.#onViolation(text)
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
    const entry = await journal.ledgerEntry(digest)
    if (entry === null) return this.violate(`signed ${digest}, which no commit holds`)
    const workflow = entry.workflowId === null ? null : await journal.get(entry.workflowId)
    const slot = workflow?.slots.find((each) => each.nonce === entry.nonce)
    const attempt = slot?.attempts.find((each) => each.digest === digest)
    if (workflow === null || slot === undefined || attempt === undefined) {
      return this.violate(`signed ${digest}, which belongs to no durable attempt`)
    }
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
    if (maxFeePerGas > this.#feeCapWei) this.violate(`offered ${maxFeePerGas} wei, above the cap`)
    const isNoop = to?.toLowerCase() === SIGNER && data === '0x'
    if (isNoop !== (attempt.purpose === 'noop'))
      this.violate(`nonce ${nonce}: a ${attempt.purpose} that is none`)
    await this.#mustFit(workflow, journal)
    this.#signedAt(slot, isNoop ? 'noop' : 'payload', [to, data, value, gas].join(' '))
    if (isNoop || slot.kind === 'revoke') return
    this.#payloadSigned(workflow, data, nowMs)
  }

  /** What a workflow may cost is reserved on disk, and what is reserved is within the policy's limits. */
  async #mustFit({ id, slots }: Workflow, journal: JournalReads): Promise<void> {
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
    const isHeld = workflow?.slots.some(({ attempts }) => attempts.some((attempt) => attempt.raw === raw))
    if (isHeld !== true) this.violate(`nonce ${nonce}: bytes were sent that no commit holds`)
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
    const { fate } = this.#effects.find(({ name }) => name === effect)?.opportunity ?? {}
    if (fate === 'healthy') this.violate(`signed ${effect}, where there was nothing to take`)
    if (effect !== null && fate === undefined) this.violate(`signed ${effect}, which nobody proposed`)
    const endMs = (prepared?.receivedAtMs ?? 0) + ruleset.freshness.lifetimeMsMax
    if (nowMs > endMs + LATE_MS)
      this.violate(`workflow ${id}: a payload was signed ${nowMs - endMs} ms after its end`)
  }

  /** A workflow was written. */
  moved(before: Workflow | null, after: Workflow): void {
    for (const slot of after.slots) {
      const was = before?.slots.find(({ index }) => index === slot.index)
      if (slot.state === 'final' && was?.state !== 'final') this.#slotFinal(slot)
    }
    if (before?.state === after.state) return
    if (after.state === 'quarantined')
      this.violate(`workflow ${after.id} was quarantined: ${after.note?.message}`)
    const isDone = after.state === 'confirmed' || after.state === 'succeeded' || after.state === 'unconfirmed'
    if (isDone) this.#mustBeDone(after)
    else if (isTerminal(after.state)) this.#mustNotBeDone(after)
  }

  /** Final is what no honest node will ever take back. */
  #slotFinal({ nonce, inclusion, consumedByOther }: Slot): void {
    const { tip } = this.#chain
    const final = this.#chain.finalized()
    const isUsed = (final.state.nonces.get(SIGNER) ?? 0) > nonce
    if (!isUsed) this.violate(`nonce ${nonce} was called final while the chain has not finalized it`)
    if (consumedByOther) this.violate(`nonce ${nonce} was given up as somebody else's`)
    if (inclusion === undefined) return
    const found = this.#chain.find(tip, inclusion.hash)
    if (found === null || found.block.hash !== inclusion.blockHash) {
      this.violate(`nonce ${nonce} was called final in a block that is not on the chain`)
    } else if (found.mined.ok !== (inclusion.status === 'success')) {
      this.violate(`nonce ${nonce} is final as ${inclusion.status}, which it was not`)
    }
  }

  #mustBeDone(workflow: Workflow): void {
    for (const slot of workflow.slots.filter(({ kind }) => kind === 'intent')) {
      const found =
        slot.inclusion === undefined ? null : this.#chain.find(this.#chain.tip, slot.inclusion.hash)
      if (found === null || !found.mined.ok || slot.inclusion?.purpose !== 'payload') {
        this.violate(
          `workflow ${workflow.id} is ${workflow.state}, and its nonce ${slot.nonce} did not do it`,
        )
      }
    }
  }

  #mustNotBeDone(workflow: Workflow): void {
    const final = this.#chain.finalized()
    for (const { nonce, attempts } of workflow.slots) {
      if ((final.state.nonces.get(SIGNER) ?? 0) <= nonce) {
        this.violate(
          `workflow ${workflow.id} ended ${workflow.state} while its nonce ${nonce} may still be used`,
        )
      }
      for (const { hash } of attempts) {
        const found = hash === undefined ? null : this.#chain.find(this.#chain.tip, hash)
        // `partial` says that some of it landed; it is never opened again.
        if (workflow.state !== 'partial' && found?.mined.ok && effectOf(found.mined.tx.data) !== null) {
          this.violate(`workflow ${workflow.id} ended ${workflow.state}, and its payload is on the chain`)
        }
      }
    }
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
    return this.#effects.every(({ name, opportunity }) => opportunity.fate !== 'stays' || counts.has(name))
  }

  /** Hold the end against the chain; how many workflows ended how. */
  async conclude(journal: JournalReads): Promise<Readonly<Record<string, number>>> {
    const counts = this.#counted(this.#chain.tip)
    for (const { name, opportunity } of this.#effects) {
      const count = counts.get(name) ?? 0
      if (count > 1) this.violate(`doubled: ${name} is on the chain ${count} times`)
      if (count === 0 && opportunity.fate === 'stays') this.violate(`lost: ${name} was never done`)
    }
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
    await this.#checkSpent(journal)
    const states: Record<string, number> = {}
    for (const { state } of workflows) states[state] = (states[state] ?? 0) + 1
    return states
  }

  /** What the ledger says was spent is what the chain took. */
  async #checkSpent(journal: JournalReads): Promise<void> {
    const rows = await journal.reservations('liquidator', 0)
    const spent = rows.reduce((sum, { gasWei }) => sum + gasWei, 0n)
    const genesis = this.#chain.genesis.state.wei.get(SIGNER) ?? 0n
    const paid = genesis - (this.#chain.tip.state.wei.get(SIGNER) ?? 0n)
    if (spent !== paid) this.violate(`the ledger says that ${spent} wei went for gas; the chain took ${paid}`)
  }
}
