import type { Role } from '../service/contract/roles.ts'
import type { Reservation } from './journal.ts'
import type { Records } from './records.ts'

/** Budgets look back a day; what is older is left to the records. */
const KEPT_MS = 2 * 86_400_000

/** The reservations of the last two days, decoded: every claim asks for those of its role. */
export class RecentReservations {
  readonly #byRole = new Map<Role, Map<string, Reservation>>()
  /** Everything from here on is held. */
  #sinceMs: number

  constructor(records: Records) {
    const [newest] = records.rows('SELECT max(at_ms) AS at_ms FROM reservations')
    this.#sinceMs = Number(newest?.at_ms ?? 0) - KEPT_MS
    const sql = 'SELECT body FROM reservations WHERE at_ms >= ? ORDER BY at_ms'
    for (const row of records.bodies<Reservation>(sql, this.#sinceMs)) this.set(row)
  }

  set(row: Reservation): void {
    const rows = this.#byRole.get(row.role) ?? new Map<string, Reservation>()
    this.#byRole.set(row.role, rows)
    rows.set(row.workflowId, row)
    const oldMs = row.atMs - KEPT_MS
    for (const [id, { atMs }] of rows) {
      if (atMs >= oldMs) break
      rows.delete(id)
      this.#sinceMs = Math.max(this.#sinceMs, atMs + 1)
    }
  }

  /** Those of a role since a time; null where they are not all held. */
  since(role: Role, sinceMs: number): readonly Reservation[] | null {
    if (sinceMs < this.#sinceMs) return null
    const rows: Reservation[] = []
    for (const row of this.#byRole.get(role)?.values() ?? []) if (row.atMs >= sinceMs) rows.push(row)
    return rows
  }
}
