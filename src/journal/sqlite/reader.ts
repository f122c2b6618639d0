import type { Role } from '../../service/contract/roles.ts'
import { type LastRound, lastRoundOf } from '../../workflow/round.ts'
import { isUnmarked, type Workflow } from '../../workflow/workflow.ts'
import type {
  DecisionRow,
  JournalReads,
  LedgerEntry,
  OutboxRow,
  Reservation,
  Transition,
} from '../journal.ts'
import type { Archive } from './archive.ts'
import type { Records } from './records.ts'

/** What the records of a journal say, and those of its archive where it has one. */
export class RecordReader implements JournalReads {
  protected readonly records: Records
  protected archive: Archive | null

  constructor(records: Records, archive: Archive | null) {
    this.records = records
    this.archive = archive
  }

  protected read(id: string): Workflow | null {
    const [kept] = this.records.bodies<Workflow>('SELECT body FROM workflows WHERE id = ?', id)
    return kept ?? this.archive?.get(id) ?? null
  }

  async get(id: string): Promise<Workflow | null> {
    return this.read(id)
  }

  async byOpportunity(opportunity: string): Promise<LastRound | null> {
    const sql = 'SELECT id FROM workflows WHERE opportunity = ? ORDER BY round DESC LIMIT 1'
    const archived = 'SELECT workflow_id AS id FROM archived WHERE opportunity = ?'
    const [row] = [...this.records.rows(sql, opportunity), ...this.records.rows(archived, opportunity)]
    const newest = row === undefined ? null : this.read(String(row.id))
    return newest === null ? null : lastRoundOf(newest)
  }

  protected readLive(): readonly Workflow[] {
    return this.records.bodies('SELECT body FROM workflows WHERE live = 1 ORDER BY created_at_ms')
  }

  async live(): Promise<readonly Workflow[]> {
    return this.readLive()
  }

  async list(limit: number): Promise<readonly Workflow[]> {
    const rows = this.records.rows('SELECT rowid FROM workflows ORDER BY created_at_ms DESC LIMIT ?', limit)
    const kept = await this.records.bodiesByTurns<Workflow>(rows)
    return this.archive?.complete(null, kept, limit) ?? kept
  }

  async newestOf(role: Role, limit: number): Promise<readonly Workflow[]> {
    const sql = 'SELECT rowid FROM workflows WHERE role = ? ORDER BY created_at_ms DESC LIMIT ?'
    const rows = this.records.rows(sql, role, limit)
    // What leaves meanwhile may leave its row to another.
    const ofRole = 'SELECT body FROM workflows WHERE rowid = ? AND role = ?'
    const kept = await this.records.bodiesByTurns<Workflow>(rows, ofRole, role)
    return this.archive?.complete(role, kept, limit) ?? kept
  }

  async shadowed(): Promise<readonly Workflow[]> {
    const sql = "SELECT body FROM workflows WHERE state = 'shadowed' ORDER BY created_at_ms"
    const kept = this.records.bodies<Workflow>(sql)
    const ids = new Set(kept.map(({ id }) => id))
    return [...(this.archive?.shadowed() ?? []).filter(({ id }) => !ids.has(id)), ...kept]
  }

  async unmarked(role: Role): Promise<readonly Workflow[]> {
    const rows = this.records.rows(
      "SELECT rowid FROM workflows WHERE state = 'shadowed' ORDER BY created_at_ms",
    )
    const ofRole = 'SELECT body FROM workflows WHERE rowid = ? AND role = ?'
    return (await this.records.bodiesByTurns<Workflow>(rows, ofRole, role)).filter(isUnmarked)
  }

  async transitions(id: string): Promise<readonly Transition[]> {
    const sql = 'SELECT body FROM transitions WHERE workflow_id = ? ORDER BY seq'
    const kept = this.records.bodies<Transition>(sql, id)
    return kept.length > 0 ? kept : (this.archive?.transitions(id) ?? [])
  }

  protected readNextNonce(chainId: number, signer: string): number | null {
    const sql = 'SELECT next_nonce FROM signers WHERE chain_id = ? AND signer = ?'
    const [row] = this.records.rows(sql, chainId, signer.toLowerCase())
    return row === undefined ? null : Number(row.next_nonce)
  }

  async nextNonce(chainId: number, signer: string): Promise<number | null> {
    return this.readNextNonce(chainId, signer)
  }

  async byNonce(chainId: number, signer: string, nonce: number): Promise<Workflow | null> {
    const sql = 'SELECT workflow_id AS id FROM nonces WHERE chain_id = ? AND signer = ? AND nonce = ?'
    const [row] = this.records.rows(sql, chainId, signer.toLowerCase(), nonce)
    return row === undefined
      ? (this.archive?.byNonce(chainId, signer, nonce) ?? null)
      : this.read(String(row.id))
  }

  async ledgerEntry(digest: string, signer: string): Promise<LedgerEntry | null> {
    const sql = 'SELECT body FROM digests WHERE digest = ? AND signer = ?'
    return this.records.bodies<LedgerEntry>(sql, digest, signer.toLowerCase())[0] ?? null
  }

  async reservations(role: Role, sinceMs: number): Promise<readonly Reservation[]> {
    return this.readReservations(role, sinceMs)
  }

  /** Those of a role, or of all (null). */
  protected readReservations(role: Role | null, sinceMs: number): readonly Reservation[] {
    if (role === null) return this.records.bodies('SELECT body FROM reservations WHERE at_ms >= ?', sinceMs)
    return this.records.bodies('SELECT body FROM reservations WHERE role = ? AND at_ms >= ?', role, sinceMs)
  }

  async decisions(subjectPart: string, limit: number): Promise<readonly DecisionRow[]> {
    const sql = 'SELECT body FROM decisions WHERE instr(lower(subject), ?) > 0 ORDER BY id DESC LIMIT ?'
    return this.records.bodies(sql, subjectPart.toLowerCase(), limit)
  }

  async due(nowMs: number, limit: number): Promise<readonly OutboxRow[]> {
    const sql = 'SELECT body FROM outbox WHERE due_at_ms <= ? ORDER BY due_at_ms LIMIT ?'
    return this.records.bodies(sql, nowMs, limit)
  }

  async getValue(key: string): Promise<string | null> {
    const [row] = this.records.rows('SELECT value FROM values_by_key WHERE key = ?', key)
    return row === undefined ? null : String(row.value)
  }

  async archivedBy(): Promise<readonly string[]> {
    return []
  }

  async close(): Promise<void> {
    await this.archive?.close()
    await this.records.close()
  }
}
