import type { Hex } from 'viem'
import { invariant, type RolekeeperError } from '../../errors.ts'
import type { DecisionRow, LedgerEntry, OutboxRow, Reservation } from '../journal.ts'
import { encodeRecord } from '../records.ts'
import type { Answer } from './answer.ts'
import { encodeEntry } from './entries.ts'
import { seatLost, tailLost } from './faults.ts'
import { RedisReads } from './reads.ts'
import type { ScriptName } from './scripts.ts'
import type { Held, Mark } from './seat.ts'
import { type Argument, LINE, type RedisStore } from './store.ts'

/** Decisions of one script: a first look at a book has one of each position. */
const DECISIONS_MAX = 500

/** What the holder of a seat keeps beside its workflows. */
export class SeatRecords extends RedisReads {
  protected override readonly store: RedisStore
  protected readonly held: Held
  /** One writer of the seat, of those that its holder may have one after another. */
  readonly #writer: string
  /** The sequence of the newest change that was answered. */
  #answered = 0
  /** Nothing in the outbox is due before this: it is asked for twice a second, and is empty nearly always. */
  #dueFromMs = Number.NEGATIVE_INFINITY
  /** Why this writer's word counts no more. */
  #lost: RolekeeperError | null = null

  constructor(held: Held, store: RedisStore) {
    super(store)
    this.store = store
    this.held = held
    this.#writer = store.op()
  }

  /** Run a script of the seat's holder, as one change that is made once. */
  protected async run(
    name: ScriptName,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Answer> {
    this.proveHeld()
    const { seat, token } = this.held
    const { store } = this
    const given: readonly Argument[] = [token, this.#writer, LINE, store.op(), this.#answered, ...args]
    const answer = await store.run(name, [store.keys.seat(seat), ...keys], given)
    if (answer.code === 'FENCED') throw this.lose(seatLost(seat))
    if (answer.code === 'TAIL') throw this.lose(tailLost(seat))
    invariant(
      answer.code !== 'OTHER',
      `the ledger holds the digest ${String(answer.values[0])} for something else`,
    )
    if (answer.code === 'OK') this.#answered = Math.max(this.#answered, Number(answer.values[0]))
    return answer
  }

  /** Throw `seat.lost` once it is known: what is in memory says nothing of the record any more. */
  protected proveHeld(): void {
    if (this.#lost !== null) throw this.#lost
  }

  protected lose(why: RolekeeperError): RolekeeperError {
    this.#lost ??= why
    return why
  }

  /** What a barrier compares with: it covers every change that was answered before. */
  protected mark(): Mark {
    return { ...this.held, writer: this.#writer, answered: this.#answered }
  }

  async enterDigest(entry: LedgerEntry): Promise<void> {
    await this.run('enter', [this.store.keys.digests], [entry.digest, encodeEntry(entry)])
  }

  async settle(reservation: Reservation): Promise<void> {
    const { keys } = this.store
    const { role, workflowId, atMs } = reservation
    const budget = [keys.budget(role), keys.budgetTimes(role), keys.budgetChanges(role)]
    await this.run('settle', budget, [workflowId, atMs, encodeRecord(reservation)])
  }

  async addDecisions(rows: readonly DecisionRow[]): Promise<void> {
    const { keys } = this.store
    for (const [role, ofRole = []] of Object.entries(Object.groupBy(rows, (row) => row.role))) {
      for (let start = 0; start < ofRole.length; start += DECISIONS_MAX) {
        const some = ofRole.slice(start, start + DECISIONS_MAX).map(encodeRecord)
        await this.run('decide', [keys.decisions(role), keys.decisionOps, keys.roles], [role, ...some])
      }
    }
  }

  #outbox(): readonly string[] {
    const { keys } = this.store
    const { seat } = this.held
    return [keys.outbox(seat), keys.outboxRows(seat), keys.outboxTries(seat)]
  }

  async post(rows: readonly Omit<OutboxRow, 'tries'>[]): Promise<void> {
    const args = rows.flatMap(({ dueAtMs, ...row }) => [row.hash, dueAtMs, encodeRecord(row)])
    await this.#queue('post', args, Math.min(...rows.map(({ dueAtMs }) => dueAtMs)))
  }

  async posted(hash: Hex): Promise<void> {
    await this.run('posted', this.#outbox(), [hash])
  }

  postpone(hash: Hex, dueAtMs: number): Promise<void> {
    return this.#queue('postpone', [hash, dueAtMs], dueAtMs)
  }

  /** Change what is due: before, as it may be made unheard, and after, as it was looked at meanwhile. */
  async #queue(
    name: 'post' | 'postpone',
    args: readonly (string | number)[],
    dueAtMs: number,
  ): Promise<void> {
    this.#dueFromMs = Math.min(this.#dueFromMs, dueAtMs)
    await this.run(name, this.#outbox(), args)
    this.#dueFromMs = Math.min(this.#dueFromMs, dueAtMs)
  }

  override async due(nowMs: number, limit: number): Promise<readonly OutboxRow[]> {
    if (nowMs < this.#dueFromMs) return []
    const { seat } = this.held
    const rows = await this.dueOf(seat, nowMs, limit)
    if (rows.length > 0) return rows
    const [, firstMs] = await this.texts('ZRANGE', this.store.keys.outbox(seat), 0, 0, 'WITHSCORES')
    this.#dueFromMs = firstMs === undefined ? Number.POSITIVE_INFINITY : Number(firstMs)
    return rows
  }

  async setValue(key: string, value: string | null): Promise<void> {
    await this.run('put', [this.store.keys.values], value === null ? [key] : [key, value])
  }
}
