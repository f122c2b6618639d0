import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Role } from '../../../service/contract/roles.ts'
import type { LastRound } from '../../../workflow/round.ts'
import type { Workflow } from '../../../workflow/workflow.ts'
import type { DecisionRow, JournalReads, OutboxRow, Reservation, Transition } from '../../journal.ts'
import { decodeRecord } from '../../sqlite/records.ts'
import type { RedisStore } from '../link/store.ts'
import { entryAmong, fieldsOf } from './entries.ts'

/** Records that are read and decoded in one turn of the event loop: about a millisecond. */
const TURN_ROWS = 8
/** Decisions that are read at once, of a role. */
const DECISIONS_PAGE = 1_000

/** A fleet's records as any process reads them, and what the holder of a seat asks of them besides. */
export type RedisReads = JournalReads & {
  /** Read one reply as text. */
  readonly text: (command: string, ...args: readonly (string | number)[]) => Promise<string | null>
  /** Read a reply of many; what is not there is empty. */
  readonly texts: (command: string, ...args: readonly (string | number)[]) => Promise<readonly string[]>
  /** Read workflows in the order of their ids, a few in a turn; one that is gone is left out. */
  readonly many: (ids: readonly string[]) => Promise<readonly Workflow[]>
  /** Find who holds a nonce, and read that workflow by a way of one's own. */
  readonly byNonceWith: (get: JournalReads['get']) => JournalReads['byNonce']
  /** What is due of one seat, the first first; all of it at an infinite time. */
  readonly dueOf: (seat: string, nowMs: number, limit: number) => Promise<readonly OutboxRow[]>
}

