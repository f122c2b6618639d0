import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address, Hex } from 'viem'
import type { Role } from '../../service/contract/roles.ts'
import type { LastRound } from '../../workflow/round.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type {
  DecisionRow,
  JournalReads,
  LedgerEntry,
  OutboxRow,
  Reservation,
  Transition,
} from '../journal.ts'
import { decodeRecord } from '../sqlite/records.ts'
import { entryAmong, fieldsOf } from './entries.ts'
import type { RedisStore } from './store.ts'

/** Records that are read and decoded in one turn of the event loop: about a millisecond. */
const TURN_ROWS = 8
/** Decisions that are read at once, of a role. */
const DECISIONS_PAGE = 1_000

/** What a fleet's records say, to any process. */
export class RedisReads implements JournalReads {
  protected readonly store: Pick<RedisStore, 'keys' | 'read' | 'close'>

  constructor(store: Pick<RedisStore, 'keys' | 'read' | 'close'>) {
    this.store = store
  }

  protected async text(command: string, ...args: readonly (string | number)[]): Promise<string | null> {
    const reply = await this.store.read(command, ...args)
    return reply === null || reply === undefined ? null : String(reply)
  }

  /** Read a reply of many; what is not there is empty. */
  protected async texts(command: string, ...args: readonly (string | number)[]): Promise<readonly string[]> {
    const reply = await this.store.read(command, ...args)
    return Array.isArray(reply) ? reply.map((each) => (each === null ? '' : String(each))) : []
  }

  async get(id: string): Promise<Workflow | null> {
    const body = await this.text('HGET', this.store.keys.workflow(id), 'body')
    return body === null ? null : decodeRecord<Workflow>(body)
  }

  /** Read workflows in the order of their ids, a few in a turn; one that is gone is left out. */
  protected async many(ids: readonly string[]): Promise<readonly Workflow[]> {
    const found: Workflow[] = []
    for (let start = 0; start < ids.length; start += TURN_ROWS) {
      if (start > 0) await nextTurn()
      const some = ids.slice(start, start + TURN_ROWS)
      // By this class: what a journal holds in memory is not read for it.
      const bodies = await Promise.all(some.map((id) => RedisReads.prototype.get.call(this, id)))
      found.push(...bodies.filter((each) => each !== null))
    }
    return found
  }

  async byOpportunity(opportunity: string): Promise<LastRound | null> {
    const round = await this.text('HGET', this.store.keys.opportunities, opportunity)
    return round === null ? null : decodeRecord<LastRound>(round)
  }

  async live(): Promise<readonly Workflow[]> {
    const live = await this.many(await this.texts('HKEYS', this.store.keys.brief))
    return live.toSorted((one, other) => one.createdAtMs - other.createdAtMs)
  }

