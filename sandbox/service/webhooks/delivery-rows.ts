import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Store } from '../store.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS webhook_deliveries (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, endpoint_id TEXT NOT NULL,
  application_id TEXT NOT NULL, event_id TEXT NOT NULL, event_type TEXT NOT NULL, subject TEXT NOT NULL,
  envelope TEXT NOT NULL, status TEXT NOT NULL, attempts INTEGER NOT NULL, response_status INTEGER,
  created_ms INTEGER NOT NULL, last_attempt_ms INTEGER, next_attempt_ms INTEGER, replay_of TEXT,
  original_ms INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS webhook_deliveries_status ON webhook_deliveries (status);
CREATE INDEX IF NOT EXISTS webhook_deliveries_application ON webhook_deliveries (application_id, number);
`

const status = z.enum(['pending', 'retrying', 'delivered', 'dead_letter'])
const instant = z.number().int().nullable()

/** One event on its way to one receiver. */
export type WebhookDelivery = {
  readonly id: string
  readonly endpointId: string
  readonly applicationId: string
  readonly eventId: string
  readonly eventType: string
  /** The entity key: deliveries of one subject to one receiver keep their order. */
  readonly subject: string
  /** The exact bytes that are signed and sent. */
  readonly envelope: string
  /** `dead_letter` is kept for replay, and not tried again by itself. */
  readonly status: z.infer<typeof status>
  readonly attempts: number
  /** Of the last attempt; null when nobody answered. */
  readonly responseStatus: number | null
  readonly createdMs: number
  readonly lastAttemptMs: number | null
  readonly nextAttemptMs: number | null
  readonly replayOf: string | null
  /** When the first delivery of the chain of replays was made. */
  readonly originalMs: number
}

/** Deliveries on disk. Writes are made inside the caller's transaction. */
export type DeliveryRows = {
  readonly insert: (delivery: WebhookDelivery) => void
  readonly find: (id: string) => WebhookDelivery | null
  /** An application's deliveries, each with its number: the newest has the highest. */
  readonly ofApplication: (applicationId: string) => readonly (WebhookDelivery & { number: number })[]
  /** What still has to be tried, oldest first. */
  readonly open: () => readonly WebhookDelivery[]
  readonly settle: (delivery: WebhookDelivery) => void
  /** Forget what is older than `beforeMs` and all but the newest {@link KEPT_MAX}, unless it is still to be tried. */
  readonly trim: (beforeMs: number) => void
  /** Forget the deliveries of an application. */
  readonly forget: (applicationId: string) => void
}

/** Of all applications; a sandbox that runs for a month does not fill the disk. */
const KEPT_MAX = 10_000

/** Draw a new delivery, due at once. */
export const newDelivery = (
  from: Pick<
    WebhookDelivery,
    'endpointId' | 'applicationId' | 'eventId' | 'eventType' | 'subject' | 'envelope'
  >,
  nowMs: number,
): WebhookDelivery => ({
  ...from,
  id: `dlv_${randomUUID()}`,
  status: 'pending',
  attempts: 0,
  responseStatus: null,
  createdMs: nowMs,
  lastAttemptMs: null,
  nextAttemptMs: nowMs,
  replayOf: null,
  originalMs: nowMs,
})

/** Open the deliveries in the store. */
export function createDeliveryRows(store: Store): DeliveryRows {
  const { db } = store
  db.exec(SCHEMA)
  const insert = db.prepare(
    `INSERT INTO webhook_deliveries (id, endpoint_id, application_id, event_id, event_type, subject, envelope, status,
     attempts, response_status, created_ms, last_attempt_ms, next_attempt_ms, replay_of, original_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const find = db.prepare('SELECT * FROM webhook_deliveries WHERE id = ?')
  const ofApplication = db.prepare('SELECT * FROM webhook_deliveries WHERE application_id = ?')
  const open = db.prepare(
    "SELECT * FROM webhook_deliveries WHERE status IN ('pending', 'retrying') ORDER BY number",
  )
  const settle = db.prepare(
    `UPDATE webhook_deliveries SET status = ?, attempts = ?, response_status = ?, last_attempt_ms = ?,
     next_attempt_ms = ? WHERE id = ?`,
  )
  const trim = db.prepare(
    `DELETE FROM webhook_deliveries WHERE status IN ('delivered', 'dead_letter')
     AND (created_ms < ? OR number <= (SELECT max(number) FROM webhook_deliveries) - ${KEPT_MAX})`,
  )
  const forget = db.prepare('DELETE FROM webhook_deliveries WHERE application_id = ?')
  return {
    insert: (d) => {
      const event = [d.eventId, d.eventType, d.subject, d.envelope, d.status, d.attempts, d.responseStatus]
      const times = [d.createdMs, d.lastAttemptMs, d.nextAttemptMs]
      insert.run(...[d.id, d.endpointId, d.applicationId, ...event, ...times, d.replayOf, d.originalMs])
    },
    find: (id) => {
      const row = find.get(id)
      return row === undefined ? null : delivery(row)
    },
    ofApplication: (applicationId) =>
      ofApplication.all(applicationId).map((row) => ({ ...delivery(row), number: Number(row.number) })),
    open: () => open.all().map(delivery),
    settle: (d) => {
      settle.run(d.status, d.attempts, d.responseStatus, d.lastAttemptMs, d.nextAttemptMs, d.id)
    },
    trim: (beforeMs) => {
      trim.run(beforeMs)
    },
    forget: (applicationId) => {
      forget.run(applicationId)
    },
  }
}

const delivery = (row: Record<string, unknown>): WebhookDelivery => ({
  id: String(row.id),
  endpointId: String(row.endpoint_id),
  applicationId: String(row.application_id),
  eventId: String(row.event_id),
  eventType: String(row.event_type),
  subject: String(row.subject),
  envelope: String(row.envelope),
  status: status.parse(row.status),
  attempts: Number(row.attempts),
  responseStatus: instant.parse(row.response_status),
  createdMs: Number(row.created_ms),
  lastAttemptMs: instant.parse(row.last_attempt_ms),
  nextAttemptMs: instant.parse(row.next_attempt_ms),
  replayOf: row.replay_of === null ? null : String(row.replay_of),
  originalMs: Number(row.original_ms),
})
