import { RolekeeperError } from '../../errors.ts'
import { isTerminal, type Workflow } from '../../workflow/workflow.ts'
import { entryOf } from '../entered.ts'
import type { LedgerEntry, Reservation, Transition } from '../journal.ts'
import { encodeRecord, type Records } from './records.ts'

/*
 * The rows that a change of a workflow writes. Each function is called within one change of the records.
 */

/**
 * Replace `before`, which may be of an older version than the record: then nothing is written. @returns the workflow in its
 * next version. Throws `journal.conflict`.
 */
export function replaceWorkflow(
  workflow: Workflow,
  before: Workflow | null,
  reservation: Reservation | null,
  records: Records,
): Workflow {
  const next = { ...workflow, version: workflow.version + 1 }
  const changed = records.run(
    'UPDATE workflows SET version = ?, state = ?, live = ?, body = ? WHERE id = ? AND version = ?',
    ...[next.version, next.state, isTerminal(next.state) ? 0 : 1, encodeRecord(next)],
    ...[workflow.id, workflow.version],
  )
  if (changed !== 1) {
    throw new RolekeeperError('journal.conflict', `Workflow ${workflow.id} was changed by another writer.`, {
      fix: 'none needed: the step is done again on the stored record.',
      facts: { workflowId: workflow.id, version: workflow.version },
      retry: 'now',
    })
  }
  if (before?.state !== next.state) addTransition(next, records)
  if (reservation !== null) setReservation(reservation, records)
  const known = new Set(before?.slots.flatMap(({ attempts }) => attempts.map(({ digest }) => digest)))
  for (const slot of next.slots) {
    for (const attempt of slot.attempts)
      if (!known.has(attempt.digest)) addDigest(entryOf(slot, attempt, next.id), records)
  }
  return next
}

/** Add the state that a workflow is in now to those that it went through. */
export function addTransition({ id, state, updatedAtMs: atMs, note }: Workflow, records: Records): void {
  const transition: Transition = { state, atMs, ...(note === undefined ? {} : { note }) }
  records.run(
    'INSERT INTO transitions (workflow_id, seq, body) SELECT ?, count(*), ? FROM transitions WHERE workflow_id = ?',
    id,
    encodeRecord(transition),
    id,
  )
}

/** Enter a digest, or leave it as it was entered. */
export function addDigest(entry: LedgerEntry, records: Records): void {
  records.run(
    'INSERT INTO digests (digest, signer, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ...[entry.digest, entry.signer.toLowerCase(), encodeRecord(entry)],
  )
}

/** Reserve for a workflow, in the place of what was reserved for it before. */
export function setReservation(reservation: Reservation, records: Records): void {
  const { workflowId, role, atMs } = reservation
  const sql =
    'INSERT INTO reservations (workflow_id, role, at_ms, body) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body'
  records.run(sql, workflowId, role, atMs, encodeRecord(reservation))
}
