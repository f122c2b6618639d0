import { type Checked, refuse } from '../errors.ts'
import { type Approval, approvalHash, rulesOf, whyAsk } from '../guard/approval.ts'
import { type Day, dayOf, showDay, whyAskOfDay } from '../guard/approval-day.ts'
import { countAnswers } from '../guard/approvers.ts'
import { BUDGET_MS } from '../guard/budget.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import { show } from '../guard/show.ts'
import type { Journal, Reservation } from '../journal/journal.ts'
import type { Mail } from '../ops/mail.ts'
import { hold } from '../pipeline/hold.ts'
import { moved, type Step } from '../workflow/step.ts'
import { move, type Workflow } from '../workflow/workflow.ts'

/** What asking people about a role's workflows is joined from. */
type AskingDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'spending'>
  readonly ruleset: Ruleset
  readonly approval: Approval
  readonly mail: Pick<Mail, 'answers' | 'everyMs'>
}

/** Join the hold of a live role to what is asked, shown and answered. */
export function createHold(deps: AskingDeps): (workflow: Workflow) => Promise<Step | null> {
  const { nowMs, journal, ruleset, approval, mail } = deps
  const day = async ({ role, id }: Workflow): Promise<Day> => {
    const { rows } = await journal.spending(role, [nowMs() - BUDGET_MS], id)
    return dayOf(rows.filter(counts(id)), nowMs())
  }
  return (workflow) =>
    hold(workflow, {
      nowMs,
      whyAsk: async ({ proposal }) =>
        whyAsk(proposal, approval) ?? whyAskOfDay(proposal.exposure, approval, await day(workflow)),
      rules: rulesOf(ruleset, approval),
      show: async (asked) => ({
        ...show(asked, ruleset, approval),
        day: showDay(asked.proposal.exposure, await day(asked)),
      }),
      hashOf: approvalHash,
      expiresAfterMs: approval.expiresAfterMs,
      answers: async (held, hash) => countAnswers(held, await mail.answers(held.id, hash), approval),
      lookMs: mail.everyMs,
    })
}

/**
 * End a workflow that people approved under other rules than those of now: its next round is asked about anew. Null where
 * it was not asked about, or stands. Pure.
 */
export function endOutdated(
  workflow: Workflow,
  {
    ruleset,
    approval,
    nowMs,
  }: Pick<AskingDeps, 'approval' | 'nowMs'> & { readonly ruleset: Pick<Ruleset, 'hash'> },
): Step | null {
  if (workflow.hold === undefined || workflow.hold.rules === rulesOf(ruleset, approval)) return null
  const message = 'It was approved under other rules than those of now.'
  return moved(move(workflow, 'refused', nowMs(), { note: { check: 'approval_outdated', message } }))
}

/**
 * Refuse a claim that nobody approved where it adds up to more than the policy asks about: others were claimed since it
 * passed its hold, and its next round is held. Pure.
 */
export function checkAsked(
  { workflowId, usdMicros, out, approved }: Reservation,
  rows: readonly Reservation[],
  approval: Approval,
  nowMs: number,
): Checked<unknown> {
  if (approved === true) return { ok: true }
  const exposure = { token: out?.token ?? null, assets: out?.assets ?? 0n, usdMicros }
  const why = whyAskOfDay(exposure, approval, dayOf(rows.filter(counts(workflowId)), nowMs))
  return why === null ? { ok: true } : refuse(why.check, why.message)
}

/** What really moved, or may, beside the workflow that asks. */
const counts =
  (workflowId: string) =>
  (row: Reservation): boolean =>
    row.shadow !== true && !row.reverted && row.workflowId !== workflowId
