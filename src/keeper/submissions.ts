import { type Checked, type Refusal, refuse } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { forgetSubmission, readSubmissions, type Submission } from '../ops/orders.ts'
import type { Role } from '../service/contract/roles.ts'
import { knowsInput, WORKFLOW_TYPES, type WorkflowType } from '../service/contract/workflow-types.ts'
import type { InputValue, Proposal } from '../workflow/proposal.ts'
import type { RoleOrders } from './role-orders.ts'

/** What became of a submission: the workflow that it is, or why it is none. Kept in the journal for its author. */
type Reply = { readonly workflowId: string } | { readonly check: string; readonly message: string }

/** Where the journal keeps the reply to a submission. Pure. */
export const replyKey = (orderId: string) => `order:${orderId}`

/** What taking submissions needs. */
type SubmitDeps = {
  readonly directory: string
  readonly journal: Pick<Journal, 'getValue' | 'setValue' | 'barrier'>
  /** Where orders to a role go, or why there is no such place; null while that is not known yet. */
  readonly role: (role: Role) => RoleOrders | Refusal | null
  /** Why nothing new may begin, or null. */
  readonly stopped: () => Refusal | null
}

/**
 * Take what people submitted: each becomes one workflow, however often its file is read, and its reply is on disk
 * before the file goes. What is for a role that is being opened waits.
 */
export async function takeSubmissions(deps: SubmitDeps): Promise<void> {
  for (const { id, submission } of readSubmissions(deps.directory)) {
    if ((await deps.journal.getValue(replyKey(id))) === null) {
      const reply = await take(id, submission, deps)
      if (reply === null) continue
      await deps.journal.setValue(replyKey(id), JSON.stringify(reply))
    }
    await deps.journal.barrier()
    forgetSubmission(deps.directory, id)
  }
}

async function take(id: string, submission: Submission | null, deps: SubmitDeps): Promise<Reply | null> {
  if (submission === null) return refuse('order_unreadable', `The order ${id} does not hold a submission.`)
  const { role, shadow } = submission
  const staffed = deps.role(role)
  if (staffed === null || 'ok' in staffed) return staffed
  if (staffed.mode === 'shadow' && !shadow) {
    return refuse('role_in_shadow', `The ${role} is in shadow and signs nothing. Fix: submit with --shadow.`)
  }
  const stopped = deps.stopped()
  if (stopped !== null) return stopped
  const proposal = proposalOf(id, submission, staffed)
  if (!proposal.ok) return proposal
  const opened = await staffed.open(proposal.proposal, shadow)
  return opened.ok ? { workflowId: opened.workflowId } : opened
}

/** Make a submission a proposal; what it exposes is counted by the policy, not stated by its author. */
function proposalOf(
  id: string,
  submission: Submission,
  staffed: Pick<RoleOrders, 'exposureOf'>,
): Checked<{ readonly proposal: Proposal }> {
  const { workflowType: named, input, subject, summary, reason, deviationBps } = submission
  const workflowType = WORKFLOW_TYPES.find((type) => type === named)
  if (workflowType === undefined || !knowsInput(workflowType)) {
    return refuse('type_unknown', `What ${named} takes is not known here.`)
  }
  const counted = staffed.exposureOf({ workflowType, input })
  if (!counted.ok) return counted
  const proposal: Proposal = {
    workflowType,
    kind: 'order',
    subject: subject ?? subjectOf(workflowType, input),
    occurrence: id,
    input,
    exposure: counted.exposure,
    ...(deviationBps === undefined ? {} : { deviationBps }),
    summary: summary ?? `submitted by hand as order ${id}`,
    reason: reason ?? {},
  }
  return { ok: true, proposal }
}

/** The contracts and people that an input names, in its order; the type itself where it names none. Pure. */
function subjectOf(type: WorkflowType, input: Readonly<Record<string, InputValue>>): string {
  const addresses = Object.values(input).flatMap((value) =>
    typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value) ? [value.toLowerCase()] : [],
  )
  return addresses.length === 0 ? type : addresses.join(':')
}
