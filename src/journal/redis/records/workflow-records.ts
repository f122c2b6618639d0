import type { Address } from 'viem'
import { invariant } from '../../../errors.ts'
import type { Brief } from '../../../workflow/brief.ts'
import type { Workflow } from '../../../workflow/workflow.ts'
import type { Reservation } from '../../journal.ts'
import type { Archive } from '../../sqlite/archive.ts'
import { LiveIndex } from '../../sqlite/live-index.ts'
import { decodeRecord } from '../../sqlite/records.ts'
import { decodeBrief } from './briefs.ts'
import { type Change, changeArgs, changeKeys, conflict } from './change.ts'
import type { RedisReads } from './reads.ts'
import type { SeatWriter } from './seat-writer.ts'

/** The workflows of a seat, by their one writer: what is live is held decoded, so that asking for it costs no command. */
export class WorkflowRecords {
  readonly #writer: SeatWriter
  readonly #reads: RedisReads
  readonly #archive: Pick<Archive, 'get'>
  readonly #live = new LiveIndex([])
  /** Of these, memory may be behind the record. */
  readonly #unsure = new Set<string>()

  constructor(writer: SeatWriter, reads: RedisReads, archive: Pick<Archive, 'get'>) {
    this.#writer = writer
    this.#reads = reads
    this.#archive = archive
  }

  async load(): Promise<void> {
    const { store, held } = this.#writer
    const ids = await this.#reads.texts('ZRANGE', store.keys.live(held.seat), 0, -1)
    for (const workflow of await this.#reads.many(ids)) this.#live.note(workflow)
  }

  async get(id: string): Promise<Workflow | null> {
    return (await this.#recorded(id)) ?? this.#archive.get(id)
  }

  async #recorded(id: string): Promise<Workflow | null> {
    this.#writer.proveHeld()
    const known = this.#live.get(id)
    if (known !== undefined && !this.#unsure.has(id)) return known
    if (!this.#unsure.has(id)) return this.#reads.get(id)
    const stored = await this.#reread(id)
    if (this.#unsure.delete(id) && stored !== null) this.#note(stored)
    return stored
  }

  /** Read what became of a change that was not heard of: from here on nothing becomes of it any more. */
  async #reread(id: string): Promise<Workflow | null> {
    const { values } = await this.#writer.run('reread', [this.#writer.store.keys.workflow(id)], [])
    const body = String(values[1])
    return body === '' ? null : decodeRecord<Workflow>(body)
  }

  /** With what was opened and not heard of. */
  async live(): Promise<readonly Workflow[]> {
    for (const id of this.#unsure) await this.get(id)
    return this.#live.all()
  }

  async ofSigner(signer: Address): Promise<readonly Workflow[]> {
    return this.#live.ofSigner(signer)
  }

  /** Make a change of a workflow. @returns what the script answered, and what follows that. */
  async change(name: 'open' | 'write' | 'claim', change: Change): Promise<readonly unknown[]> {
    const { next } = change
    try {
      const { held, store } = this.#writer
      const keys = changeKeys(change, held.seat, store.keys)
      const { code, values } = await this.#writer.run(name, keys, changeArgs(change))
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
    const [answer, taken] = await this.change('open', { next: workflow, before: null, reservation: null })
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
    const [answer] = await this.change('write', { next, before, reservation, revision })
    return answer === 'outdated' ? 'outdated' : next
  }

  async write(workflow: Workflow, reservation: Reservation | null = null): Promise<Workflow> {
    const written = await this.#write(workflow, reservation)
    invariant(written !== 'outdated', `a write of ${workflow.id} was judged by no budget`)
    return written
  }

  async writeBound(workflow: Workflow, requestId: string): Promise<Workflow | 'taken'> {
    const before = await this.get(workflow.id)
    const next = { ...workflow, version: workflow.version + 1 }
    const [answer] = await this.change('write', { next, before, reservation: null, requestId })
    return answer === 'taken' ? 'taken' : next
  }

  writeWithin(
    workflow: Workflow,
    reservation: Reservation,
    revision: string,
  ): Promise<Workflow | 'outdated'> {
    return this.#write(workflow, reservation, revision)
  }
}
