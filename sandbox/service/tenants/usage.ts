import type { Clock } from '../../../src/clock.ts'
import type { OperationId } from '../../../src/service/contract/operations.ts'
import type { Freshness } from '../../../src/service/contract/resources.ts'
import { applicationOf } from '../http/access.ts'
import type { Handlers } from '../http/handler.ts'
import { type Cursors, page } from '../http/page.ts'
import type { Store } from '../store.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS usage (
  application_id TEXT NOT NULL, day TEXT NOT NULL, operation TEXT NOT NULL, requests INTEGER NOT NULL,
  failures INTEGER NOT NULL, PRIMARY KEY (application_id, day, operation)) STRICT;
`

/** Source: service API, "Limits", usage window; today is one of them. */
const DAYS = 30
const DAY_MS = 86_400_000
/** So many requests are counted in memory before they are written: the most that the death of the process loses. */
const COUNTED_MAX = 256

/** How often an application used each operation. */
export type Usage = {
  readonly count: (applicationId: string, operation: OperationId, failed: boolean) => void
  /** Write what is counted so far. */
  readonly flush: () => void
  readonly rows: (applicationId: string) => readonly UsageRow[]
}

type UsageRow = {
  readonly day: string
  readonly operation: string
  readonly requests: number
  readonly failures: number
}

/** Count in the store, over 30 days (UTC). */
export function createUsage(store: Store, clock: Clock): Usage {
  const { db } = store
  db.exec(SCHEMA)
  const add = db.prepare(
    `INSERT INTO usage VALUES (?, ?, ?, ?, ?) ON CONFLICT (application_id, day, operation)
     DO UPDATE SET requests = requests + excluded.requests, failures = failures + excluded.failures`,
  )
  const purge = db.prepare('DELETE FROM usage WHERE day < ?')
  const rows = db.prepare(
    'SELECT day, operation, requests, failures FROM usage WHERE application_id = ? AND day >= ?',
  )
  const counts = new Map<
    string,
    { key: readonly [string, string, string]; requests: number; failures: number }
  >()
  let counted = 0
  const dayAgo = (days: number) => new Date(clock.nowMs() - days * DAY_MS).toISOString().slice(0, 10)

  function flush(): void {
    if (counted === 0) return
    store.atomically(() => {
      for (const { key, requests, failures } of counts.values()) add.run(...key, requests, failures)
      purge.run(dayAgo(DAYS - 1))
    })
    counts.clear()
    counted = 0
  }
  return {
    count: (applicationId, operation, failed) => {
      const key = [applicationId, dayAgo(0), operation] as const
      const name = key.join(' ')
      const count = counts.get(name) ?? { key, requests: 0, failures: 0 }
      count.requests += 1
      count.failures += failed ? 1 : 0
      counts.set(name, count)
      counted += 1
      if (counted >= COUNTED_MAX) flush()
    },
    flush,
    rows: (applicationId) => {
      flush()
      return rows.all(applicationId, dayAgo(DAYS - 1)).map((row) => ({
        day: String(row.day),
        operation: String(row.operation),
        requests: Number(row.requests),
        failures: Number(row.failures),
      }))
    },
  }
}

/** GET /v1/usage, oldest day first. */
export const usageOperations = (usage: Usage, cursors: Cursors, freshness: () => Freshness) =>
  ({
    listUsage: (call) => {
      const applicationId = applicationOf(call.caller)
      const rows = usage.rows(applicationId)
      const keyOf = (row: UsageRow) => `${row.day} ${row.operation}`
      return page(call, cursors, { name: `usage ${applicationId}`, rows, keyOf }, freshness())
    },
  }) satisfies Partial<Handlers>
