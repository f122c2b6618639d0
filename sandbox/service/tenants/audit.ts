import type { Clock } from '../../../src/clock.ts'
import { QUERY } from '../../../src/service/contract/assumptions.ts'
import type { Freshness } from '../../../src/service/contract/resources.ts'
import { applicationOf } from '../http/access.ts'
import type { Handlers } from '../http/handler.ts'
import { type Cursors, one, page, pageSize } from '../http/page.ts'
import type { Store } from '../store.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS audit (
  number INTEGER PRIMARY KEY AUTOINCREMENT, application_id TEXT NOT NULL, action TEXT NOT NULL,
  actor TEXT NOT NULL, target TEXT, request_id TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS audit_application ON audit (application_id, number);
`

/** Of each application; a keeper that prepares a workflow a second fills it in hours. */
const ENTRIES_MAX = 10_000
/** The rest is dropped once in so many entries: a look for the oldest costs more than an insert. */
const TRIM_EVERY = 256

/** One state-changing call that was performed. `actor` is a caller's id, `target` the id of what was changed. */
type AuditEntry = {
  readonly applicationId: string
  readonly action: string
  readonly actor: string
  readonly target: string | null
  readonly requestId: string
}

/** What each application changed; the newest 10,000 entries of each. */
export type Audit = {
  /** Called inside the transaction that commits the effect. */
  readonly record: (entry: AuditEntry) => void
  /** Newest first: those with a number below `before`. */
  readonly list: (applicationId: string, before: number, limit: number) => readonly AuditRow[]
}

type AuditRow = AuditEntry & { readonly id: string; readonly occurredAt: string }

/** Open the audit log in the store. */
export function createAudit({ db }: Store, clock: Clock): Audit {
  db.exec(SCHEMA)
  const insert = db.prepare(
    `INSERT INTO audit (application_id, action, actor, target, request_id, at_ms) VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const trim = db.prepare(
    `DELETE FROM audit WHERE application_id = ?1 AND number <= (
       SELECT number FROM audit WHERE application_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)`,
  )
  const list = db.prepare(
    'SELECT * FROM audit WHERE application_id = ? AND number < ? ORDER BY number DESC LIMIT ?',
  )
  return {
    record: ({ applicationId, action, actor, target, requestId }) => {
      const { lastInsertRowid } = insert.run(applicationId, action, actor, target, requestId, clock.nowMs())
      if (Number(lastInsertRowid) % TRIM_EVERY === 0) trim.run(applicationId, ENTRIES_MAX)
    },
    list: (applicationId, before, limit) =>
      list.all(applicationId, before, limit).map((row) => ({
        id: `aud_${row.number}`,
        applicationId,
        action: String(row.action),
        actor: String(row.actor),
        target: row.target === null ? null : String(row.target),
        requestId: String(row.request_id),
        occurredAt: new Date(Number(row.at_ms)).toISOString(),
      })),
  }
}

/** GET /v1/audit-log, newest first. */
export const auditOperations = (audit: Audit, cursors: Cursors, freshness: () => Freshness) =>
  ({
    listAuditLog: (call) => {
      const applicationId = applicationOf(call.caller)
      const name = `audit ${applicationId}`
      const cursor = one(call, QUERY.cursor)
      // Ascending in the page's key is descending in the number.
      const after = cursor === undefined ? 0 : Number(cursors.read(name, cursor))
      const rows = audit.list(applicationId, Number.MAX_SAFE_INTEGER - after, pageSize(call) + 1)
      const keyOf = ({ id }: AuditRow) => String(Number.MAX_SAFE_INTEGER - Number(id.slice('aud_'.length)))
      return page(call, cursors, { name, rows, keyOf }, freshness())
    },
  }) satisfies Partial<Handlers>
