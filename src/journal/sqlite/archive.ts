import type { Hex } from 'viem'
import type { Role } from '../../service/contract/roles.ts'
import { isUnmarked, type Workflow } from '../../workflow/workflow.ts'
import { requestKey } from '../entered.ts'
import { endProcess } from '../faults.ts'
import type { Transition } from '../journal.ts'
import { archiveFile, openArchiveDatabase } from './database.ts'
import { decodeRecord, encodeRecord, Records } from './records.ts'

/** Workflows that one slice moves: it takes about 1 ms. */
const SLICE = 4

/** A workflow that ended long ago, with its history. */
type ArchivedWorkflow = {
  readonly workflow: Workflow
  readonly transitions: readonly Transition[]
}

/** Workflows that ended long ago, in a file of their own: what is checked and copied each day stays small. */
export class Archive {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  /** Keep workflows; one that is there already is replaced. They may be forgotten elsewhere once this resolved. */
  async keep(rows: readonly ArchivedWorkflow[]): Promise<void> {
    await this.#records.change(() => {
      for (const { workflow, transitions } of rows) {
        const { id, role, state, createdAtMs } = workflow
        this.#records.run(
          'INSERT OR REPLACE INTO workflows (id, role, state, created_at_ms, body, transitions) VALUES (?, ?, ?, ?, ?, ?)',
          ...[id, role, state, createdAtMs, encodeRecord(workflow), encodeRecord(transitions)],
        )
        for (const { chainId, signer, nonce } of workflow.slots) {
          this.#records.run(
            'INSERT OR REPLACE INTO nonces (chain_id, signer, nonce, workflow_id) VALUES (?, ?, ?, ?)',
            ...[chainId, signer.toLowerCase(), nonce, id],
          )
        }
      }
    })
    await this.#records.barrier()
  }

  get(id: string): Workflow | null {
    return this.#records.bodies<Workflow>('SELECT body FROM workflows WHERE id = ?', id)[0] ?? null
  }

  transitions(id: string): readonly Transition[] {
    const sql = 'SELECT transitions AS body FROM workflows WHERE id = ?'
    return this.#records.bodies<readonly Transition[]>(sql, id)[0] ?? []
  }

  byNonce(chainId: number, signer: string, nonce: number): Workflow | null {
    const sql =
      'SELECT body FROM workflows WHERE id = (SELECT workflow_id FROM nonces WHERE chain_id = ? AND signer = ? AND nonce = ?)'
    return this.#records.bodies<Workflow>(sql, chainId, signer.toLowerCase(), nonce)[0] ?? null
  }

  /** Newest first; of one role, or of all. */
  newest(role: Role | null, limit: number): Promise<readonly Workflow[]> {
    const newest = 'ORDER BY created_at_ms DESC LIMIT ?'
    const rows =
      role === null
        ? this.#records.rows(`SELECT rowid FROM workflows ${newest}`, limit)
        : this.#records.rows(`SELECT rowid FROM workflows WHERE role = ? ${newest}`, role, limit)
    return this.#records.bodiesByTurns(rows)
  }

  /**
   * Complete what is kept elsewhere of a role, or of all, newest first. What was archived is older than what was not, but for
   * what is live; a crash may have left a workflow in both.
   */
  async complete(role: Role | null, kept: readonly Workflow[], limit: number): Promise<readonly Workflow[]> {
    if (kept.length >= limit) return kept
    const ids = new Set(kept.map(({ id }) => id))
    const archived = (await this.newest(role, limit)).filter(({ id }) => !ids.has(id))
    return [...kept, ...archived].toSorted((a, b) => b.createdAtMs - a.createdAtMs).slice(0, limit)
  }

  /** Oldest first. */
  shadowed(): readonly Workflow[] {
    return this.#records.bodies("SELECT body FROM workflows WHERE state = 'shadowed' ORDER BY created_at_ms")
  }

  close(): Promise<void> {
    return this.#records.close()
  }
}

/** Open (or create) the archive of a directory that this process has locked. Throws what opening a database throws. */
export const openArchive = (directory: string, onFailed = endProcess): Archive =>
  new Archive(new Records(openArchiveDatabase(directory), archiveFile(directory), onFailed))

/**
 * Move a few workflows that ended from the journal's records to its archive; of each its opportunity stays behind. See
 * the journal's `archiveSlice`.
 */
export async function archiveSlice(
  records: Records,
  archive: () => Archive,
  beforeMs: number,
  after: number,
): Promise<number | null> {
  const rows = records.rows(
    'SELECT rowid, body FROM workflows WHERE rowid > ? AND live = 0 AND created_at_ms < ? ORDER BY rowid LIMIT ?',
    ...[after, beforeMs, SLICE],
  )
  const leaving = rows
    .map(({ body }) => decodeRecord<Workflow>(String(body)))
    .filter((workflow) => workflow.updatedAtMs < beforeMs && !isAwaited(workflow, records))
  if (leaving.length > 0) {
    const sql = 'SELECT body FROM transitions WHERE workflow_id = ? ORDER BY seq'
    await archive().keep(
      leaving.map((workflow) => ({ workflow, transitions: records.bodies<Transition>(sql, workflow.id) })),
    )
    // Only now: the two files do not commit together, and in both a workflow does no harm.
    await records.change(() => {
      for (const workflow of leaving) forget(workflow, records)
    })
  }
  return rows.length < SLICE ? null : Number(rows.at(-1)?.rowid)
}

/** Whether something will still be written about a workflow that ended: it is to be marked, or the service lacks it. */
function isAwaited(workflow: Workflow, records: Records): boolean {
  const sql = 'SELECT 1 FROM outbox WHERE hash = ? AND due_at_ms IS NOT NULL'
  return isUnmarked(workflow) || hashesOf(workflow).some((hash) => records.rows(sql, hash).length > 0)
}

/** The hashes of what was signed for a workflow. Pure. */
export const hashesOf = ({ slots }: Workflow): readonly Hex[] =>
  slots.flatMap(({ attempts }) => attempts.flatMap(({ hash }) => hash ?? []))

function forget(workflow: Workflow, records: Records): void {
  const { id, opportunity, round, slots, attestation, prepared } = workflow
  const forgetDigest = (digest: Hex) =>
    records.run('DELETE FROM digests WHERE digest = ? AND signer = ?', digest, workflow.signer.toLowerCase())
  records.run(
    'INSERT INTO archived (opportunity, round, workflow_id) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET round = excluded.round, workflow_id = excluded.workflow_id WHERE excluded.round > round',
    ...[opportunity, round, id],
  )
  records.run('DELETE FROM workflows WHERE id = ?', id)
  records.run('DELETE FROM transitions WHERE workflow_id = ?', id)
  records.run('DELETE FROM reservations WHERE workflow_id = ?', id)
  if (attestation !== undefined) forgetDigest(attestation.digest)
  if (prepared !== undefined) {
    const key = requestKey(prepared.answer.requestId)
    records.run('DELETE FROM values_by_key WHERE key = ? AND value = ?', key, id)
  }
  for (const { chainId, signer, nonce, attempts } of slots) {
    const sql = 'DELETE FROM nonces WHERE chain_id = ? AND signer = ? AND nonce = ? AND workflow_id = ?'
    records.run(sql, chainId, signer.toLowerCase(), nonce, id)
    for (const { digest, hash } of attempts) {
      forgetDigest(digest)
      if (hash !== undefined) records.run('DELETE FROM outbox WHERE hash = ?', hash)
    }
  }
}
