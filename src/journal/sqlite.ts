import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { invariant, RolekeeperError } from '../errors.ts'
import type { Role } from '../service/contract/roles.ts'
import { isTerminal, type Workflow } from '../workflow/workflow.ts'
import type { DecisionRow, Journal, LedgerEntry, OutboxRow, Reservation, Transition } from './journal.ts'
import { decodeRecord, encodeRecord } from './json.ts'

const VERSION = 1
/** Decisions kept: at one changed reason a second, about half a day. */
const DECISIONS_MAX = 50_000
/** A write that no barrier follows is on disk after this long. */
const LAZY_COMMIT_MS = 200

const SCHEMA = `
  CREATE TABLE workflows (
    id TEXT PRIMARY KEY, opportunity TEXT NOT NULL, round INTEGER NOT NULL, live INTEGER NOT NULL,
    version INTEGER NOT NULL, created_at_ms INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (opportunity, round)
  ) STRICT;
  CREATE INDEX workflows_live ON workflows (live, created_at_ms);
  CREATE TABLE transitions (
    workflow_id TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (workflow_id, seq)
  ) STRICT;
  CREATE TABLE signers (
    chain_id INTEGER NOT NULL, signer TEXT NOT NULL, next_nonce INTEGER NOT NULL, PRIMARY KEY (chain_id, signer)
  ) STRICT;
  CREATE TABLE nonces (
    chain_id INTEGER NOT NULL, signer TEXT NOT NULL, nonce INTEGER NOT NULL, workflow_id TEXT NOT NULL,
    PRIMARY KEY (chain_id, signer, nonce)
  ) STRICT;
  CREATE TABLE digests (digest TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE reservations (
    workflow_id TEXT PRIMARY KEY, role TEXT NOT NULL, at_ms INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX reservations_by_role ON reservations (role, at_ms);
  CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE outbox (hash TEXT PRIMARY KEY, due_at_ms INTEGER, body TEXT NOT NULL) STRICT;
  CREATE TABLE values_by_key (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
`

/** Where a directory keeps its journal. */
export const journalFile = (directory: string) => join(directory, 'journal.sqlite')

/** Open the journal for reading beside the process that writes it. Throws `journal.absent` when there is none. */
export function readSqliteJournal(directory: string): Journal {
  try {
    return new SqliteJournal(new DatabaseSync(journalFile(directory), { readOnly: true }))
  } catch (cause) {
    throw new RolekeeperError('journal.absent', `There is no journal in ${directory}.`, {
      fix: 'name the directory of a keeper that has run, with --directory.',
      cause,
    })
  }
}

/**
 * Open (or create) the journal of a directory that this process has locked. WAL with `synchronous=FULL`: a barrier
 * returns after fsync. Throws RolekeeperError `journal.version` for a journal of a newer release.
 */
