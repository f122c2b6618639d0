import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { RolekeeperError } from '../errors.ts'

/** A write that no barrier follows is on disk after this long. */
const LAZY_COMMIT_MS = 200

type Waiter = { readonly resolve: () => void; readonly reject: (cause: unknown) => void }

/**
 * The records of one SQLite database, and its commits: a change is visible at once, and every change of one turn of the
 * event loop shares the fsync of the next barrier.
 */
export class Records {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #open = false
  #scheduled = false
  #lazy: NodeJS.Timeout | undefined
  #waiters: Waiter[] = []
  /** Set once a commit failed: what was written since the one before is gone, though callers went on with it. */
  #failure: RolekeeperError | undefined

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** Run a statement that writes, inside `change`. @returns how many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /** Read rows as they are. */
  rows(sql: string, ...values: SQLInputValue[]): ReturnType<StatementSync['all']> {
    return this.#statement(sql).all(...values)
  }

  /** Read the records that a statement selects as `body`. */
  bodies<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.rows(sql, ...values).map((row) => decodeRecord<T>(String(row.body)))
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  /** Run one caller's statements all or not at all, inside the transaction that the next commit ends. */
  change<T>(work: () => T): T {
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#open) {
      this.#db.exec('BEGIN IMMEDIATE')
      this.#open = true
    }
    this.#lazy ??= setTimeout(() => this.#commit(), LAZY_COMMIT_MS)
    this.#db.exec('SAVEPOINT change')
    try {
      const result = work()
      this.#db.exec('RELEASE change')
      return result
    } catch (error) {
      this.#db.exec('ROLLBACK TO change; RELEASE change')
      throw error
    }
  }

  /** Resolve when everything written so far is on disk. */
  async barrier(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#open) return
    await new Promise<void>((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      // All callers of this turn share one fsync.
      if (!this.#scheduled) {
        this.#scheduled = true
        setImmediate(() => this.#commit())
      }
    })
  }

  /** Commit what is open, and close the database. */
  close(): void {
    this.#commit()
    this.#db.close()
  }

  #commit(): void {
    clearTimeout(this.#lazy)
    this.#lazy = undefined
    this.#scheduled = false
    const waiters = this.#waiters
    this.#waiters = []
    try {
      if (this.#open) {
        this.#open = false
        this.#db.exec('COMMIT')
      }
      for (const waiter of waiters) waiter.resolve()
    } catch (cause) {
      // A barrier of a writer that came too late for this commit must not pass: nothing of it is on disk.
      this.#failure = new RolekeeperError('journal.failed', 'The journal could not be written to disk.', {
        fix: 'make room on the disk of `directory`, then start again; what was in flight resumes.',
        cause,
      })
      for (const waiter of waiters) waiter.reject(this.#failure)
      if (waiters.length === 0) throw this.#failure
    }
  }
}

/** A bigint inside JSON: one member with this name, its value the decimal digits. */
const TAG = '$bigint'

/** Write a record as JSON, bigints tagged. Pure. */
export const encodeRecord = (record: unknown): string =>
  JSON.stringify(record, (_key, value: unknown) =>
    typeof value === 'bigint' ? { [TAG]: value.toString() } : value,
  )

/**
 * Read a record that {@link encodeRecord} wrote. The journal is ours alone (mode 0700), so its shape is trusted as
 * of its version. Pure.
 */
const decodeRecord = <T>(text: string): T =>
  JSON.parse(text, (_key, value: unknown) =>
    value !== null && typeof value === 'object' && TAG in value ? BigInt(String(value[TAG])) : value,
  )