/** Read what a fleet's records say. */
export function createRedisReads(store: Pick<RedisStore, 'keys' | 'read' | 'close'>): RedisReads {
  const { keys } = store
  const text: RedisReads['text'] = async (command, ...args) => {
    const reply = await store.read(command, ...args)
    return reply === null || reply === undefined ? null : String(reply)
  }
  const texts: RedisReads['texts'] = async (command, ...args) => {
    const reply = await store.read(command, ...args)
    return Array.isArray(reply) ? reply.map((each) => (each === null ? '' : String(each))) : []
  }
  const get: RedisReads['get'] = async (id) => {
    const body = await text('HGET', keys.workflow(id), 'body')
    return body === null ? null : decodeRecord<Workflow>(body)
  }
  const many: RedisReads['many'] = async (ids) => {
    const found: Workflow[] = []
    for (let start = 0; start < ids.length; start += TURN_ROWS) {
      if (start > 0) await nextTurn()
      const bodies = await Promise.all(ids.slice(start, start + TURN_ROWS).map(get))
      found.push(...bodies.filter((each) => each !== null))
    }
    return found
  }
  const everyRole = async <T>(read: (role: Role) => Promise<T>): Promise<readonly T[]> => {
    const roles = await texts('SMEMBERS', keys.roles)
    return Promise.all(roles.map(read))
  }
  const byNonceWith: RedisReads['byNonceWith'] = (read) => async (chainId, signer, nonce) => {
    const [id = '', forgotten = ''] = await texts('HMGET', keys.nonces(chainId, signer), nonce, 'forgotten')
    if (id !== '') return (await read(id)) ?? 'archived'
    // What lies below a nonce that ended was taken before it: the chain knows no gaps.
    return nonce < Number(forgotten) ? 'archived' : null
  }
  const decisionsOf = async (
    role: Role,
    subjectPart: string,
    limit: number,
  ): Promise<readonly DecisionRow[]> => {
    const found: DecisionRow[] = []
    for (let start = 0; found.length < limit; start += DECISIONS_PAGE) {
      const page = await texts('LRANGE', keys.decisions(role), start, start + DECISIONS_PAGE - 1)
      const rows = page.map((row) => decodeRecord<DecisionRow>(row))
      found.push(...rows.filter(({ subject }) => subject.toLowerCase().includes(subjectPart)))
      if (page.length < DECISIONS_PAGE) break
    }
    return found.slice(0, limit)
  }
  const dueOf: RedisReads['dueOf'] = async (seat, nowMs, limit) => {
    const until = nowMs === Number.POSITIVE_INFINITY ? '+inf' : nowMs
    const range = [keys.outbox(seat), '-inf', until, 'WITHSCORES', 'LIMIT', 0, limit] as const
    const flat = await texts('ZRANGEBYSCORE', ...range)
    const hashes = flat.filter((_each, index) => index % 2 === 0)
    if (hashes.length === 0) return []
    const [rows, tries] = await Promise.all([
      texts('HMGET', keys.outboxRows(seat), ...hashes),
      texts('HMGET', keys.outboxTries(seat), ...hashes),
    ])
    return rows.map((row, index) => ({
      ...decodeRecord<Omit<OutboxRow, 'tries' | 'dueAtMs'>>(row),
      tries: Number(tries[index]?.split(' ')[0] ?? 0),
      dueAtMs: Number(flat[2 * index + 1]),
    }))
  }
  return {
    text,
    texts,
    get,
    many,
    byNonceWith,
    dueOf,
    byOpportunity: async (opportunity) => {
      const round = await text('HGET', keys.opportunities, opportunity)
      return round === null ? null : decodeRecord<LastRound>(round)
    },
    live: async () => {
      const live = await many(await texts('HKEYS', keys.brief))
      return live.toSorted((one, other) => one.createdAtMs - other.createdAtMs)
    },
    list: async (limit) => {
      const newest = await everyRole((role) =>
        texts('ZREVRANGE', keys.role(role), 0, limit - 1, 'WITHSCORES'),
      )
      const rows = newest.flatMap((flat) =>
        flat.flatMap((id, index) => (index % 2 === 0 ? [{ id, atMs: Number(flat[index + 1]) }] : [])),
      )
      const ids = rows.toSorted((one, other) => other.atMs - one.atMs).slice(0, limit)
      return many(ids.map(({ id }) => id))
    },
    shadowed: async () => many(await texts('ZRANGE', keys.shadowed, 0, -1)),
    unmarked: async (role) => many(await texts('ZRANGE', keys.undecided(role), 0, -1)),
    newestOf: async (role, limit) => many(await texts('ZREVRANGE', keys.role(role), 0, limit - 1)),
    transitions: async (id) => {
      const rows = await texts('LRANGE', keys.transitions(id), 0, -1)
      return rows.map((row) => decodeRecord<Transition>(row))
    },
    nextNonce: async (chainId, signer) => {
      const next = await text('HGET', keys.nonces(chainId, signer), 'next')
      return next === null ? null : Number(next)
    },
    byNonce: byNonceWith(get),
    ledgerEntry: async (digest, signer) => {
      const fields = fieldsOf({ digest, signer })
      return entryAmong({ digest, signer }, await texts('HMGET', keys.digests, ...fields))
    },
    reservations: async (role, sinceMs) => {
      const ids = await texts('ZRANGEBYSCORE', keys.budgetTimes(role), sinceMs, '+inf')
      const found: Reservation[] = []
      for (let start = 0; start < ids.length; start += 500) {
        const rows = await texts('HMGET', keys.budget(role), ...ids.slice(start, start + 500))
        // One that was settled at another time meanwhile is still one of these.
        found.push(...rows.filter((row) => row !== '').map((row) => decodeRecord<Reservation>(row)))
      }
      return found
    },
    decisions: async (subjectPart, limit) => {
      const found = await everyRole((role) => decisionsOf(role, subjectPart.toLowerCase(), limit))
      return found
        .flat()
        .toSorted((one, other) => other.atMs - one.atMs)
        .slice(0, limit)
    },
    due: async (nowMs, limit) => {
      const seats = await texts('SMEMBERS', keys.seats)
      const due = await Promise.all(seats.map((seat) => dueOf(seat, nowMs, limit)))
      return due
        .flat()
        .toSorted((one, other) => one.dueAtMs - other.dueAtMs)
        .slice(0, limit)
    },
    getValue: (key) => text('HGET', keys.values, key),
    archivedBy: async () => (await texts('SMEMBERS', keys.archives)).toSorted(),
    close: async () => store.close(),
  }
}
