import type { RolekeeperError } from '../../../errors.ts'
import type { Role } from '../../../service/contract/roles.ts'
import type { JournalReads, Reservation, Spending } from '../../journal.ts'
import { KEPT_MS, RecentReservations } from '../../sqlite/recent-reservations.ts'
import { decodeRecord } from '../../sqlite/records.ts'
import { amnesia } from '../link/faults.ts'
import type { RedisStore } from '../link/store.ts'
import { OF_ALL } from './change.ts'

type SignerReservations = {
  readonly recent: RecentReservations
  readonly gen: string
  readonly runId: string
  revision: string
  /** The last that changed, id to time: as long as they are young, Redis has them. */
  readonly last: Map<string, number>
}

/** So many are asked for again: one alone may have been reserved anew after all others were erased. */
const LAST_MAX = 8

/** The reservations of the last two days, of each role that was asked for: only what changed since is read. */
export class Budgets {
  readonly #store: RedisStore
  readonly #reservations: JournalReads['reservations']
  readonly #byRole = new Map<Role, SignerReservations>()

  constructor(store: RedisStore, reservations: JournalReads['reservations']) {
    this.#store = store
    this.#reservations = reservations
  }

  /** As the journal's `spending`. */
  async spending(role: Role, sinceMs: readonly number[], workflowId: string): Promise<Spending> {
    const { recent, revision } = await this.#read(role)
    // In the turn in which the revision was read; what is read later than that is outdated at worst.
    const rows = recent.sums(role, sinceMs, workflowId)
    return { rows: rows ?? (await this.#reservations(role, Math.min(...sinceMs))), revision }
  }

  /** As the journal's `spending` of all roles. */
  async ofAll(sinceMs: readonly number[], workflowId: string): Promise<Spending> {
    const { keys } = this.#store
    const runId = this.#store.runId()
    // First: rows that are younger than the revision are outdated at worst.
    const { values } = await this.#store.run('spentByAll', [keys.roles], [])
    const [, revision, ...roles] = values.map(String)
    const all = await Promise.all(roles.map((role) => this.spending(role, sinceMs, workflowId)))
    // A replica that was promoted meanwhile may have had other changes by the same number.
    if (runId !== this.#store.runId()) return this.ofAll(sinceMs, workflowId)
    return { rows: all.flatMap(({ rows }) => rows), revision: `${OF_ALL}${revision}` }
  }

  /** Learn what changed of a role's budget, and which revision that is. */
  async #read(role: Role): Promise<SignerReservations> {
    const { keys } = this.#store
    const asked = this.#byRole.get(role) ?? (await this.#load(role))
    const budget = [keys.budget(role), keys.budgetTimes(role), keys.budgetChanges(role)]
    const { code, values } = await this.#store.run('spent', budget, [
      asked.revision,
      ...[...asked.last].flat(),
    ])
    const held = this.#byRole.get(role)
    // A replica that was promoted may have had other changes by the same numbers; and what was known in a generation before
    // this one, a person has seen to.
    const isOther = asked.runId !== this.#store.runId() || asked.gen !== this.#store.known().gen
    if (held !== asked || isOther) {
      if (held === asked) this.#byRole.delete(role)
      return this.#read(role)
    }
    if (code === 'FORGOTTEN') throw forgotten(role, String(values[0]), held)
    const [, revision = '0', ...rows] = values.map(String)
    // Of two that were asked at once, the later answer holds all of the earlier one.
    if (Number(revision) < Number(held.revision)) return held
    for (const row of rows) {
      const reservation = decodeRecord<Reservation>(row)
      held.recent.set(reservation)
      held.last.delete(reservation.workflowId)
      held.last.set(reservation.workflowId, reservation.atMs)
      const [oldest = ''] = held.last.keys()
      if (held.last.size > LAST_MAX) held.last.delete(oldest)
    }
    held.revision = revision
    return held
  }

  async #load(role: Role): Promise<SignerReservations> {
    const { keys } = this.#store
    const [runId, { gen }] = [this.#store.runId(), this.#store.known()]
    const times = listOf(
      await this.#store.read('ZREVRANGE', keys.budgetTimes(role), 0, LAST_MAX - 1, 'WITHSCORES'),
    )
    const newestMs = Number(times[1] ?? 0)
    const last = new Map(
      times.flatMap((id, index) =>
        index % 2 === 1 ? [] : [[String(id), Number(times[index + 1])] as const],
      ),
    )
    // First: what is reserved while the rows are read comes again with what changed since.
    const revision = (await this.#store.read('HGET', keys.budget(role), 'rev')) ?? '0'
    const rows = await this.#reservations(role, newestMs - KEPT_MS)
    const held = { recent: new RecentReservations(rows), gen, runId, revision: String(revision), last }
    this.#byRole.set(role, held)
    return held
  }
}

/** Said once: the rows in memory count on until the term ends, beside those that Redis has from now on. */
function forgotten(role: Role, workflowId: string, held: SignerReservations): RolekeeperError {
  held.revision = '0'
  held.last.clear()
  const seen = `nothing is left of what workflow ${workflowId} reserved`
  return amnesia({ seen, expected: `it is in the budget of the ${role}`, gen: held.gen })
}

const listOf = (reply: unknown): readonly unknown[] => (Array.isArray(reply) ? reply : [])
