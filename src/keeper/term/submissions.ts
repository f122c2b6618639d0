import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { contentHash } from '../../guard/content-hash.ts'
import type { Mail, Reply } from '../../ops/mail.ts'
import { leftBehind, type QueuedOrder, type Submission } from '../../ops/orders.ts'
import type { Role } from '../../service/contract/roles.ts'
import { WORKFLOW_TYPES, type WorkflowType } from '../../service/contract/workflow-types.ts'
import type { InputValue, Proposal } from '../../workflow/proposal.ts'
import type { RoleOrders } from '../role/open-proposal.ts'

/** What taking submissions needs. */
type SubmitDeps = {
  readonly mail: Pick<Mail, 'submissions' | 'take' | 'reply'>
  /** Where orders to a role go, or why there is no such place; null while that is not known yet. */
  readonly role: (role: Role) => RoleOrders | Refusal | null
  /** Why a role may begin nothing new, `for_now` where that passes by itself, or null. */
  readonly stopped: (role: Role) => Refusal | 'for_now' | null
}

/**
 * Take what people submitted: each becomes one workflow, however often it is read. What is for a role that is being
 * opened waits, and what is stopped for now.
 */
export async function takeSubmissions(deps: SubmitDeps): Promise<void> {
  for (const waiting of await deps.mail.submissions()) {
    const reply = await take(waiting, deps)
    if (reply !== null) await deps.mail.reply(waiting.id, reply)
  }
}

async function take(
  { id, order: submission, isLate }: QueuedOrder<Submission>,
  deps: SubmitDeps,
): Promise<Reply | null> {
  if (submission === null) return refuse('order_unreadable', `The order ${id} does not hold a submission.`)
  const { role, shadow } = submission
  const staffed = deps.role(role)
  if (staffed === null || 'ok' in staffed) return staffed
  const stopped = deps.stopped(role)
  if (stopped === 'for_now') return null
  const late = isLate === true ? leftBehind(id) : null
  const proposal = late ?? whyUnsigned(submission, staffed) ?? stopped ?? proposalOf(id, submission, staffed)
  // What was opened before a crash goes on, whatever would be said to it now: its author must not order it again.
  if (!proposal.ok) return (await openedOf(id, submission, staffed)) ?? proposal
  if (!(await deps.mail.take(id))) return null
  const opened = await staffed.open(proposal.proposal, shadow)
  return opened.ok ? { workflowId: opened.workflowId } : opened
}

const whyUnsigned = ({ role, shadow }: Submission, { mode }: Pick<RoleOrders, 'mode'>): Refusal | null =>
  mode === 'shadow' && !shadow
    ? refuse('role_in_shadow', `The ${role} is in shadow and signs nothing. Fix: submit with --shadow.`)
    : null

async function openedOf(id: string, submission: Submission, { opened }: Pick<RoleOrders, 'opened'>) {
  const workflowType = typeOf(submission)
  return workflowType === undefined ? null : opened(aboutOf(id, workflowType, submission), submission.shadow)
}

const typeOf = ({ workflowType }: Submission) => WORKFLOW_TYPES.find((type) => type === workflowType)

/** Which opportunity an order is: its own. */
const aboutOf = (id: string, workflowType: WorkflowType, { subject, input }: Submission) => ({
  workflowType,
  kind: 'order',
  subject: subject ?? subjectOf(workflowType, input),
  occurrence: id,
})

/** Make a submission a proposal; what it exposes is counted by the policy, not stated by its author. */
function proposalOf(
  id: string,
  submission: Submission,
  staffed: Pick<RoleOrders, 'exposureOf' | 'askerOf' | 'say'>,
): Checked<{ readonly proposal: Proposal }> {
  const { by, ...order } = submission
  const asked = staffed.askerOf({ id, contentHash: contentHash(order), by })
  if (!asked.ok) return asked
  const { input, summary, reason } = order
  const workflowType = typeOf(submission)
  if (workflowType === undefined)
    return refuse('type_unknown', `"${order.workflowType}" is no workflow type.`)
  const counted = staffed.exposureOf({ workflowType, input })
  if (!counted.ok) return counted
  const proposal: Proposal = {
    ...aboutOf(id, workflowType, submission),
    input,
    exposure: counted.exposure,
    summary: summary ?? staffed.say({ workflowType, input }),
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