  async list(limit: number): Promise<readonly Workflow[]> {
    const newest = await this.#everyRole((role) =>
      this.texts('ZREVRANGE', this.store.keys.role(role), 0, limit - 1, 'WITHSCORES'),
    )
    const rows = newest.flatMap((flat) =>
      flat.flatMap((id, index) => (index % 2 === 0 ? [{ id, atMs: Number(flat[index + 1]) }] : [])),
    )
    const ids = rows.toSorted((one, other) => other.atMs - one.atMs).slice(0, limit)
    return this.many(ids.map(({ id }) => id))
  }

  async #everyRole<T>(read: (role: Role) => Promise<T>): Promise<readonly T[]> {
    const roles = await this.texts('SMEMBERS', this.store.keys.roles)
    return Promise.all(roles.map(read))
  }

  async shadowed(): Promise<readonly Workflow[]> {
    return this.many(await this.texts('ZRANGE', this.store.keys.shadowed, 0, -1))
  }

  async unmarked(role: Role): Promise<readonly Workflow[]> {
    return this.many(await this.texts('ZRANGE', this.store.keys.undecided(role), 0, -1))
  }

  async newestOf(role: Role, limit: number): Promise<readonly Workflow[]> {
    return this.many(await this.texts('ZREVRANGE', this.store.keys.role(role), 0, limit - 1))
  }

  async transitions(id: string): Promise<readonly Transition[]> {
    const rows = await this.texts('LRANGE', this.store.keys.transitions(id), 0, -1)
    return rows.map((row) => decodeRecord<Transition>(row))
  }

  async nextNonce(chainId: number, signer: Address): Promise<number | null> {
    const next = await this.text('HGET', this.store.keys.nonces(chainId, signer), 'next')
    return next === null ? null : Number(next)
  }

  /** The id of who holds a nonce. */
  protected holderOf(chainId: number, signer: Address, nonce: number): Promise<string | null> {
    return this.text('HGET', this.store.keys.nonces(chainId, signer), nonce)
  }

  async byNonce(chainId: number, signer: Address, nonce: number): Promise<Workflow | 'archived' | null> {
    const counter = this.store.keys.nonces(chainId, signer)
    const [id = '', forgotten = ''] = await this.texts('HMGET', counter, nonce, 'forgotten')
    if (id !== '') return (await this.get(id)) ?? 'archived'
    // What lies below a nonce that ended was taken before it: the chain knows no gaps.
    return nonce < Number(forgotten) ? 'archived' : null
  }

  async ledgerEntry(digest: Hex, signer: Address): Promise<LedgerEntry | null> {
    const fields = fieldsOf({ digest, signer })
    return entryAmong({ digest, signer }, await this.texts('HMGET', this.store.keys.digests, ...fields))
  }

  async reservations(role: Role, sinceMs: number): Promise<readonly Reservation[]> {
    const { keys } = this.store
    const ids = await this.texts('ZRANGEBYSCORE', keys.budgetTimes(role), sinceMs, '+inf')
    const found: Reservation[] = []
    for (let start = 0; start < ids.length; start += 500) {
      const rows = await this.texts('HMGET', keys.budget(role), ...ids.slice(start, start + 500))
      // One that was settled at another time meanwhile is still one of these.
      found.push(...rows.filter((row) => row !== '').map((row) => decodeRecord<Reservation>(row)))
    }
    return found
  }

  async decisions(subjectPart: string, limit: number): Promise<readonly DecisionRow[]> {
    const found = await this.#everyRole((role) => this.#decisionsOf(role, subjectPart.toLowerCase(), limit))
    return found
      .flat()
      .toSorted((one, other) => other.atMs - one.atMs)
      .slice(0, limit)
  }

  async #decisionsOf(role: Role, subjectPart: string, limit: number): Promise<readonly DecisionRow[]> {
    const found: DecisionRow[] = []
    for (let start = 0; found.length < limit; start += DECISIONS_PAGE) {
      const page = await this.texts(
        'LRANGE',
        this.store.keys.decisions(role),
        start,
        start + DECISIONS_PAGE - 1,
      )
      const rows = page.map((row) => decodeRecord<DecisionRow>(row))
      found.push(...rows.filter(({ subject }) => subject.toLowerCase().includes(subjectPart)))
      if (page.length < DECISIONS_PAGE) break
    }
    return found.slice(0, limit)
  }

  async due(nowMs: number, limit: number): Promise<readonly OutboxRow[]> {
    const seats = await this.texts('SMEMBERS', this.store.keys.seats)
    const due = await Promise.all(seats.map((seat) => this.dueOf(seat, nowMs, limit)))
    return due
      .flat()
      .toSorted((one, other) => one.dueAtMs - other.dueAtMs)
      .slice(0, limit)
  }

  /** What is due of one seat, the first first; all of it at an infinite time. */
  protected async dueOf(seat: string, nowMs: number, limit: number): Promise<readonly OutboxRow[]> {
    const { keys } = this.store
    const until = nowMs === Number.POSITIVE_INFINITY ? '+inf' : nowMs
    const range = [keys.outbox(seat), '-inf', until, 'WITHSCORES', 'LIMIT', 0, limit] as const
    const flat = await this.texts('ZRANGEBYSCORE', ...range)
    const hashes = flat.filter((_each, index) => index % 2 === 0)
    if (hashes.length === 0) return []
    const [rows, tries] = await Promise.all([
      this.texts('HMGET', keys.outboxRows(seat), ...hashes),
      this.texts('HMGET', keys.outboxTries(seat), ...hashes),
    ])
    return rows.map((row, index) => ({
      ...decodeRecord<Omit<OutboxRow, 'tries' | 'dueAtMs'>>(row),
      tries: Number(tries[index]?.split(' ')[0] ?? 0),
      dueAtMs: Number(flat[2 * index + 1]),
    }))
  }

  async getValue(key: string): Promise<string | null> {
    return this.text('HGET', this.store.keys.values, key)
  }

  async archivedBy(): Promise<readonly string[]> {
    return (await this.texts('SMEMBERS', this.store.keys.archives)).toSorted()
  }

  async close(): Promise<void> {
    this.store.close()
  }
}
