import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { RolekeeperError } from '../errors.ts'
import { diskFault, failed } from './faults.ts'

/** A write that no barrier follows is on disk after this long. */
const LAZY_COMMIT_MS = 200

type Waiter = { readonly resolve: () => void; readonly reject: (cause: unknown) => void }

/**
 * The records of one SQLite database, and its commits: a change is visible at once, and every change of one turn of the
 * event loop shares the fsync of the next barrier.
 */
export class Records {
  readonly #db: DatabaseSync
  readonly #file: string
  readonly #onFailed: (failure: RolekeeperError) => void
  readonly #statements = new Map<string, StatementSync>()
  #open = false
  #scheduled = false
  #lazy: NodeJS.Timeout | undefined
  #waiters: Waiter[] = []
  /** Set once the disk failed: what was written since the last commit is gone, though callers went on with it. */
  #failure: RolekeeperError | undefined

  /** `onFailed` is called once, when the disk fails: from then on nothing is read or written. */
  constructor(db: DatabaseSync, file: string, onFailed: (failure: RolekeeperError) => void) {
    this.#db = db
    this.#file = file
    this.#onFailed = onFailed
  }

  /** Run a statement that writes, inside `change`. @returns how many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#guarded(() => this.#statement(sql).run(...values)).changes)
  }

  /** Read rows as they are. */
  rows(sql: string, ...values: SQLInputValue[]): ReturnType<StatementSync['all']> {
    return this.#guarded(() => this.#statement(sql).all(...values))
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

  /** Do what touches the database. A fault of the disk is the end of it: what a later commit would hold has a gap. */
  #guarded<T>(work: () => T): T {
    if (this.#failure !== undefined) throw this.#failure
    try {
      return work()
    } catch (cause) {
      const failure = diskFault(cause, this.#file)
      if (failure === null) throw cause
      throw this.fail(failure)
    }
  }

  /** Take nothing any more, for a cause that was seen outside the database too. @returns the first failure. */
  fail(failure: RolekeeperError): RolekeeperError {
    if (this.#failure !== undefined) return this.#failure
    this.#failure = failure
    clearTimeout(this.#lazy)
    for (const waiter of this.#waiters.splice(0)) waiter.reject(failure)
    this.#onFailed(failure)
    return failure
  }

  /** Run one caller's statements all or not at all, inside the transaction that the next commit ends. */
  change<T>(work: () => T): T {
    this.#guarded(() => {
      if (!this.#open) this.#db.exec('BEGIN IMMEDIATE')
      this.#open = true
      this.#db.exec('SAVEPOINT change')
    })
    this.#lazy ??= setTimeout(() => this.#commit(), LAZY_COMMIT_MS)
    try {
      const result = work()
      this.#guarded(() => this.#db.exec('RELEASE change'))
      return result
    } catch (error) {
      this.#guarded(() => this.#db.exec('ROLLBACK TO change; RELEASE change'))
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
    if (!this.#open || this.#failure !== undefined) return
    try {
      this.#db.exec('COMMIT')
    } catch (cause) {
      // A barrier of a writer that came too late for this commit must not pass: nothing of it is on disk.
      this.fail(diskFault(cause, this.#file) ?? failed(this.#file, 'its commit failed', cause))
      return
    }
    this.#open = false
    for (const waiter of this.#waiters.splice(0)) waiter.resolve()
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
export const decodeRecord = <T>(text: string): T =>
  JSON.parse(text, (_key, value: unknown) =>
    value !== null && typeof value === 'object' && TAG in value ? BigInt(String(value[TAG])) : value,
  )
