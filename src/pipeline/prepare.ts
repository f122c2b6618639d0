import { createHash } from 'node:crypto'
import { invariant, RolekeeperError, refuse } from '../errors.ts'
import type { PreparedWorkflow } from '../service/contract/prepared-workflow.ts'
import { WORKFLOW_CATALOGUE } from '../service/contract/workflow-types.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { move, type Workflow } from '../workflow/workflow.ts'

/** What preparing needs. */
export type PrepareDeps = {
  readonly nowMs: () => number
  /** POST the exact bytes under the key; the same key and bytes may be sent again. */
  readonly post: (
    idempotencyKey: string,
    body: string,
  ) => Promise<{ readonly bytes: string; readonly answer: PreparedWorkflow }>
}

/** An opportunity that the service has not answered for this long is looked at anew; what a person took does not count. */
const ANSWER_WAIT_MS_MAX = 60_000
const RETRY_MS = 1_000

/**
 * Have the service prepare the workflow, and freeze its answer. A lost reply is answered by the same bytes under the
 * same key. A conflict of keys is a try that our journal forgot, as one from a backup does: where preparing changes
 * nothing, the next round has another key; where preparing is the effect, a person has to look.
 */
export async function prepare(workflow: Workflow, deps: PrepareDeps): Promise<Step> {
  const { request } = workflow
  invariant(request !== undefined, `workflow ${workflow.id} is requested without a request`)
  try {
    const { bytes, answer } = await deps.post(request.idempotencyKey, request.body)
    const nowMs = deps.nowMs()
    const bytesSha256 = createHash('sha256').update(bytes).digest('hex')
    return moved(
      move(workflow, 'prepared', nowMs, { prepared: { bytesSha256, answer, receivedAtMs: nowMs } }),
    )
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    const nowMs = deps.nowMs()
    const note = refuse(error.code, error.message)
    const { executionMode } = WORKFLOW_CATALOGUE[workflow.proposal.workflowType]
    if (error.code === 'service.conflict' && executionMode !== 'onchain_transaction')
      return moved(move(workflow, 'quarantined', nowMs, { note }))
    if (error.retry === 'never') return moved(move(workflow, 'refused', nowMs, { note }))
    if (nowMs - workflow.updatedAtMs > ANSWER_WAIT_MS_MAX)
      return moved(move(workflow, 'expired', nowMs, { note }))
    return wait(RETRY_MS)
  }
}
