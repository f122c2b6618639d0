import type { DatabaseSync } from 'node:sqlite'
import { invariant, RolekeeperError } from '../errors.ts'
import type { Role } from '../service/contract/roles.ts'
import { isTerminal, type Workflow } from '../workflow/workflow.ts'
import { openDatabase, readDatabase } from './database.ts'
import type { DecisionRow, Journal, LedgerEntry, OutboxRow, Reservation, Transition } from './journal.ts'
import { encodeRecord, Records } from './records.ts'

/** Decisions kept: at one changed reason a second, about half a day. */
const DECISIONS_MAX = 50_000

/** Open the journal for reading beside the process that writes it. Throws `journal.absent` when there is none. */
export const readSqliteJournal = (directory: string): Journal => new SqliteJournal(readDatabase(directory))

/**
 * Open (or create) the journal of a directory that this process has locked. A barrier returns after fsync. Throws
 * RolekeeperError `journal.version` for a journal of a newer release.
 */
export const openSqliteJournal = (directory: string): Journal => new SqliteJournal(openDatabase(directory))

class SqliteJournal implements Journal {
  readonly #records: Records

  constructor(db: DatabaseSync) {
    this.#records = new Records(db)
  }

  barrier(): Promise<void> {
    return this.#records.barrier()
  }

