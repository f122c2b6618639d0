import { type Checked, type Refusal, refuse } from '../errors.ts'
import { contentHash } from '../guard/content-hash.ts'
import type { Mail, Reply } from '../ops/mail.ts'
import type { Submission } from '../ops/orders.ts'
import type { Role } from '../service/contract/roles.ts'
import { knowsInput, WORKFLOW_TYPES, type WorkflowType } from '../service/contract/workflow-types.ts'
import type { InputValue, Proposal } from '../workflow/proposal.ts'
import type { RoleOrders } from './role-orders.ts'

/** What taking submissions needs. */
type SubmitDeps = {
  readonly mail: Pick<Mail, 'submissions' | 'take' | 'reply'>
  /** Where orders to a role go, or why there is no such place; null while that is not known yet. */
  readonly role: (role: Role) => RoleOrders | Refusal | null
  /** Why nothing new may begin, `for_now` where that passes by itself, or null. */
  readonly stopped: () => Refusal | 'for_now' | null
}

/**
 * Take what people submitted: each becomes one workflow, however often it is read. What is for a role that is being
 * opened waits, and what is stopped for now.
 */
export async function takeSubmissions(deps: SubmitDeps): Promise<void> {
  for (const { id, order } of await deps.mail.submissions()) {
    const reply = await take(id, order, deps)
    if (reply !== null) await deps.mail.reply(id, reply)
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
  if (stopped !== null) return stopped === 'for_now' ? null : stopped
  const proposal = proposalOf(id, submission, staffed)
  if (!proposal.ok) return proposal
  if (!(await deps.mail.take(id))) return null
  const opened = await staffed.open(proposal.proposal, shadow)
  return opened.ok ? { workflowId: opened.workflowId } : opened
}

/** Make a submission a proposal; what it exposes is counted by the policy, not stated by its author. */
function proposalOf(
  id: string,
  submission: Submission,
  staffed: Pick<RoleOrders, 'exposureOf' | 'askerOf'>,
): Checked<{ readonly proposal: Proposal }> {
  const { by, ...order } = submission
  const asked = staffed.askerOf({ id, contentHash: contentHash(order), by })
  if (!asked.ok) return asked
  const { workflowType: named, input, subject, summary, reason } = order
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
    summary: summary ?? `submitted by hand as order ${id}`,
    askedBy: asked.asker,
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
