import type { Role } from '../../service/contract/roles.ts'
import { addUsed, type UseTotals } from '../../workflow/uses.ts'
import type { Reservation, Spent } from '../journal.ts'
import type { Records } from './records.ts'

/** Reservations of so long are held: budgets look back a day, and what is older is left to the records. */
export const KEPT_MS = 2 * 86_400_000
const MINUTE_MS = 60_000
/** Old ones that leave as one comes: after a quiet day a hundred thousand would hold the event loop for 70 ms. */
const LEAVE_MAX = 8

/** The reservations of one minute. Those that reverted or are in shadow are added up with no other. */
type Minute = {
  readonly rows: Map<string, Reservation>
  readonly apart: Map<string, Reservation>
  /** By what they are counted by: the signer, the token that left, and whether a person approved. */
  readonly sums: Map<string, Sum>
}

/** What it used is added up in place: a minute of a thousand workflows names thousands of borrowers. */
type Sum = Spent & { readonly used: Map<string, UseTotals> }

type SignerReservations = { readonly rows: Map<string, Reservation>; readonly minutes: Map<number, Minute> }

/** The reservations of the last two days, decoded: every claim asks for those of its role. */
export class RecentReservations {
  readonly #byRole = new Map<Role, SignerReservations>()
  readonly #revisions = new Map<Role, number>()
  /** How often anything was reserved, whatever the role. */
  #changes = 0
  /** Everything from here on is held. */
  #sinceMs: number

  /** `rows` are all of two days up to the newest, oldest first. */
  constructor(rows: readonly Reservation[]) {
    this.#sinceMs = (rows.at(-1)?.atMs ?? 0) - KEPT_MS
    for (const row of rows) this.set(row)
  }

  set(row: Reservation): void {
    const held: SignerReservations = this.#byRole.get(row.role) ?? { rows: new Map(), minutes: new Map() }
    this.#byRole.set(row.role, held)
    const { rows, minutes } = held
    this.#revisions.set(row.role, (this.#revisions.get(row.role) ?? 0) + 1)
    this.#changes += 1
    const before = rows.get(row.workflowId)
    if (before !== undefined) remove(minutes, before)
    rows.set(row.workflowId, row)
    add(minutes, row)
    const oldMs = row.atMs - KEPT_MS
    let left = 0
    for (const [id, old] of rows) {
      if (old.atMs >= oldMs || left === LEAVE_MAX) break
      left += 1
      rows.delete(id)
      remove(minutes, old)
      this.#sinceMs = Math.max(this.#sinceMs, old.atMs + 1)
    }
  }

  /** What of a role's, or of all, a sum is of: another with each reservation. */
  revisionOf(role: Role | null): string {
    return role === null ? `all ${this.#changes}` : String(this.#revisions.get(role) ?? 0)
  }

  /** Whether nothing was reserved since a revision, of a role's or of all. */
  isNewest(role: Role, revision: string): boolean {
    return revision === this.revisionOf(role) || revision === this.revisionOf(null)
  }

  /** Those of a role since a time; null where they are not all held. */
  since(role: Role, sinceMs: number): readonly Reservation[] | null {
    if (sinceMs < this.#sinceMs) return null
    const rows: Reservation[] = []
    for (const row of this.#byRole.get(role)?.rows.values() ?? []) if (row.atMs >= sinceMs) rows.push(row)
    return rows
  }

  /**
   * Those of a role, or of all (null), since the first of these times. A minute that none of the times is in, nor the workflow, is one row;
   * what has to be seen by itself is not in it. Null where they are not all held.
   */
  sums(role: Role | null, timesMs: readonly number[], workflowId: string): readonly Spent[] | null {
    const sinceMs = Math.min(...timesMs)
    if (sinceMs < this.#sinceMs) return null
    if (role === null) {
      return [...this.#byRole.keys()].flatMap((each) => this.sums(each, timesMs, workflowId) ?? [])
    }
    const found: Spent[] = []
    for (const [startMs, { rows, apart, sums }] of this.#byRole.get(role)?.minutes ?? []) {
      const endMs = startMs + MINUTE_MS
      if (endMs <= sinceMs) continue
      const isWhole = !rows.has(workflowId) && timesMs.every((atMs) => atMs < startMs || atMs >= endMs)
      if (isWhole) found.push(...sums.values(), ...apart.values())
      else for (const row of rows.values()) if (row.atMs >= sinceMs) found.push(row)
    }
    return found
  }
}

/** Read the reservations that are held of records. */
export function readRecent(records: Pick<Records, 'rows' | 'bodies'>): readonly Reservation[] {
  const [newest] = records.rows('SELECT max(at_ms) AS at_ms FROM reservations')
  const sql = 'SELECT body FROM reservations WHERE at_ms >= ? ORDER BY at_ms'
  return records.bodies(sql, Number(newest?.at_ms ?? 0) - KEPT_MS)
}

const startOf = ({ atMs }: Reservation): number => Math.floor(atMs / MINUTE_MS) * MINUTE_MS

const isApart = ({ reverted, shadow }: Reservation): boolean => reverted || shadow === true

function add(minutes: Map<number, Minute>, row: Reservation): void {
  const startMs = startOf(row)
  const minute: Minute = minutes.get(startMs) ?? { rows: new Map(), apart: new Map(), sums: new Map() }
  minutes.set(startMs, minute)
  minute.rows.set(row.workflowId, row)
  if (isApart(row)) minute.apart.set(row.workflowId, row)
  else addTo(minute.sums, row, startMs, 1n)
}

function remove(minutes: Map<number, Minute>, row: Reservation): void {
  const startMs = startOf(row)
  const minute = minutes.get(startMs)
  if (minute === undefined) return
  minute.rows.delete(row.workflowId)
  if (isApart(row)) minute.apart.delete(row.workflowId)
  else addTo(minute.sums, row, startMs, -1n)
  if (minute.rows.size === 0) minutes.delete(startMs)
}

/** Add a row to the sum of its kind, or take it from there with a sign of -1. */
function addTo(sums: Map<string, Sum>, row: Reservation, startMs: number, sign: 1n | -1n): void {
  const { role, signer, out, approved } = row
  const key = `${signer ?? ''} ${approved === true} ${out?.token ?? ''}`
  const sum = sums.get(key)
  const used = sum?.used ?? new Map<string, UseTotals>()
  addUsed(used, row, sign)
  sums.set(key, {
    workflowId: '',
    role,
    ...(signer === undefined ? {} : { signer }),
    atMs: startMs,
    reverted: false,
    used,
    usdMicros: (sum?.usdMicros ?? 0n) + sign * row.usdMicros,
    gasWei: (sum?.gasWei ?? 0n) + sign * row.gasWei,
    ...(out === undefined ? {} : { out: { ...out, assets: (sum?.out?.assets ?? 0n) + sign * out.assets } }),
    ...(approved === true ? { approved } : {}),
  })
}
