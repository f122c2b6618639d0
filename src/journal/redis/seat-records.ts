import type { Hex } from 'viem'
import { invariant, type RolekeeperError } from '../../errors.ts'
import type { DecisionRow, LedgerEntry, OutboxRow, Reservation } from '../journal.ts'
import { encodeRecord } from '../sqlite/records.ts'
import { encodeEntry } from './entries.ts'
import type { Answer } from './link/answer.ts'
import { seatLost, tailLost } from './link/faults.ts'
import { Outbox } from './outbox.ts'
import { RedisReads } from './reads.ts'
import type { ScriptName } from './scripts/scripts.ts'
import type { Mark, SeatToken } from './seats/seat.ts'
import { type Argument, LINE, type RedisStore } from './store.ts'

/** Decisions of one script: a first look at a book has one of each position. */
const DECISIONS_MAX = 500

/** What the holder of a seat keeps beside its workflows. */
export class SeatRecords extends RedisReads {
  protected override readonly store: RedisStore
  protected readonly held: SeatToken
  /** One writer of the seat, of those that its holder may have one after another. */
  readonly #writer: string
  /** The sequence of the newest change that was answered. */
  #answered = 0
  readonly #outbox = new Outbox()
  /** Why this writer's word counts no more. */
  #lost: RolekeeperError | null = null

  constructor(held: SeatToken, store: RedisStore) {
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

  #outboxKeys(): readonly string[] {
    const { keys } = this.store
    const { seat } = this.held
    return [keys.outbox(seat), keys.outboxRows(seat), keys.outboxTries(seat)]
  }

  async post(rows: readonly Omit<OutboxRow, 'tries'>[]): Promise<void> {
    await this.#outbox.post(rows, (fresh) => {
      const args = fresh.flatMap(({ dueAtMs, ...row }) => [row.hash, dueAtMs, encodeRecord(row)])
      return this.run('post', this.#outboxKeys(), args)
    })
  }

  posted(hash: Hex): Promise<void> {
    return this.#outbox.posted(hash, () => this.run('posted', this.#outboxKeys(), [hash]))
  }

  postpone(hash: Hex, dueAtMs: number): Promise<void> {
    const write = () => this.run('postpone', this.#outboxKeys(), [hash, dueAtMs])
    return this.#outbox.postpone(hash, dueAtMs, write)
  }

  override due(nowMs: number, limit: number): Promise<readonly OutboxRow[]> {
    const read = (most: number) => this.dueOf(this.held.seat, Number.POSITIVE_INFINITY, most)
    return this.#outbox.due(nowMs, limit, read)
  }

  async setValue(key: string, value: string | null): Promise<void> {
    await this.run('put', [this.store.keys.values], value === null ? [key] : [key, value])
  }
}
