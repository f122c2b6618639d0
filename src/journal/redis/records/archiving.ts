import { isUnmarked, type Workflow } from '../../../workflow/workflow.ts'
import { requestKey } from '../../entered.ts'
import { type Archive, hashesOf } from '../../sqlite/archive.ts'
import { decodeRecord, encodeRecord } from '../../sqlite/records.ts'
import type { RedisReads } from './reads.ts'
import type { SeatWriter } from './seat-writer.ts'

/** Workflows of one slice: archiving them takes about 1 ms of the event loop. */
const SLICE = 4
/** What cannot be forgotten yet is looked at again after this. */
const KEPT_ON_MS = 86_400_000

/** What is left of a workflow whose body is in an archive. */
export type ArchivedStub = Pick<Workflow, 'chainId' | 'signer'> & {
  /** The instance whose archive has its body. */
  readonly instance: string
  readonly nonces: readonly number[]
  readonly digests: readonly string[]
  /** What the service calls its request; absent where it never answered, and in what an earlier release left. */
  readonly requestId?: string
}

/** Moves the workflows of a seat that ended long ago out of Redis, a few at a time. */
export class Archiving {
  readonly #writer: SeatWriter
  readonly #reads: RedisReads
  readonly #archive: Archive

  constructor(writer: SeatWriter, reads: RedisReads, archive: Archive) {
    this.#writer = writer
    this.#reads = reads
    this.#archive = archive
  }

  /**
   * Move the bodies of a few workflows that ended before a time to the archive; nonces, digests and opportunities stay.
   * @param offset 0, or what the slice before returned.
   * @returns null when none is left.
   */
  async archiveSlice(beforeMs: number, offset: number): Promise<number | null> {
    const { keys } = this.#writer.store
    const range = ['-inf', beforeMs, 'LIMIT', offset, SLICE] as const
    const ids = await this.#reads.texts('ZRANGEBYSCORE', keys.ended(this.#writer.held.seat), ...range)
    const leaving: Workflow[] = []
    for (const workflow of await this.#reads.many(ids)) {
      if (!(await this.#isAwaited(workflow))) leaving.push(workflow)
    }
    const histories = await Promise.all(leaving.map(({ id }) => this.#reads.transitions(id)))
    await this.#archive.keep(
      leaving.map((workflow, index) => ({ workflow, transitions: histories[index] ?? [] })),
    )
    for (const workflow of leaving) await this.#leave(workflow)
    return ids.length < SLICE ? null : offset + ids.length - leaving.length
  }

  async #isAwaited(workflow: Workflow): Promise<boolean> {
    if (isUnmarked(workflow)) return true
    const hashes = hashesOf(workflow)
    if (hashes.length === 0) return false
    const due = await this.#reads.texts(
      'ZMSCORE',
      this.#writer.store.keys.outbox(this.#writer.held.seat),
      ...hashes,
    )
    return due.some((score) => score !== '')
  }

  async #leave(workflow: Workflow): Promise<void> {
    const { id, role, version, chainId, signer, updatedAtMs, slots, attestation, prepared } = workflow
    const { keys } = this.#writer.store
    const { seat } = this.#writer.held
    const digests = slots.flatMap(({ attempts }) => attempts.map(({ digest }) => digest))
    const rest: ArchivedStub = {
      instance: this.#writer.store.instance,
      chainId,
      signer,
      nonces: slots.map(({ nonce }) => nonce),
      digests: attestation === undefined ? digests : [...digests, attestation.digest],
      ...(prepared === undefined ? {} : { requestId: prepared.answer.requestId }),
    }
    const records = [keys.workflow(id), keys.transitions(id), keys.ended(seat), keys.left(seat)]
    await this.#writer.run(
      'leave',
      [...records, keys.role(role), keys.shadowed, keys.outboxRows(seat), keys.archives],
      [id, version, updatedAtMs, encodeRecord(rest), rest.instance, ...hashesOf(workflow)],
    )
  }

  /**
   * Forget nonces, digests and the requests of a few workflows that ended before a time and are archived; not those at whose nonces a live
   * one has something else, as what they had may land there after all. @returns whether more are left.
   */
  async forgetSlice(beforeMs: number): Promise<boolean> {
    const { keys } = this.#writer.store
    const left = keys.left(this.#writer.held.seat)
    const ids = await this.#reads.texts('ZRANGEBYSCORE', left, '-inf', beforeMs, 'LIMIT', 0, SLICE)
    for (const id of ids) {
      const text = await this.#reads.text('HGET', keys.workflow(id), 'rest')
      if (text === null) continue
      const { chainId, signer, nonces, digests, requestId = '' } = decodeRecord<ArchivedStub>(text)
      const counter = keys.nonces(chainId, signer)
      const holders = nonces.length === 0 ? [] : await this.#reads.texts('HMGET', counter, ...nonces)
      const others = holders.filter((holder) => holder !== '' && holder !== id)
      const records = [keys.workflow(id), left, keys.digests, counter, keys.values]
      const args = [id, beforeMs + KEPT_ON_MS, nonces.length, requestKey(requestId), signer.toLowerCase()]
      await this.#writer.run(
        'forget',
        [...records, ...others.map(keys.workflow)],
        [...args, ...nonces, ...digests],
      )
    }
    return ids.length === SLICE
  }
}
