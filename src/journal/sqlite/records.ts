import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RolekeeperError } from '../../errors.ts'
import { diskFault, failed } from '../faults.ts'
import { type Checkpoints, createCheckpoints } from './checkpoints.ts'

/** What a commit writes holds the event loop: so many changes in one turn are a commit of their own, one sync later serves all. */
const CHANGES_MAX = 25

/** Records that are read and decoded in one turn of the event loop: a millisecond, where no page of theirs is in memory. */
const TURN_ROWS = 8

/** A write that no barrier follows is on disk after this long. */
const LAZY_COMMIT_MS = 200

type Waiter = { readonly resolve: () => void; readonly reject: (cause: unknown) => void }

/**
 * The records of one SQLite database, and its commits: a change is visible at once, and every change up to the next
 * barrier shares its sync. SQLite commits into its log without a sync (`synchronous=NORMAL`), and the log is synced
 * beside the event loop, as are its checkpoints: no step waits for the disk that does not have to. Source: sqlite.org/wal.html.
 */
export class Records {
  readonly #db: DatabaseSync
  readonly #file: string
  readonly #onFailed: (failure: RolekeeperError) => void
  readonly #checkpoints: Checkpoints
  readonly #statements = new Map<string, StatementSync>()
  #open = false
  /** Changes since the last commit. */
  #changes = 0
  #flushing: Promise<void> | undefined
  /** Commits so far, and how many of them the log's file is sure to hold. */
  #commits = 0
  #synced = 0
  #log: FileHandle | undefined
  /** While the log begins anew nothing is written. */
  #restarting: Promise<void> | undefined
  #closed = false
  #lazy: NodeJS.Timeout | undefined
  #waiters: Waiter[] = []
  /** Set once the disk failed: what was written since the last commit is gone, though callers went on with it. */
  #failure: RolekeeperError | undefined

  /** `onFailed` is called once, when the disk fails: from then on nothing is read or written. */
  constructor(db: DatabaseSync, file: string, onFailed: (failure: RolekeeperError) => void) {
    this.#db = db
    this.#file = file
    this.#onFailed = onFailed
    this.#checkpoints = createCheckpoints(file, (cause) => {
      if (!this.#closed) this.fail(diskFault(cause, file) ?? failed(file, 'its log cannot be read', cause))
    })
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

  /**
   * Read what a statement selects as `body` for each of some rows, a few in a turn of the event loop.
   * @param sql its first value is a `rowid`, and `values` are the rest; a row that left meanwhile is left out.
   */
  async bodiesByTurns<T>(
    rows: ReturnType<StatementSync['all']>,
    sql = 'SELECT body FROM workflows WHERE rowid = ?',
    ...values: SQLInputValue[]
  ): Promise<T[]> {
    const found: T[] = []
    for (const [index, { rowid }] of rows.entries()) {
      if (index > 0 && index % TURN_ROWS === 0) await nextTurn()
      found.push(...this.bodies<T>(sql, Number(rowid), ...values))
    }
    return found
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

  /**
   * Run one caller's statements all or not at all, inside the transaction that the next commit ends: at once, but where the
   * log begins anew, after that and in the order of the calls.
   */
  async change<T>(work: () => T): Promise<T> {
    while (this.#restarting !== undefined || this.#changes >= CHANGES_MAX) {
      if (this.#restarting === undefined) this.#commit()
      else await this.#restarting
    }
    this.#guarded(() => {
      if (!this.#open) this.#db.exec('BEGIN IMMEDIATE')
      this.#open = true
      this.#changes += 1
      this.#db.exec('SAVEPOINT change')
    })
    // What fails then is known to `onFailed`.
    this.#lazy ??= setTimeout(() => this.barrier().catch(() => undefined), LAZY_COMMIT_MS)
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
    // The changes that wait for this come first.
    await this.#restarting
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#open && this.#synced === this.#commits) return
    const done = new Promise<void>((resolve, reject) => this.#waiters.push({ resolve, reject }))
    // All callers of this turn, and those that come while the disk is busy with the ones before, share one sync.
    this.#flushing ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#flush())
    await done
  }

  async #flush(): Promise<void> {
    while (this.#waiters.length > 0) {
      const waiters = this.#waiters.splice(0)
      try {
        this.#commit()
        this.#log ??= await open(`${this.#file}-wal`)
        // What is committed meanwhile may not be in this sync; its own barrier waits for the next.
        const commits = this.#commits
        await this.#log.datasync()
        this.#synced = commits
        for (const waiter of waiters) waiter.resolve()
      } catch (cause) {
        // What was committed came to disk with the end of the journal.
        const failure = this.#closed ? null : this.fail(failed(this.#file, 'the disk did not take it', cause))
        for (const waiter of waiters) failure === null ? waiter.resolve() : waiter.reject(failure)
      }
    }
    this.#flushing = undefined
  }

  #commit(): void {
    clearTimeout(this.#lazy)
    this.#lazy = undefined
    if (!this.#open) return
    this.#guarded(() => this.#db.exec('COMMIT'))
    this.#open = false
    this.#changes = 0
    this.#commits += 1
    if (this.#checkpoints.mustRestart()) this.#restart()
    else this.#checkpoints.due()
  }

  #restart(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#restarting = promise
    this.#checkpoints.restart(() => {
      this.#restarting = undefined
      resolve()
    })
  }

  /** Bring what is open to disk, and close the database. */
  async close(): Promise<void> {
    await this.#checkpoints.close()
    await this.#restarting
    if (this.#failure === undefined) {
      this.#commit()
      if (this.#synced < this.#commits) this.#syncNow()
    }
    clearTimeout(this.#lazy)
    this.#closed = true
    for (const waiter of this.#waiters.splice(0)) waiter.resolve()
    this.#db.close()
    // It waits for a sync that goes on; nobody waits for it.
    this.#log?.close().catch(() => undefined)
  }

  #syncNow(): void {
    const log = openSync(`${this.#file}-wal`, 'r')
    fdatasyncSync(log)
    closeSync(log)
  }
}

/** A bigint inside JSON: one member with this name, its value the decimal digits. */
const TAG = '$bigint'

/** Write a record as JSON, bigints tagged. Pure: a record and its members are values, which nobody changes. */
export function encodeRecord(record: unknown): string {
  if (!isObject(record) || Array.isArray(record)) return encode(record)
  const members = Object.entries(record).flatMap(([name, value]) => {
    const text: string | undefined = isObject(value) ? encodeOnce(value) : encode(value)
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]
  })
  return `{${members.join(',')}}`
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const encode = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'bigint' ? { [TAG]: item.toString() } : item,
  )

/** What was written before: a workflow is written a dozen times, and most of it never changes. */
const encoded = new WeakMap<object, string>()

function encodeOnce(value: object): string {
  const known = encoded.get(value)
  if (known !== undefined) return known
  const text = encode(value)
  encoded.set(value, text)
  return text
}

/**
 * Read a record that {@link encodeRecord} wrote. The journal is ours alone (mode 0700), so its shape is trusted as
 * of its version. Pure.
 */
export const decodeRecord = <T>(text: string): T => withIntegers(JSON.parse(text)) as T

/** What was just read, its integers in place of what they were written as: a reviver is asked about every text and number too. */
function withIntegers(value: unknown): unknown {
  if (!isObject(value)) return value
  const members = value as Record<string, unknown>
  if (TAG in members) return BigInt(String(members[TAG]))
  for (const [name, member] of Object.entries(members))
    if (isObject(member)) members[name] = withIntegers(member)
  return members
}