  async open(workflow: Workflow): Promise<'opened' | 'exists'> {
    const { id, opportunity, round, version, createdAtMs } = workflow
    const sql =
      'INSERT INTO workflows (id, opportunity, round, live, version, created_at_ms, body) VALUES (?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO NOTHING'
    return this.#records.change(() => {
      const body = encodeRecord(workflow)
      const added = this.#records.run(sql, id, opportunity, round, version, createdAtMs, body)
      if (added === 0) return 'exists'
      this.#addTransition(workflow)
      return 'opened'
    })
  }

  #addTransition(workflow: Workflow): void {
    const { id, state, updatedAtMs: atMs, note } = workflow
    const transition: Transition = { state, atMs, ...(note === undefined ? {} : { note }) }
    this.#records.run(
      'INSERT INTO transitions (workflow_id, seq, body) SELECT ?, count(*), ? FROM transitions WHERE workflow_id = ?',
      id,
      encodeRecord(transition),
      id,
    )
  }

  #write(workflow: Workflow, reservation: Reservation | null): Workflow {
    const before = this.#records.bodies<Workflow>('SELECT body FROM workflows WHERE id = ?', workflow.id)[0]
    const next = { ...workflow, version: workflow.version + 1 }
    const changed = this.#records.run(
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
    if (reservation !== null) this.#settle(reservation)
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

  async write(workflow: Workflow, reservation: Reservation | null = null): Promise<Workflow> {
    return this.#records.change(() => this.#write(workflow, reservation))
  }

  async claim(workflow: Workflow, reservation: Reservation | null): Promise<Workflow | 'lost'> {
    const first = workflow.slots.at(-1)
    invariant(first !== undefined, `workflow ${workflow.id} claims without a slot`)
    return this.#records.change(() => {
      const held = this.#records.rows('SELECT nonce FROM nonces WHERE workflow_id = ?', workflow.id)
      const heldNonces = new Set(held.map((row) => Number(row.nonce)))
      const fresh = workflow.slots.filter((slot) => !heldNonces.has(slot.nonce))
      let next = this.#nextNonce(first.chainId, first.signer)
      for (const slot of fresh) {
        if (slot.nonce !== next) return 'lost'
        this.#records.run(
          'INSERT INTO nonces (chain_id, signer, nonce, workflow_id) VALUES (?, ?, ?, ?)',
          slot.chainId,
          slot.signer.toLowerCase(),
          slot.nonce,
          workflow.id,
        )
        next += 1
      }
      this.#records.run(
        'UPDATE signers SET next_nonce = ? WHERE chain_id = ? AND signer = ?',
        next ?? 0,
        first.chainId,
        first.signer.toLowerCase(),
      )
      return this.#write(workflow, reservation)
    })
  }

  async get(id: string): Promise<Workflow | null> {
    return this.#records.bodies<Workflow>('SELECT body FROM workflows WHERE id = ?', id)[0] ?? null
  }

  async byOpportunity(opportunity: string): Promise<Workflow | null> {
    const sql = 'SELECT body FROM workflows WHERE opportunity = ? ORDER BY round DESC LIMIT 1'
    return this.#records.bodies<Workflow>(sql, opportunity)[0] ?? null
  }

  async live(): Promise<readonly Workflow[]> {
    return this.#records.bodies('SELECT body FROM workflows WHERE live = 1 ORDER BY created_at_ms')
  }

  async list(limit: number): Promise<readonly Workflow[]> {
    return this.#records.bodies('SELECT body FROM workflows ORDER BY created_at_ms DESC LIMIT ?', limit)
  }

  async newestOf(role: Role, limit: number): Promise<readonly Workflow[]> {
    return this.#records.bodies(
      "SELECT body FROM workflows WHERE json_extract(body, '$.role') = ? ORDER BY created_at_ms DESC LIMIT ?",
      role,
      limit,
    )
  }

  async shadowed(): Promise<readonly Workflow[]> {
    return this.#records.bodies(
      "SELECT body FROM workflows WHERE live = 0 AND json_extract(body, '$.state') = 'shadowed' ORDER BY created_at_ms",
    )
  }

  async transitions(id: string): Promise<readonly Transition[]> {
    return this.#records.bodies('SELECT body FROM transitions WHERE workflow_id = ? ORDER BY seq', id)
  }

  #nextNonce(chainId: number, signer: string): number | null {
    const sql = 'SELECT next_nonce FROM signers WHERE chain_id = ? AND signer = ?'
    const [row] = this.#records.rows(sql, chainId, signer.toLowerCase())
    return row === undefined ? null : Number(row.next_nonce)
  }

  async nextNonce(chainId: number, signer: string): Promise<number | null> {
    return this.#nextNonce(chainId, signer)
  }

  async adoptNonce(chainId: number, signer: string, nonce: number): Promise<void> {
    this.#records.change(() =>
      this.#records.run(
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
    return this.#records.bodies<Workflow>(sql, chainId, signer.toLowerCase(), nonce)[0] ?? null
  }

  #enterDigest(entry: LedgerEntry): void {
    this.#records.run(
      'INSERT INTO digests (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING',
      entry.digest,
      encodeRecord(entry),
    )
  }

  async enterDigest(entry: LedgerEntry): Promise<void> {
    this.#records.change(() => this.#enterDigest(entry))
  }

  async ledgerEntry(digest: string): Promise<LedgerEntry | null> {
    return this.#records.bodies<LedgerEntry>('SELECT body FROM digests WHERE digest = ?', digest)[0] ?? null
  }

  async reservations(role: string, sinceMs: number): Promise<readonly Reservation[]> {
    return this.#records.bodies('SELECT body FROM reservations WHERE role = ? AND at_ms >= ?', role, sinceMs)
  }

  #settle(reservation: Reservation): void {
    const { workflowId, role, atMs } = reservation
    const sql =
      'INSERT INTO reservations (workflow_id, role, at_ms, body) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body'
    this.#records.run(sql, workflowId, role, atMs, encodeRecord(reservation))
  }

  async settle(reservation: Reservation): Promise<void> {
    this.#records.change(() => this.#settle(reservation))
  }

  async addDecisions(rows: readonly DecisionRow[]): Promise<void> {
    if (rows.length === 0) return
    this.#records.change(() => {
      for (const row of rows) {
        this.#records.run(
          'INSERT INTO decisions (subject, body) VALUES (?, ?)',
          row.subject,
          encodeRecord(row),
        )
      }
      this.#records.run(
        'DELETE FROM decisions WHERE id <= (SELECT max(id) FROM decisions) - ?',
        DECISIONS_MAX,
      )
    })
  }

  async decisions(subjectPart: string, limit: number): Promise<readonly DecisionRow[]> {
    const sql = 'SELECT body FROM decisions WHERE instr(subject, ?) > 0 ORDER BY id DESC LIMIT ?'
    return this.#records.bodies(sql, subjectPart.toLowerCase(), limit)
  }

  async post(rows: readonly Omit<OutboxRow, 'tries'>[]): Promise<void> {
    this.#records.change(() => {
      for (const row of rows) {
        this.#records.run(
          'INSERT INTO outbox (hash, due_at_ms, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
          row.hash,
          row.dueAtMs,
          encodeRecord({ ...row, tries: 0 }),
        )
      }
    })
  }

  async due(nowMs: number): Promise<readonly OutboxRow[]> {
    return this.#records.bodies('SELECT body FROM outbox WHERE due_at_ms <= ? ORDER BY due_at_ms', nowMs)
  }

  async posted(hash: string): Promise<void> {
    // The row stays, so that the same transaction is never put in again.
    this.#records.change(() => this.#records.run('UPDATE outbox SET due_at_ms = NULL WHERE hash = ?', hash))
  }

  async postpone(hash: string, dueAtMs: number): Promise<void> {
    this.#records.change(() => {
      const row = this.#records.bodies<OutboxRow>('SELECT body FROM outbox WHERE hash = ?', hash)[0]
      if (row === undefined) return
      const next = { ...row, tries: row.tries + 1, dueAtMs }
      this.#records.run(
        'UPDATE outbox SET due_at_ms = ?, body = ? WHERE hash = ?',
        dueAtMs,
        encodeRecord(next),
        hash,
      )
    })
  }

  async getValue(key: string): Promise<string | null> {
    const [row] = this.#records.rows('SELECT value FROM values_by_key WHERE key = ?', key)
    return row === undefined ? null : String(row.value)
  }

  async setValue(key: string, value: string | null): Promise<void> {
    this.#records.change(() =>
      value === null
        ? this.#records.run('DELETE FROM values_by_key WHERE key = ?', key)
        : this.#records.run(
            'INSERT INTO values_by_key (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
            key,
            value,
          ),
    )
  }

  async close(): Promise<void> {
    this.#records.close()
  }
}
