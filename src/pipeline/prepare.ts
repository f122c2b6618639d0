import { invariant, RolekeeperError, refuse } from '../errors.ts'
import { freeze, type ServiceAnswer } from '../workflow/answered.ts'
import { approvalOver } from '../workflow/approval-over.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { move, type Workflow } from '../workflow/workflow.ts'

/** What preparing needs. */
export type PrepareDeps = {
  readonly nowMs: () => number
  /** POST the exact bytes under the key; the same key and bytes may be sent again. */
  readonly post: (idempotencyKey: string, body: string) => Promise<ServiceAnswer>
}

/** An opportunity that the service has not answered for this long is looked at anew; what a person took does not count. */
const ANSWER_WAIT_MS_MAX = 60_000
const RETRY_MS = 1_000

/**
 * Have the service prepare the workflow, and freeze its answer. A lost reply is answered by the same bytes under the
 * same key. A conflict of keys is a try that our journal forgot, as one from a backup does: preparing changes nothing here, so
 * the next round has another key.
 */
export async function prepare(workflow: Workflow, deps: PrepareDeps): Promise<Step> {
  const { request } = workflow
  invariant(request !== undefined, `workflow ${workflow.id} is requested without a request`)
  const over = approvalOver(workflow, deps.nowMs())
  if (over !== null) return moved(move(workflow, 'expired', deps.nowMs(), { note: over }))
  try {
    const answered = await deps.post(request.idempotencyKey, request.body)
    const nowMs = deps.nowMs()
    return moved(move(workflow, 'prepared', nowMs, { prepared: freeze(answered, nowMs) }))
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    const nowMs = deps.nowMs()
    const note = refuse(error.code, error.message)
    if (error.retry === 'never') return moved(move(workflow, 'refused', nowMs, { note }))
    if (nowMs - workflow.updatedAtMs > ANSWER_WAIT_MS_MAX)
      return moved(move(workflow, 'expired', nowMs, { note }))
    return wait(RETRY_MS)
  }
}