export function openSqliteJournal(directory: string): Journal {
  const db = new DatabaseSync(journalFile(directory))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000;')
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
  if (version > VERSION) {
    db.close()
    throw new RolekeeperError(
      'journal.version',
      `The journal in ${directory} has version ${version}; this release reads up to ${VERSION}.`,
      { fix: 'run the release that wrote it, or a newer one.' },
    )
  }
  if (version === 0) db.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${VERSION}; COMMIT;`)
  return new SqliteJournal(db)
}

type Waiter = { readonly resolve: () => void; readonly reject: (cause: unknown) => void }

class SqliteJournal implements Journal {
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

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  #bodies<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#statement(sql)
      .all(...values)
      .map((row) => decodeRecord<T>(String(row.body)))
  }

  /** Run one caller's statements all or not at all, inside the transaction that the next commit ends. */
  #change<T>(work: () => T): T {
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

  async open(workflow: Workflow): Promise<'opened' | 'exists'> {
    return this.#change(() => {
      const added = this.#run(
        'INSERT INTO workflows (id, opportunity, round, live, version, created_at_ms, body) VALUES (?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO NOTHING',
        workflow.id,
        workflow.opportunity,
        workflow.round,
        workflow.version,
        workflow.createdAtMs,
        encodeRecord(workflow),
      )
      if (added === 0) return 'exists'
      this.#addTransition(workflow)
      return 'opened'
    })
  }

  #addTransition(workflow: Workflow): void {
    const transition: Transition = {
      state: workflow.state,
      atMs: workflow.updatedAtMs,
      ...(workflow.note === undefined ? {} : { note: workflow.note }),
    }
    this.#run(
      'INSERT INTO transitions (workflow_id, seq, body) SELECT ?, count(*), ? FROM transitions WHERE workflow_id = ?',
      workflow.id,
      encodeRecord(transition),
      workflow.id,
    )
  }

  #write(workflow: Workflow): Workflow {
    const before = this.#bodies<Workflow>('SELECT body FROM workflows WHERE id = ?', workflow.id)[0]
    const next = { ...workflow, version: workflow.version + 1 }
    const changed = this.#run(
      'UPDATE workflows SET version = ?, live = ?, body = ? WHERE id = ? AND version = ?',
      next.version,
      isTerminal(next.state) ? 0 : 1,
      encodeRecord(next),
      workflow.id,
      workflow.version,
    )
    if (changed !== 1) {
      throw new RolekeeperError(
        'journal.conflict',
        `Workflow ${workflow.id} was changed by another writer.`,
        {
          fix: 'none needed: the step is done again on the stored record.',
          facts: { workflowId: workflow.id, version: workflow.version },
          retry: 'now',
        },
      )
    }
    if (before?.state !== next.state) this.#addTransition(next)
    for (const slot of next.slots) {
      for (const attempt of slot.attempts) {
        this.#enterDigest({
          digest: attempt.digest,
          kind: 'transaction',
          signer: slot.signer,
          workflowId: next.id,
          nonce: slot.nonce,
          atMs: attempt.orderedAtMs,
        })
      }
    }
    return next
  }

  async write(workflow: Workflow): Promise<Workflow> {
    return this.#change(() => this.#write(workflow))
  }

  async claim(workflow: Workflow, reservation: Reservation | null): Promise<Workflow | 'lost'> {
    const first = workflow.slots.at(-1)
    invariant(first !== undefined, `workflow ${workflow.id} claims without a slot`)
    return this.#change(() => {
      const held = this.#statement('SELECT nonce FROM nonces WHERE workflow_id = ?').all(workflow.id)
      const heldNonces = new Set(held.map((row) => Number(row.nonce)))
      const fresh = workflow.slots.filter((slot) => !heldNonces.has(slot.nonce))
      let next = this.#nextNonce(first.chainId, first.signer)
      for (const slot of fresh) {
        if (slot.nonce !== next) return 'lost'
        this.#run(
          'INSERT INTO nonces (chain_id, signer, nonce, workflow_id) VALUES (?, ?, ?, ?)',
          slot.chainId,
          slot.signer.toLowerCase(),
          slot.nonce,
          workflow.id,
        )
        next += 1
      }
      this.#run(
        'UPDATE signers SET next_nonce = ? WHERE chain_id = ? AND signer = ?',
        next ?? 0,
        first.chainId,
        first.signer.toLowerCase(),
      )
      if (reservation !== null) this.#settle(reservation)
      return this.#write(workflow)
    })
  }

  async get(id: string): Promise<Workflow | null> {
    return this.#bodies<Workflow>('SELECT body FROM workflows WHERE id = ?', id)[0] ?? null
  }

  async byOpportunity(opportunity: string): Promise<Workflow | null> {
    const sql = 'SELECT body FROM workflows WHERE opportunity = ? ORDER BY round DESC LIMIT 1'
    return this.#bodies<Workflow>(sql, opportunity)[0] ?? null
  }

  async live(): Promise<readonly Workflow[]> {
    return this.#bodies('SELECT body FROM workflows WHERE live = 1 ORDER BY created_at_ms')
  }

  async list(limit: number): Promise<readonly Workflow[]> {
    return this.#bodies('SELECT body FROM workflows ORDER BY created_at_ms DESC LIMIT ?', limit)
  }

  async newestOf(role: Role, limit: number): Promise<readonly Workflow[]> {
    return this.#bodies(
      "SELECT body FROM workflows WHERE json_extract(body, '$.role') = ? ORDER BY created_at_ms DESC LIMIT ?",
      role,
      limit,
    )
  }

  async shadowed(): Promise<readonly Workflow[]> {
    return this.#bodies(
      "SELECT body FROM workflows WHERE live = 0 AND json_extract(body, '$.state') = 'shadowed' ORDER BY created_at_ms",
    )
  }

  async transitions(id: string): Promise<readonly Transition[]> {
    return this.#bodies('SELECT body FROM transitions WHERE workflow_id = ? ORDER BY seq', id)
  }

  #nextNonce(chainId: number, signer: string): number | null {
    const row = this.#statement('SELECT next_nonce FROM signers WHERE chain_id = ? AND signer = ?').get(
      chainId,
      signer.toLowerCase(),
    )
    return row === undefined ? null : Number(row.next_nonce)
  }

  async nextNonce(chainId: number, signer: string): Promise<number | null> {
    return this.#nextNonce(chainId, signer)
  }

  async adoptNonce(chainId: number, signer: string, nonce: number): Promise<void> {
    this.#change(() =>
      this.#run(
        'INSERT INTO signers (chain_id, signer, next_nonce) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next_nonce = max(next_nonce, excluded.next_nonce)',
        chainId,
        signer.toLowerCase(),
        nonce,
      ),
    )
  }

  async byNonce(chainId: number, signer: string, nonce: number): Promise<Workflow | null> {
    const sql =
      'SELECT body FROM workflows WHERE id = (SELECT workflow_id FROM nonces WHERE chain_id = ? AND signer = ? AND nonce = ?)'
    return this.#bodies<Workflow>(sql, chainId, signer.toLowerCase(), nonce)[0] ?? null
  }

  #enterDigest(entry: LedgerEntry): void {
    this.#run(
      'INSERT INTO digests (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING',
      entry.digest,
      encodeRecord(entry),
    )
  }

  async enterDigest(entry: LedgerEntry): Promise<void> {
    this.#change(() => this.#enterDigest(entry))
  }

  async ledgerEntry(digest: string): Promise<LedgerEntry | null> {
    return this.#bodies<LedgerEntry>('SELECT body FROM digests WHERE digest = ?', digest)[0] ?? null
  }

  async reservations(role: string, sinceMs: number): Promise<readonly Reservation[]> {
    return this.#bodies('SELECT body FROM reservations WHERE role = ? AND at_ms >= ?', role, sinceMs)
  }

  #settle(reservation: Reservation): void {
    this.#run(
      'INSERT INTO reservations (workflow_id, role, at_ms, body) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
      reservation.workflowId,
      reservation.role,
      reservation.atMs,
      encodeRecord(reservation),
    )
  }

  async settle(reservation: Reservation): Promise<void> {
    this.#change(() => this.#settle(reservation))
  }

  async addDecisions(rows: readonly DecisionRow[]): Promise<void> {
    if (rows.length === 0) return
    this.#change(() => {
      for (const row of rows) {
        this.#run('INSERT INTO decisions (subject, body) VALUES (?, ?)', row.subject, encodeRecord(row))
      }
      this.#run('DELETE FROM decisions WHERE id <= (SELECT max(id) FROM decisions) - ?', DECISIONS_MAX)
    })
  }

  async decisions(subjectPart: string, limit: number): Promise<readonly DecisionRow[]> {
    const sql = 'SELECT body FROM decisions WHERE instr(subject, ?) > 0 ORDER BY id DESC LIMIT ?'
    return this.#bodies(sql, subjectPart.toLowerCase(), limit)
  }

  async post(rows: readonly Omit<OutboxRow, 'tries'>[]): Promise<void> {
    this.#change(() => {
      for (const row of rows) {
        this.#run(
          'INSERT INTO outbox (hash, due_at_ms, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
          row.hash,
          row.dueAtMs,
          encodeRecord({ ...row, tries: 0 }),
        )
      }
    })
  }

  async due(nowMs: number): Promise<readonly OutboxRow[]> {
    return this.#bodies('SELECT body FROM outbox WHERE due_at_ms <= ? ORDER BY due_at_ms', nowMs)
  }

  async posted(hash: string): Promise<void> {
    // The row stays, so that the same transaction is never put in again.
    this.#change(() => this.#run('UPDATE outbox SET due_at_ms = NULL WHERE hash = ?', hash))
  }

  async postpone(hash: string, dueAtMs: number): Promise<void> {
    this.#change(() => {
      const row = this.#bodies<OutboxRow>('SELECT body FROM outbox WHERE hash = ?', hash)[0]
      if (row === undefined) return
      const next = { ...row, tries: row.tries + 1, dueAtMs }
      this.#run('UPDATE outbox SET due_at_ms = ?, body = ? WHERE hash = ?', dueAtMs, encodeRecord(next), hash)
    })
  }

  async getValue(key: string): Promise<string | null> {
    const row = this.#statement('SELECT value FROM values_by_key WHERE key = ?').get(key)
    return row === undefined ? null : String(row.value)
  }

  async setValue(key: string, value: string | null): Promise<void> {
    this.#change(() =>
      value === null
        ? this.#run('DELETE FROM values_by_key WHERE key = ?', key)
        : this.#run(
            'INSERT INTO values_by_key (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
            key,
            value,
          ),
    )
  }

  async close(): Promise<void> {
    this.#commit()
    this.#db.close()
  }
}
