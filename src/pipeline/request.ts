import type { Checked, Refusal } from '../errors.ts'
import { isOwn } from '../service/contract/workflow-types.ts'
import type { Proposal } from '../workflow/proposal.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { type FrozenAnswer, move, type Workflow } from '../workflow/workflow.ts'

/** What judging a request needs. */
export type RequestDeps = {
  readonly nowMs: () => number
  /** Kill, pause or a signer that may not sign; `for_now` where that passes by itself; null when work may begin. */
  readonly stopped: () => Refusal | 'for_now' | null
  /** Where a person must be asked first: what the hold comes to; null when nothing stands in the way. */
  readonly hold: (workflow: Workflow) => Promise<Step | null>
  /** Role, type, input and the limit of one workflow, by policy. */
  readonly checkRequest: (proposal: Proposal) => Checked<unknown>
  /** The role's rolling budgets, with what this proposal would add. */
  readonly checkBudget: (proposal: Proposal) => Promise<Checked<unknown>>
  /** What nobody prepares, as an answer of our own. */
  readonly compose: (workflow: Workflow) => Promise<Checked<{ readonly frozen: FrozenAnswer }>>
  /** The service's name for this deployment of the contracts. */
  readonly deploymentNamespace: string
}

/** What closes a gate for now is over soon, or the keeper's end. */
const STOPPED_MS = 500

/**
 * Judge a discovered opportunity by policy, and fix the key and the exact body bytes of its prepare request; what is our
 * own is composed here, and the service never hears of it. Nothing has left the process yet; the caller makes the record
 * durable before the POST.
 */
export async function request(workflow: Workflow, deps: RequestDeps): Promise<Step> {
  const { proposal } = workflow
  const allowed = deps.checkRequest(proposal)
  if (!allowed.ok) return moved(move(workflow, 'refused', deps.nowMs(), { note: allowed }))
  // What is held stays held through a pause, and what was approved waits until its approval ends: nobody is asked twice.
  const held = await deps.hold(workflow)
  if (held !== null) return held
  const stopped = deps.stopped()
  const isApproved = workflow.hold?.approvedAtMs !== undefined
  if (stopped === 'for_now' || (stopped !== null && isApproved)) return wait(STOPPED_MS)
  if (stopped !== null) return moved(move(workflow, 'cancelled', deps.nowMs(), { note: stopped }))
  const affordable = await deps.checkBudget(proposal)
  if (!affordable.ok) return moved(move(workflow, 'refused', deps.nowMs(), { note: affordable }))
  if (isOwn(proposal.workflowType)) {
    const composed = await deps.compose(workflow)
    return composed.ok
      ? moved(move(workflow, 'prepared', deps.nowMs(), { prepared: composed.frozen }))
      : moved(move(workflow, 'refused', deps.nowMs(), { note: composed }))
  }
  const request = requestOf(workflow, deps.deploymentNamespace)
  return moved(move(workflow, 'requested', deps.nowMs(), { request }))
}

/** The key and the exact body of a workflow's prepare request. Pure. */
export function requestOf(
  { id, chainId, signer, proposal: { workflowType, input } }: Workflow,
  deploymentNamespace: string,
): { readonly idempotencyKey: string; readonly body: string } {
  const body = { workflowType, chainId, deploymentNamespace, principalAddress: signer, input }
  return { idempotencyKey: id, body: JSON.stringify(body) }
}
