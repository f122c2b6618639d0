import type { Address } from 'viem'
import { invariant, RolekeeperError } from '../../errors.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Brief } from '../../workflow/brief.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { proveEntered } from '../entered.ts'
import type { Journal, LedgerEntry, Reservation, Spending } from '../journal.ts'
import type { Archive } from '../sqlite/archive.ts'
import { ArchivedRecords } from './archived-records.ts'
import { Briefs } from './briefs.ts'
import { Budgets } from './budgets.ts'
import { entryAmong, fieldsOf } from './entries.ts'
import { createFences, type Fences } from './seats/fences.ts'
import type { Controls, SeatToken } from './seats/seat.ts'
import type { RedisStore } from './store.ts'

/** What a journal of a term needs. */
type TermDeps = {
  readonly store: RedisStore
  /** This instance's own: of what others archived, it knows nothing. */
  readonly archive: Archive
  /** What is set for the fleet, as each barrier finds it. */
  readonly onControls: (controls: Controls) => void
}

/**
 * Open the journal of a seat that this instance has just taken: what is live of it is read once. Every write throws
 * RolekeeperError `seat.lost` once another holds it, and `journal.unknown` where it is not known whether it was made: then the
 * record is read again when it is next asked for.
 */
export async function openRedisJournal(held: SeatToken, deps: TermDeps): Promise<RedisJournal> {
  const journal = new RedisJournal(held, deps)
  await journal.load()
  return journal
}

/** The journal of a term. */
class RedisJournal extends ArchivedRecords implements Journal {
  readonly #fences: Fences
  readonly #briefs: Briefs
  readonly #budgets: Budgets
  /** The next nonces as they were last read or claimed: another's claim of one is lost, and they are read again. */
  readonly #next = new Map<string, number>()

  constructor(held: SeatToken, { store, archive, onControls }: TermDeps) {
    super(held, store, archive)
    this.#fences = createFences(() => this.mark(), store, onControls)
    this.#briefs = new Briefs(store)
    this.#budgets = new Budgets(store, (role, sinceMs) => this.reservations(role, sinceMs))
  }

  ofRole(role: Role): Promise<readonly Brief[]> {
    return this.#briefs.ofRole(role)
  }

  onLots(): Promise<readonly Brief[]> {
    return this.#briefs.onLots()
  }

  spending(role: Role | null, sinceMs: readonly number[], workflowId: string): Promise<Spending> {
    return role === null
      ? this.#budgets.ofAll(sinceMs, workflowId)
      : this.#budgets.spending(role, sinceMs, workflowId)
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
    const isOwn = fresh.every(({ signer }) => signer.toLowerCase() === this.held.seat)
    invariant(isOwn, `workflow ${workflow.id} claims nonces of ${first.signer} on the seat ${this.held.seat}`)
    if (fresh.some(({ nonce }, index) => nonce !== first.nonce + index)) return 'lost'
    const claimed = { ...first, count: fresh.length, holder: await this.#expectedHolder(fresh) }
    const next = { ...workflow, version: workflow.version + 1 }
    const counter = this.store.keys.nonces(first.chainId, first.signer)
    const following = this.#next.get(counter)
    this.#next.delete(counter)
    const [answer] = await this.change('claim', { next, before, reservation, revision, claimed })
    if (answer === 'lost' || answer === 'outdated') return answer
    // What only closes one below leaves the next where it is.
    if (following === first.nonce) this.#next.set(counter, following + fresh.length)
    else this.#next.delete(counter)
    return next
  }

  override async nextNonce(chainId: number, signer: Address): Promise<number | null> {
    const counter = this.store.keys.nonces(chainId, signer)
    const known = this.#next.get(counter)
    if (known !== undefined) return known
    const next = await super.nextNonce(chainId, signer)
    if (next !== null) this.#next.set(counter, next)
    return next
  }

  async adoptNonce(chainId: number, signer: Address, nonce: number): Promise<void> {
    const counter = this.store.keys.nonces(chainId, signer)
    this.#next.delete(counter)
    await this.run('adopt', [counter], [nonce])
    this.#next.delete(counter)
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

  /** Pass a barrier, unless the seat is lost. @returns what the ledger has in some fields. */
  async #pass(fields: readonly string[]): Promise<ReadonlyMap<string, string>> {
    this.proveHeld()
    try {
      return await this.#fences.pass(fields)
    } catch (error) {
      throw error instanceof RolekeeperError && error.code === 'seat.lost' ? this.lose(error) : error
    }
  }

  async barrier(): Promise<void> {
    await this.#pass([])
  }

  async ordered(entries: readonly LedgerEntry[]): Promise<void> {
    const found = await this.#pass(entries.flatMap(fieldsOf))
    for (const entry of entries) {
      const texts = fieldsOf(entry).map((field) => found.get(field) ?? '')
      proveEntered(entry, entryAmong(entry, texts))
    }
  }

  /** The lines are the instance's. */
  override async close(): Promise<void> {}
}
