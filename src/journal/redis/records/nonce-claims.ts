import type { Address } from 'viem'
import { invariant } from '../../../errors.ts'
import type { Slot } from '../../../workflow/slot.ts'
import type { Workflow } from '../../../workflow/workflow.ts'
import type { Reservation } from '../../journal.ts'
import type { RedisReads } from './reads.ts'
import type { SeatWriter } from './seat-writer.ts'
import type { WorkflowRecords } from './workflow-records.ts'

/** The nonces of a seat, taken by the workflows that claim them. */
export class NonceClaims {
  readonly #writer: SeatWriter
  readonly #reads: RedisReads
  readonly #workflows: Pick<WorkflowRecords, 'get' | 'change'>
  /** The next nonces as they were last read or claimed: another's claim of one is lost, and they are read again. */
  readonly #next = new Map<string, number>()

  constructor(writer: SeatWriter, reads: RedisReads, workflows: Pick<WorkflowRecords, 'get' | 'change'>) {
    this.#writer = writer
    this.#reads = reads
    this.#workflows = workflows
  }

  async next(chainId: number, signer: Address): Promise<number | null> {
    const counter = this.#writer.store.keys.nonces(chainId, signer)
    const known = this.#next.get(counter)
    if (known !== undefined) return known
    const next = await this.#reads.nextNonce(chainId, signer)
    if (next !== null) this.#next.set(counter, next)
    return next
  }

  async adopt(chainId: number, signer: Address, nonce: number): Promise<void> {
    const counter = this.#writer.store.keys.nonces(chainId, signer)
    this.#next.delete(counter)
    await this.#writer.run('adopt', [counter], [nonce])
    this.#next.delete(counter)
  }

  /** As the journal's `claim`; with the revision that its budgets had room as of, as `claimWithin`. */
  async claim(
    workflow: Workflow,
    reservation: Reservation | null,
    revision?: string,
  ): Promise<Workflow | 'lost' | 'outdated'> {
    const { held: seatHeld, store } = this.#writer
    const before = await this.#workflows.get(workflow.id)
    const held = new Set(before?.slots.map(({ nonce }) => nonce))
    const fresh = workflow.slots.filter(({ nonce }) => !held.has(nonce))
    const [first] = fresh
    invariant(first !== undefined, `workflow ${workflow.id} claims without a slot`)
    const isOwn = fresh.every(({ signer }) => signer.toLowerCase() === seatHeld.seat)
    invariant(isOwn, `workflow ${workflow.id} claims nonces of ${first.signer} on the seat ${seatHeld.seat}`)
    if (fresh.some(({ nonce }, index) => nonce !== first.nonce + index)) return 'lost'
    const claimed = { ...first, count: fresh.length, holder: await this.#expectedHolder(fresh) }
    const next = { ...workflow, version: workflow.version + 1 }
    const counter = store.keys.nonces(first.chainId, first.signer)
    const following = this.#next.get(counter)
    this.#next.delete(counter)
    const [answer] = await this.#workflows.change('claim', { next, before, reservation, revision, claimed })
    if (answer === 'lost' || answer === 'outdated') return answer
    // What only closes one below leaves the next where it is.
    if (following === first.nonce) this.#next.set(counter, following + fresh.length)
    else this.#next.delete(counter)
    return next
  }

  /** Who may hold the nonce of a slot that only closes it; where somebody else does by then, the claim is lost. */
  async #expectedHolder([first, ...more]: readonly Slot[]): Promise<string | undefined> {
    if (first?.closing === undefined || more.length > 0) return undefined
    const counter = this.#writer.store.keys.nonces(first.chainId, first.signer)
    return (await this.#reads.text('HGET', counter, first.nonce)) ?? ''
  }
}
