import type { Address } from 'viem'
import { invariant } from '../../errors.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Brief } from '../../workflow/brief.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { proveEntered } from '../entered.ts'
import type { Journal, LedgerEntry, Reservation, Spending } from '../journal.ts'
import { LiveIndex } from '../live-index.ts'
import { Briefs, decodeBrief } from './briefs.ts'
import { Budgets } from './budgets.ts'
import { type Change, changeArgs, changeKeys, conflict } from './change.ts'
import { decodeEntry } from './entries.ts'
import { createFences, type Fences } from './fences.ts'
import type { Controls, Held } from './seat.ts'
import { SeatRecords } from './seat-records.ts'
import type { RedisStore } from './store.ts'

/** What a journal of a term needs. */
type TermDeps = {
  readonly store: RedisStore
  /** What is set for the fleet, as each barrier finds it. */
  readonly onControls: (controls: Controls) => void
}

/**
 * Open the journal of a seat that this instance has just taken: what is live of it is read once. Every write throws
 * RolekeeperError `seat.lost` once another holds it, and `journal.unknown` where it is not known whether it was made: then the
 * record is read again when it is next asked for.
 */
export async function openRedisJournal(held: Held, deps: TermDeps): Promise<Journal> {
  const journal = new RedisJournal(held, deps)
  await journal.load()
  return journal
}

/** The one writer of a seat's workflows: what is live of it is held decoded, so that asking for it costs no command. */
class RedisJournal extends SeatRecords implements Journal {
  readonly #fences: Fences
  readonly #briefs: Briefs
  readonly #budgets: Budgets
  readonly #live = new LiveIndex([])
  /** Of these, memory may be behind the record. */
  readonly #unsure = new Set<string>()

  constructor(held: Held, { store, onControls }: TermDeps) {
    super(held, store)
    this.#fences = createFences(held, store, onControls)
    this.#briefs = new Briefs(store)
    this.#budgets = new Budgets(store)
  }

  async load(): Promise<void> {
    const ids = await this.texts('ZRANGE', this.store.keys.live(this.held.seat), 0, -1)
    for (const workflow of await this.many(ids)) this.#live.note(workflow)
  }

  override async get(id: string): Promise<Workflow | null> {
    const known = this.#live.get(id)
    if (known !== undefined && !this.#unsure.has(id)) return known
    const stored = await super.get(id)
    if (this.#unsure.delete(id) && stored !== null) this.#live.note(stored)
    return stored
  }

  override async live(): Promise<readonly Workflow[]> {
    return this.#live.all()
  }

  async ofSigner(signer: Address): Promise<readonly Workflow[]> {
    return this.#live.ofSigner(signer)
  }

  ofRole(role: Role): Promise<readonly Brief[]> {
    return this.#briefs.ofRole(role)
  }

  onLots(): Promise<readonly Brief[]> {
    return this.#briefs.onLots()
  }

  async spending(role: Role, sinceMs: readonly number[], workflowId: string): Promise<Spending> {
    const held = await this.#budgets.spending(role, sinceMs, workflowId)
    return {
      rows: held.rows ?? (await this.reservations(role, Math.min(...sinceMs))),
      revision: held.revision,
    }
  }

  /** Make a change of a workflow. @returns what the script answered, and what follows that. */
  async #change(name: 'open' | 'write' | 'claim', change: Change): Promise<readonly unknown[]> {
    const { next } = change
    try {
      const keys = changeKeys(change, this.held.seat, this.store.keys)
      const { code, values } = await this.run(name, keys, changeArgs(change))
      if (code === 'CONFLICT') throw conflict(next)
      const [, answer] = values
      if (answer === 'opened' || answer === 'written') this.#note(next)
      return values.slice(1)
    } catch (error) {
      this.#unsure.add(next.id)
      throw error
    }
  }

  /** An older change that was answered late is none. */
  #note(workflow: Workflow): void {
    const known = this.#live.get(workflow.id)
    if (known === undefined || known.version <= workflow.version) this.#live.note(workflow)
  }

  async open(workflow: Workflow): Promise<'opened' | 'exists' | Brief> {
    const [answer, taken] = await this.#change('open', { next: workflow, before: null, reservation: null })
    if (answer === 'taken') return decodeBrief(String(taken)).brief
    return answer === 'opened' ? 'opened' : 'exists'
  }

  async #write(
    workflow: Workflow,
    reservation: Reservation | null,
    revision?: string,
  ): Promise<Workflow | 'outdated'> {
    const before = await this.get(workflow.id)
    const next = { ...workflow, version: workflow.version + 1 }
    const [answer] = await this.#change('write', { next, before, reservation, revision })
    return answer === 'outdated' ? 'outdated' : next
  }

  async write(workflow: Workflow, reservation: Reservation | null = null): Promise<Workflow> {
    const written = await this.#write(workflow, reservation)
    invariant(written !== 'outdated', `a write of ${workflow.id} was judged by no budget`)
    return written
  }

  writeWithin(
    workflow: Workflow,
    reservation: Reservation,
    revision: string,
  ): Promise<Workflow | 'outdated'> {
    return this.#write(workflow, reservation, revision)
  }

  async #claim(
    workflow: Workflow,
    reservation: Reservation | null,
    revision?: string,
  ): Promise<Workflow | 'lost' | 'outdated'> {
    const before = await this.get(workflow.id)
    const held = new Set(before?.slots.map(({ nonce }) => nonce))
    const fresh = workflow.slots.filter(({ nonce }) => !held.has(nonce))
    const [first] = fresh
    invariant(first !== undefined, `workflow ${workflow.id} claims without a slot`)
    if (fresh.some(({ nonce }, index) => nonce !== first.nonce + index)) return 'lost'
    const claimed = { ...first, count: fresh.length, holder: await this.#expectedHolder(fresh) }
    const next = { ...workflow, version: workflow.version + 1 }
    const [answer] = await this.#change('claim', { next, before, reservation, revision, claimed })
    return answer === 'lost' || answer === 'outdated' ? answer : next
  }

  /** Who may hold the nonce of a slot that only closes it; where somebody else does by then, the claim is lost. */
  async #expectedHolder([first, ...more]: readonly Slot[]): Promise<string | undefined> {
    if (first?.closing === undefined || more.length > 0) return undefined
    return (await this.holderOf(first.chainId, first.signer, first.nonce)) ?? ''
  }

  async claim(workflow: Workflow, reservation: Reservation | null): Promise<Workflow | 'lost'> {
    const claimed = await this.#claim(workflow, reservation)
    invariant(claimed !== 'outdated', `a claim of ${workflow.id} was judged by no budget`)
    return claimed
  }

  claimWithin(workflow: Workflow, reservation: Reservation, revision: string) {
    return this.#claim(workflow, reservation, revision)
  }

  async barrier(): Promise<void> {
    await this.#fences.pass([])
  }

  async ordered(entries: readonly LedgerEntry[]): Promise<void> {
    const found = await this.#fences.pass(entries.map(({ digest }) => digest))
    for (const entry of entries) {
      const text = found.get(entry.digest) ?? ''
      proveEntered(entry, text === '' ? null : decodeEntry(entry.digest, text))
    }
  }

  /** The lines are the instance's. */
  override async close(): Promise<void> {}
}
