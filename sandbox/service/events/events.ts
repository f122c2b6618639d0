import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../src/clock.ts'
import { QUERY } from '../../../src/service/contract/assumptions.ts'
import type { Freshness } from '../../../src/service/contract/resources.ts'
import { applicationOf } from '../http/access.ts'
import { ApiError } from '../http/api-error.ts'
import type { EventDraft, Handlers } from '../http/handler.ts'
import { type Cursors, one, pageSize } from '../http/page.ts'
import type { Store } from '../store.ts'

/** An event as it is served; `envelope` is its JSON, `seq` its place in the log. */
export type LoggedEvent = {
  readonly seq: number
  readonly type: string
  readonly subject: string
  /** Null is everybody's. */
  readonly applicationId: string | null
  readonly envelope: string
}

/** Whether an application may get an event. Pure. */
export const mayHear = (event: LoggedEvent, applicationId: string): boolean =>
  event.applicationId === null || event.applicationId === applicationId

/** The events of the service in order, kept on disk, the newest 10,000. */
export type EventLog = {
  /** Record events and `alongside` in one transaction, then notify the listeners. */
  readonly append: (drafts: readonly EventDraft[], alongside?: () => void) => void
  /** Up to `limit` events after a place, oldest first. */
  readonly after: (seq: number, limit: number) => readonly LoggedEvent[]
  /** The place of the newest event; 0 before the first. */
  readonly head: () => number
  /** Resuming after this place misses nothing; from before it, it would. */
  readonly floor: () => number
  readonly onAppend: (listener: (events: readonly LoggedEvent[]) => void) => void
}

const EVENTS_MAX = 10_000

/** The name of the events' cursors, for polling and stream alike. */
const COLLECTION = 'events'

/** Open the log in the store. */
export function createEventLog(store: Store, clock: Clock): EventLog {
  const { db } = store
  const insert = db.prepare(
    'INSERT INTO events (type, subject, application_id, envelope) VALUES (?, ?, ?, ?)',
  )
  const trim = db.prepare('DELETE FROM events WHERE seq <= ?')
  const after = db.prepare('SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?')
  const newest = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'events'").get()
  const listeners: ((events: readonly LoggedEvent[]) => void)[] = []
  let head = Number(newest?.seq ?? 0)
  return {
    append: (drafts, alongside) => {
      if (drafts.length === 0 && alongside === undefined) return
      const occurredAt = new Date(clock.nowMs()).toISOString()
      const events: LoggedEvent[] = []
      store.atomically(() => {
        alongside?.()
        for (const { type, subject, data, applicationId = null } of drafts) {
          const envelope = JSON.stringify({
            id: `evt_${randomUUID()}`,
            type,
            schemaVersion: 1,
            occurredAt,
            subject,
            data,
          })
          const seq = Number(insert.run(type, subject, applicationId, envelope).lastInsertRowid)
          events.push({ seq, type, subject, applicationId, envelope })
        }
        trim.run((events.at(-1)?.seq ?? 0) - EVENTS_MAX)
      })
      head = events.at(-1)?.seq ?? head
      for (const listener of listeners) listener(events)
    },
    after: (seq, limit) =>
      after.all(seq, limit).map((row) => ({
        seq: Number(row.seq),
        type: String(row.type),
        subject: String(row.subject),
        applicationId: row.application_id === null ? null : String(row.application_id),
        envelope: String(row.envelope),
      })),
    head: () => head,
    floor: () => Math.max(0, head - EVENTS_MAX),
    onAppend: (listener) => {
      listeners.push(listener)
    },
  }
}

/** Write the cursor that resumes after a place in the log. Pure. */
export const eventCursor = (cursors: Cursors, seq: number) => cursors.write(COLLECTION, String(seq))

/**
 * Read a cursor as a place in the log. Throws ApiError 400 `invalid_cursor` when it is not ours or lies ahead of the
 * log, `cursor_expired` when events after it are no longer kept.
 */
export function eventPlace(cursors: Cursors, log: EventLog, cursor: string): number {
  const seq = Number(cursors.read(COLLECTION, cursor))
  if (seq > log.head()) throw new ApiError(400, 'invalid_cursor', 'The cursor lies ahead of the log.')
  if (seq < log.floor())
    throw new ApiError(400, 'cursor_expired', 'Events after this cursor are no longer kept.')
  return seq
}

/**
 * GET /v1/events: oldest first, from the oldest kept when no cursor is given. `nextCursor` is always there: it resumes
 * after what was shown, also when nothing was.
 */
export function eventPolling(log: EventLog, cursors: Cursors, freshness: () => Freshness) {
  return {
    pollEvents: (call) => {
      const size = pageSize(call)
      const cursor = one(call, QUERY.cursor)
      const from = cursor === undefined ? log.floor() : eventPlace(cursors, log, cursor)
      const events = log.after(from, size)
      const mine = events.filter((event) => mayHear(event, applicationOf(call.caller)))
      const last = events.at(-1)?.seq ?? from
      return {
        items: mine.map(({ seq, envelope }) => ({
          cursor: eventCursor(cursors, seq),
          event: JSON.parse(envelope),
        })),
        pageInfo: { hasMore: last < log.head(), nextCursor: eventCursor(cursors, last) },
        freshness: freshness(),
      }
    },
  } satisfies Partial<Handlers>
}
