import type { Decision } from '../../agents/agent.ts'
import { printable } from '../errors.ts'
import type { DecisionRow } from '../journal/journal.ts'
import type { Role } from '../service/contract/roles.ts'

/** An unchanged reason is stored again after this long, so that `explain` shows figures of the last minute. */
const REPEAT_MS = 60_000

/** Subjects remembered; a deployment has fewer positions. */
const SUBJECTS_MAX = 20_000

/** Of one decision, characters and numbers: what an agent writes of the longest rows is a tenth of it. */
/** A market, a vault and a borrower with an id beside them. */
const SUBJECT_LENGTH_MAX = 400
const MESSAGE_LENGTH_MAX = 1_000
const REASONS_MAX = 40

/** A row is bounded and printable, whatever it is made of: it goes to the journal, a terminal and a page. Pure. */
const bounded = (row: DecisionRow): DecisionRow => ({
  ...row,
  subject: printable(row.subject, SUBJECT_LENGTH_MAX),
  message: printable(row.message, MESSAGE_LENGTH_MAX),
  reason: Object.fromEntries(
    Object.entries(row.reason)
      .slice(0, REASONS_MAX)
      .map(([name, value]) => [printable(name), typeof value === 'string' ? printable(value) : value]),
  ),
})

/**
 * Remember what was decided of each subject, so that a decision is stored when its reason changes and not each time.
 * @returns a function from a decision to the rows worth storing.
 */
export function createDecisionRows(
  role: Role,
): (decision: Decision, nowMs: number) => readonly DecisionRow[] {
  const last = new Map<string, { readonly check: string; readonly atMs: number }>()
  return (decision, nowMs) => {
    const rows: readonly DecisionRow[] = [
      ...decision.proposals.map((proposal) => ({
        role,
        subject: proposal.subject,
        atMs: nowMs,
        check: 'proposed',
        message: proposal.summary,
        reason: proposal.reason,
      })),
      ...decision.passedOver.map(({ subject, check, message, reason, near }) => ({
        role,
        subject,
        atMs: nowMs,
        check,
        message,
        reason: near === undefined ? reason : { ...reason, near },
      })),
    ]
    const fresh = rows.filter(({ subject, check }) => {
      const known = last.get(subject)
      if (known !== undefined && known.check === check && Math.abs(nowMs - known.atMs) < REPEAT_MS)
        return false
      last.delete(subject)
      last.set(subject, { check, atMs: nowMs })
      const oldest = last.keys().next().value
      if (last.size > SUBJECTS_MAX && oldest !== undefined) last.delete(oldest)
      return true
    })
    return fresh.map(bounded)
  }
}
