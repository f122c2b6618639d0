import type { Nodes } from '../../chain/nodes.ts'
import { type Refusal, RolekeeperError, refuse } from '../../errors.ts'
import type { Approval } from '../../guard/approval/approval.ts'
import { checkRequest } from '../../guard/checks/check-request.ts'
import { lookNow } from '../../guard/checks/recheck.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import { type Gate, stopped } from '../../ops/control.ts'
import type { Stage } from '../../pipeline/pipeline.ts'
import { requestOf } from '../../pipeline/request.ts'
import { save } from '../../pipeline/save.ts'
import type { ServiceClient } from '../../service/client.ts'
import type { WalletSession } from '../../service/session.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { refusalOfApproval } from './approval-hold.ts'

/** What is done by preparing it is joined from. */
export type SavingDeps = {
  readonly nowMs: () => number
  readonly nodes: Pick<Nodes, 'simulate'>
  readonly client: Pick<ServiceClient, 'prepareWorkflow'>
  readonly ruleset: Ruleset
  readonly approval: Approval
  /** Of the signer's wallet with the service. */
  readonly session: WalletSession
  /** Kill and pause, read now. */
  readonly gate: () => Gate
}

/** Join the stage of what is done by preparing it to the rules, the chain and the wallet's session. */
export function createSaving(deps: SavingDeps): Stage {
  const { nowMs, nodes, client, ruleset, gate, session } = deps
  const withSession = sessionOf(session)
  const unsent = new Set<string>()
  return (workflow) => {
    const { proposal, role, signer } = workflow
    const requested = () => checkRequest({ proposal, role, signer, ruleset })
    return save(workflow, {
      nowMs,
      stopped: () => stopped(gate()),
      judge: () => {
        const allowed = requested()
        if (!allowed.ok) return allowed
        return refusalOfApproval(workflow, deps) ?? checkRequested(workflow, ruleset) ?? allowed
      },
      look: async () => {
        const allowed = requested()
        if (!allowed.ok) return allowed
        const subject = { ...allowed.subject, deadlineS: 0n }
        return lookNow({ subject, calls: [], proposal, ruleset, nowMs: nowMs() }, { nodes })
      },
      openSession: () => withSession(async () => null),
      post: (idempotencyKey, bodyText, ready) =>
        withSession((session) => client.prepareWorkflow({ bodyText, idempotencyKey, session, ready })),
      unsent,
    })
  }
}

/** Use the wallet's session; a challenge that is not signed is tried again: the next one is another. */
const sessionOf =
  (session: WalletSession) =>
  async <T>(work: (token: string) => Promise<T>): Promise<T> => {
    const used = await session.use(work)
    if (used.ok) return used.value
    throw new RolekeeperError('session.refused', used.message, {
      facts: { check: used.check },
      retry: 'later',
    })
  }

/** What is posted is the effect: whoever may write the record must get nothing else posted than what was judged. */
function checkRequested(workflow: Workflow, { deployment }: Ruleset): Refusal | null {
  const { idempotencyKey, body } = requestOf(workflow, deployment.namespace)
  const isOurs = workflow.request?.idempotencyKey === idempotencyKey && workflow.request.body === body
  return isOurs ? null : refuse('record_not_requested', 'Its record holds another request than its proposal.')
}
