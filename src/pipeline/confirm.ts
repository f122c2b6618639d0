import { isDeepStrictEqual } from 'node:util'
import type { BlockName } from '../chain/finality.ts'
import { invariant, RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import type { WorkflowProgress } from '../service/contract/assumptions.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { move, type Workflow } from '../workflow/workflow.ts'
import { reservationOf } from './transactions/raise.ts'

/** What confirming needs. */
export type ConfirmDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'write'>
  readonly progress: (requestId: string) => Promise<WorkflowProgress>
  /** Whether a block is in the canonical chain; null where that is not known. */
  readonly stands: (block: BlockName) => boolean | null
}

/** The service is asked again after this long, unless its event wakes us first. */
const POLL_MS = 1_000
/** Past this the chain's word stands alone, and the workflow ends unconfirmed. */
const SERVICE_WAIT_MS_MAX = 600_000

/** A block that is not named is not known to be late enough. */
const isAtOrAfter = (named: string | null | undefined, block: bigint): boolean =>
  typeof named === 'string' && BigInt(named) >= block

/** Whether every postcondition that we froze at `prepared` is reported true at a block at or after ours. Pure. */
function satisfied(workflow: Workflow, progress: WorkflowProgress): boolean {
  const { awaiting } = workflow
  invariant(awaiting !== undefined, `workflow ${workflow.id} is confirmed without postconditions to await`)
  return awaiting.postconditions.every((wanted) =>
    progress.canonicalPostconditions.some(
      (seen) =>
        seen.entityType === wanted.entityType &&
        seen.entityId === wanted.entityId &&
        seen.field === wanted.field &&
        isDeepStrictEqual(seen.expected, wanted.expected) &&
        seen.satisfied &&
        isAtOrAfter(seen.blockNumber ?? progress.freshness?.blockNumber, awaiting.blockNumber),
    ),
  )
}

/**
 * Wait until the service's canonical state shows what our final transactions did. The chain has spoken already: the
 * service is a second opinion that may be late, never one that undoes it.
 */
export async function confirm(workflow: Workflow, deps: ConfirmDeps): Promise<Step> {
  const { awaiting, prepared } = workflow
  invariant(
    awaiting !== undefined && prepared !== undefined,
    `workflow ${workflow.id} has nothing to confirm`,
  )
  const standing = workflow.slots.flatMap(({ inclusion }) =>
    inclusion === undefined
      ? []
      : [deps.stands({ number: inclusion.blockNumber, hash: inclusion.blockHash })],
  )
  // Another block is there: the finality that we relied on is gone, and what it may cost is open again.
  if (standing.includes(false)) {
    const slots = workflow.slots.map((slot) => ({
      ...slot,
      state: slot.inclusion ? ('mined' as const) : slot.state,
    }))
    const reopened = move(workflow, 'in_flight', deps.nowMs(), { slots })
    const reservation = reservationOf(reopened, reopened.updatedAtMs)
    return { type: 'written', workflow: await deps.journal.write(reopened, reservation) }
  }
  try {
    const progress = await deps.progress(prepared.answer.requestId)
    const isOurs = progress.requestId === prepared.answer.requestId
    const isDone = progress.status === 'final_success' && satisfied(workflow, progress)
    if (!standing.includes(null) && isOurs && isDone) return moved(move(workflow, 'succeeded', deps.nowMs()))
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
  }
  const waitedMs = deps.nowMs() - awaiting.sinceMs
  if (waitedMs < SERVICE_WAIT_MS_MAX) return wait(POLL_MS)
  const seconds = Math.round(waitedMs / 1_000)
  const message = standing.includes(null)
    ? `After ${seconds} s the nodes do not say whether its blocks stand. Fix: compare the nodes in \`chain.nodes\`, and look for the transactions of this workflow.`
    : `The chain is final, but after ${seconds} s the service does not show final_success. Fix: compare the service's indexer with the transactions of this workflow.`
  return moved(
    move(workflow, 'unconfirmed', deps.nowMs(), { note: { check: 'service_unconfirmed', message } }),
  )
}
