import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { newToken, type Store } from '../store.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS webhook_endpoints (
  id TEXT PRIMARY KEY, application_id TEXT NOT NULL, url TEXT NOT NULL, event_types TEXT NOT NULL,
  status TEXT NOT NULL, secret BLOB NOT NULL, place INTEGER NOT NULL, created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS webhook_endpoints_application ON webhook_endpoints (application_id, id);
`

/** A receiver of an application. */
export type WebhookEndpoint = {
  readonly id: string
  readonly applicationId: string
  readonly url: string
  /** Empty means every type. */
  readonly eventTypes: readonly string[]
  readonly status: 'enabled' | 'disabled'
  /** Signs its deliveries; sealed on disk. */
  readonly secret: string
  /** The place in the event log up to which its deliveries were made. */
  readonly place: number
  readonly createdMs: number
  readonly updatedMs: number
}

/** What an application says of a receiver. */
export type EndpointChoice = Pick<WebhookEndpoint, 'url' | 'eventTypes' | 'status'>

/** Receivers on disk. Writes are made inside the caller's transaction. */
export type EndpointRows = {
  readonly insert: (endpoint: WebhookEndpoint) => void
  readonly find: (id: string) => WebhookEndpoint | null
  readonly ofApplication: (applicationId: string) => readonly WebhookEndpoint[]
  readonly enabled: () => readonly WebhookEndpoint[]
  readonly update: (id: string, choice: EndpointChoice & { place: number }, nowMs: number) => void
  readonly moveTo: (id: string, place: number) => void
  /** Forget the receivers of an application. */
  readonly forget: (applicationId: string) => void
}

/** Draw a new receiver with its signing secret. */
export const newEndpoint = (
  applicationId: string,
  choice: EndpointChoice,
  place: number,
  nowMs: number,
): WebhookEndpoint => ({
  id: `whe_${randomUUID()}`,
  applicationId,
  ...choice,
  secret: newToken('whsec'),
  place,
  createdMs: nowMs,
  updatedMs: nowMs,
})

/** Open the receivers in the store. */
export function createEndpointRows(store: Store): EndpointRows {
  const { db } = store
  db.exec(SCHEMA)
  const insert = db.prepare('INSERT INTO webhook_endpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const find = db.prepare('SELECT * FROM webhook_endpoints WHERE id = ?')
  const ofApplication = db.prepare('SELECT * FROM webhook_endpoints WHERE application_id = ?')
  const enabled = db.prepare("SELECT * FROM webhook_endpoints WHERE status = 'enabled'")
  const update = db.prepare(
    'UPDATE webhook_endpoints SET url = ?, event_types = ?, status = ?, place = ?, updated_ms = ? WHERE id = ?',
  )
  const move = db.prepare('UPDATE webhook_endpoints SET place = ? WHERE id = ?')
  const forget = db.prepare('DELETE FROM webhook_endpoints WHERE application_id = ?')
  const endpoint = (row: Record<string, unknown>): WebhookEndpoint => ({
    id: String(row.id),
    applicationId: String(row.application_id),
    url: String(row.url),
    eventTypes: z.array(z.string()).parse(JSON.parse(String(row.event_types))),
    status: z.enum(['enabled', 'disabled']).parse(row.status),
    secret: store.open(z.instanceof(Uint8Array).parse(row.secret)),
    place: Number(row.place),
    createdMs: Number(row.created_ms),
    updatedMs: Number(row.updated_ms),
  })
  return {
    insert: (e) => {
      const secret = store.seal(e.secret)
      const types = JSON.stringify(e.eventTypes)
      insert.run(
        ...[e.id, e.applicationId, e.url, types, e.status, secret, e.place, e.createdMs, e.updatedMs],
      )
    },
    find: (id) => {
      const row = find.get(id)
      return row === undefined ? null : endpoint(row)
    },
    ofApplication: (applicationId) => ofApplication.all(applicationId).map(endpoint),
    enabled: () => enabled.all().map(endpoint),
    update: (id, { url, eventTypes, status, place }, nowMs) => {
      update.run(url, JSON.stringify(eventTypes), status, place, nowMs, id)
    },
    moveTo: (id, place) => {
      move.run(place, id)
    },
    forget: (applicationId) => {
      forget.run(applicationId)
    },
  }
}
