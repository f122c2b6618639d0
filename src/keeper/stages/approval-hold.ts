import { isDeepStrictEqual } from 'node:util'
import type { Address } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { type Approval, approvalHash, rulesOf, whyAsk } from '../../guard/approval/approval.ts'
import { type Day, dayOf, showDay, whyAskOfDay } from '../../guard/approval/approval-day.ts'
import { countAnswers, isApproved } from '../../guard/approval/approvers.ts'
import { show } from '../../guard/explain/approval-screen.ts'
import { compare } from '../../guard/explain/compare.ts'
import { BUDGET_MS } from '../../guard/limits/budget.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import type { Journal, Reservation } from '../../journal/journal.ts'
import type { Mail } from '../../ops/mail.ts'
import { hold } from '../../pipeline/hold.ts'
import { isMetadata } from '../../workflow/metadata.ts'
import { moved, type Step } from '../../workflow/step.ts'
import { type Hold, move, type Workflow } from '../../workflow/workflow.ts'
import { isLimitedWith } from '../policy/shared-limits.ts'

/** What asking people about a role's workflows is joined from. */
type AskingDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'spending'>
  readonly nodes: Pick<Nodes, 'calls'>
  readonly ruleset: Ruleset
  readonly approval: Approval
  readonly mail: Pick<Mail, 'answers' | 'everyMs'>
  /** Signers whose limits are others. */
  readonly apart: readonly Address[]
}

/** Join the hold of a live role to what is asked, shown and answered. */
export function createHold(deps: AskingDeps): (workflow: Workflow) => Promise<Step | null> {
  const { nowMs, journal, nodes, ruleset, approval, mail, apart } = deps
  const changesOf = async (workflow: Workflow) => [
    ...show(workflow, ruleset, approval).changes,
    ...(await compare(workflow, ruleset, async (reads) => reads.fill(await nodes.calls(reads.calls)))),
  ]
  const day = async ({ role, id }: Workflow): Promise<Day> => {
    const { rows } = await journal.spending(role, [nowMs() - BUDGET_MS], id)
    return dayOf(
      rows.filter((row) => counts(id)(row) && isLimitedWith(row, apart)),
      nowMs(),
    )
  }
  return async (workflow) =>
    (await hold(workflow, {
      nowMs,
      whyAsk: async ({ proposal }) =>
        whyAsk(proposal, approval) ?? whyAskOfDay(proposal.exposure, approval, await day(workflow)),
      rules: rulesOf(ruleset, approval),
      show: async (asked) => ({
        ...show(asked, ruleset, approval),
        changes: await changesOf(asked),
        day: showDay(asked.proposal.exposure, await day(asked)),
      }),
      isAsShown: async (held, { changes }) => isDeepStrictEqual(await changesOf(held), changes),
      hashOf: hashBy(deps),
      expiresAfterMs: approval.expiresAfterMs,
      answers: async (held, hash) => countAnswers(held, await mail.answers(held.id, hash), approval),
      lookMs: mail.everyMs,
    })) ?? endUnapproved(workflow, deps)
}

/**
 * Name what is asked about by what our own rules show of it now: whoever may write the record shows people something else
 * beside a hash of it, and must get no approval for that. How a day adds up is as it was shown, and what an order would
 * change: that was read of the chain, and is again when it is approved.
 */
const hashBy =
  ({ ruleset, approval }: Pick<AskingDeps, 'ruleset' | 'approval'>) =>
  (workflow: Workflow, { rules, shown: { day, changes } }: Pick<Hold, 'rules' | 'shown'>): string => {
    const ours = show(workflow, ruleset, approval)
    const isRead = workflow.proposal.askedBy !== undefined
    return approvalHash(workflow, { rules, shown: { ...ours, day, ...(isRead ? { changes } : {}) } })
  }

/**
 * End a workflow of which people approved something else than the rules of now show, or that they must approve and have
 * not: its next round is asked about. Whether they have is in the answers that it keeps, not in its state. Null where
 * nobody was asked and need not be, where it stands, and where preparing it has done it: it was approved before. Pure.
 */
export function endUnapproved(
  workflow: Workflow,
  deps: Pick<AskingDeps, 'ruleset' | 'approval' | 'nowMs'>,
): Step | null {
  if (workflow.prepared !== undefined && isMetadata(workflow.proposal.workflowType)) return null
  const note = refusalOfApproval(workflow, deps)
  return note === null ? null : moved(move(workflow, 'refused', deps.nowMs(), { note }))
}

/** Why a workflow lacks the approvals that the rules of now ask for; null where it has them. Pure. */
export function refusalOfApproval(
  workflow: Workflow,
  deps: Pick<AskingDeps, 'ruleset' | 'approval'>,
): Refusal | null {
  const { approval, ruleset } = deps
  const { hold } = workflow
  if (hold === undefined) {
    const why = whyAsk(workflow.proposal, approval)
    return why === null ? null : refuse('approval_missing', `Nobody was asked about it. ${why.message}`)
  }
  if (hold.rules !== rulesOf(ruleset, approval) || hold.hash !== hashBy(deps)(workflow, hold)) {
    return refuse('approval_outdated', 'It was approved under other rules than those of now.')
  }
  if (isApproved(workflow, approval)) return null
  return refuse(
    'approval_missing',
    'Its record keeps fewer answers that approve it than the policy asks for.',
  )
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
