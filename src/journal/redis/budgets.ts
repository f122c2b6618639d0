import type { Role } from '../../service/contract/roles.ts'
import type { Reservation, Spending } from '../journal.ts'
import { RecentReservations } from '../recent-reservations.ts'
import { decodeRecord } from '../records.ts'
import type { RedisStore } from './store.ts'

type Held = { readonly recent: RecentReservations; revision: string }

/** The reservations of the last two days, of each role that was asked for: only what changed since is read. */
export class Budgets {
  readonly #store: RedisStore
  readonly #byRole = new Map<Role, Held>()

  constructor(store: RedisStore) {
    this.#store = store
  }

  /** As the journal's `spending`; no rows where what is held does not go back far enough. */
  async spending(
    role: Role,
    sinceMs: readonly number[],
    workflowId: string,
  ): Promise<{ readonly rows: Spending['rows'] | null; readonly revision: string }> {
    const { recent, revision } = await this.#read(role)
    // In the turn in which the revision was read.
    return { rows: recent.sums(role, sinceMs, workflowId), revision }
  }

  /** Learn what changed of a role's budget, and which revision that is. */
  async #read(role: Role): Promise<Held> {
    const { keys } = this.#store
    const asked = this.#byRole.get(role)?.revision ?? ''
    const budget = [keys.budget(role), keys.budgetTimes(role), keys.budgetChanges(role)]
    const { values } = await this.#store.run('spent', budget, [asked])
    const [, revision = '0', ...rows] = values.map(String)
    const held = this.#byRole.get(role)
    // Of two that were asked at once, the later answer holds all of the earlier one.
    if (held !== undefined && Number(revision) < Number(held.revision)) return held
    const changed = rows.map((row) => decodeRecord<Reservation>(row))
    if (held === undefined) {
      const fresh = { recent: new RecentReservations(changed), revision }
      this.#byRole.set(role, fresh)
      return fresh
    }
    for (const row of changed) held.recent.set(row)
    held.revision = revision
    return held
  }
}
