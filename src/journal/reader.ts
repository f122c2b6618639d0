import type { Role } from '../service/contract/roles.ts'
import type { Workflow } from '../workflow/workflow.ts'
import type { DecisionRow, JournalReads, LedgerEntry, OutboxRow, Reservation, Transition } from './journal.ts'
import type { Records } from './records.ts'

/** What the records of a journal say. */
export class RecordReader implements JournalReads {
  protected readonly records: Records

  constructor(records: Records) {
    this.records = records
  }

  protected read(id: string): Workflow | null {
    return this.records.bodies<Workflow>('SELECT body FROM workflows WHERE id = ?', id)[0] ?? null
  }

  async get(id: string): Promise<Workflow | null> {
    return this.read(id)
  }

  async byOpportunity(opportunity: string): Promise<Workflow | null> {
    const sql = 'SELECT id FROM workflows WHERE opportunity = ? ORDER BY round DESC LIMIT 1'
    return this.#first(this.records.rows(sql, opportunity))
  }

  #first([row]: ReturnType<Records['rows']>): Workflow | null {
    return row === undefined ? null : this.read(String(row.id))
  }

  protected readLive(): readonly Workflow[] {
    return this.records.bodies('SELECT body FROM workflows WHERE live = 1 ORDER BY created_at_ms')
  }

  async live(): Promise<readonly Workflow[]> {
    return this.readLive()
  }

  async list(limit: number): Promise<readonly Workflow[]> {
    return this.records.bodies('SELECT body FROM workflows ORDER BY created_at_ms DESC LIMIT ?', limit)
  }

  async newestOf(role: Role, limit: number): Promise<readonly Workflow[]> {
    return this.records.bodies(
      "SELECT body FROM workflows WHERE json_extract(body, '$.role') = ? ORDER BY created_at_ms DESC LIMIT ?",
      role,
      limit,
    )
  }

  async shadowed(): Promise<readonly Workflow[]> {
    return this.records.bodies(
      "SELECT body FROM workflows WHERE live = 0 AND json_extract(body, '$.state') = 'shadowed' ORDER BY created_at_ms",
    )
  }

  async transitions(id: string): Promise<readonly Transition[]> {
    return this.records.bodies('SELECT body FROM transitions WHERE workflow_id = ? ORDER BY seq', id)
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
    return this.#first(this.records.rows(sql, chainId, signer.toLowerCase(), nonce))
  }

  async ledgerEntry(digest: string): Promise<LedgerEntry | null> {
    return this.records.bodies<LedgerEntry>('SELECT body FROM digests WHERE digest = ?', digest)[0] ?? null
  }

  async reservations(role: string, sinceMs: number): Promise<readonly Reservation[]> {
    return this.records.bodies('SELECT body FROM reservations WHERE role = ? AND at_ms >= ?', role, sinceMs)
  }

  async decisions(subjectPart: string, limit: number): Promise<readonly DecisionRow[]> {
    const sql = 'SELECT body FROM decisions WHERE instr(subject, ?) > 0 ORDER BY id DESC LIMIT ?'
    return this.records.bodies(sql, subjectPart.toLowerCase(), limit)
  }

  async due(nowMs: number): Promise<readonly OutboxRow[]> {
    return this.records.bodies('SELECT body FROM outbox WHERE due_at_ms <= ? ORDER BY due_at_ms', nowMs)
  }

  async getValue(key: string): Promise<string | null> {
    const [row] = this.records.rows('SELECT value FROM values_by_key WHERE key = ?', key)
    return row === undefined ? null : String(row.value)
  }

  async close(): Promise<void> {
    this.records.close()
  }
}
