import type { Decision } from '../../agents/agent.ts'
import type { DecisionRow } from '../journal/journal.ts'
import type { Role } from '../service/contract/roles.ts'

/** An unchanged reason is stored again after this long, so that `explain` shows figures of the last minute. */
const REPEAT_MS = 60_000

/** Subjects remembered; a deployment has fewer positions. */
const SUBJECTS_MAX = 20_000

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
    return rows.filter(({ subject, check }) => {
      const known = last.get(subject)
      if (known !== undefined && known.check === check && nowMs - known.atMs < REPEAT_MS) return false
      last.delete(subject)
      last.set(subject, { check, atMs: nowMs })
      const oldest = last.keys().next().value
      if (last.size > SUBJECTS_MAX && oldest !== undefined) last.delete(oldest)
      return true
    })
  }
}
