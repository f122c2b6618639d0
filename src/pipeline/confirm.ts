import { isDeepStrictEqual } from 'node:util'
import type { BlockName } from '../chain/finality.ts'
import { invariant, RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { span } from '../readable.js'
import type { WorkflowProgress } from '../service/contract/assumptions.ts'
import { isOwn } from '../service/contract/workflow-types.ts'
import { isMetadata } from '../workflow/metadata.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { move, type Workflow } from '../workflow/workflow.ts'
import { reservationOf } from './transactions/reservation.ts'

/** What confirming needs. */
export type ConfirmDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'write'>
  readonly progress: (requestId: string) => Promise<WorkflowProgress>
  /** How long the service may take to show what is final on chain. */
  readonly waitMsMax: number
  readonly alarm: (error: RolekeeperError) => void
  /** Whether a block is in the canonical chain; null where that is not known. */
  readonly stands: (block: BlockName) => boolean | null
}

/** The service is asked again after this long, unless its event wakes us first. */
const POLL_MS = 1_000
/** Past this the chain's word stands alone where no policy says otherwise: the service's indexer follows within seconds. */
export const CONFIRMATION_MS_MAX = 120_000

/** A block that is not named is not known to be late enough. */
const isAtOrAfter = (named: string | null | undefined, block: bigint): boolean =>
  typeof named === 'string' && BigInt(named) >= block

/** What the service's word comes to. */
type ServiceView =
  | 'shows it'
  | 'does not show it yet'
  | 'contradicts it'
  | 'forgot the workflow'
  | 'does not answer'

/**
 * Compare the service's word with the postconditions that we froze at `prepared`: each is reported true, or denied, at a block
 * at or after ours. Pure.
 */
function compare({ awaiting, prepared }: Workflow, progress: WorkflowProgress): ServiceView {
  invariant(awaiting !== undefined && prepared !== undefined, 'what is confirmed awaits something')
  if (progress.requestId !== prepared.answer.requestId || progress.status === 'failed')
    return 'contradicts it'
  const found = awaiting.postconditions.map((wanted) =>
    progress.canonicalPostconditions.find(
      (seen) =>
        seen.entityType === wanted.entityType &&
        seen.entityId === wanted.entityId &&
        seen.field === wanted.field &&
        isDeepStrictEqual(seen.expected, wanted.expected) &&
        isAtOrAfter(seen.blockNumber ?? progress.freshness?.blockNumber, awaiting.blockNumber),
    ),
  )
  if (found.some((seen) => seen?.satisfied === false)) return 'contradicts it'
  const isShown = found.every((seen) => seen?.satisfied === true)
  return isShown && progress.status === 'final_success' ? 'shows it' : 'does not show it yet'
}

async function ask(workflow: Workflow, requestId: string, deps: ConfirmDeps): Promise<ServiceView> {
  try {
    return compare(workflow, await deps.progress(requestId))
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    return error.code === 'service.not_found' ? 'forgot the workflow' : 'does not answer'
  }
}

/**
 * Wait until the service's canonical state shows what our final transactions did. The chain has spoken already: the
 * service is a second opinion that may be late, and never undoes it: what was spent stays as the receipts say, whatever it
 * says. What is our own it does not know: there the chain's word is all. Past the policy's bound the workflow ends `unconfirmed`, with an alarm.
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
  const word = isOwn(workflow.proposal.workflowType)
    ? 'shows it'
    : await ask(workflow, prepared.answer.requestId, deps)
  if (!standing.includes(null) && word === 'shows it') return moved(move(workflow, 'succeeded', deps.nowMs()))
  const nowMs = deps.nowMs()
  const waitedMs = nowMs - awaiting.sinceMs
  // By a clock that was put back it would wait for as long again.
  if (waitedMs < 0) return moved({ ...workflow, awaiting: { ...awaiting, sinceMs: nowMs } })
  if (waitedMs < deps.waitMsMax) return wait(POLL_MS)
  const error = standing.includes(null)
    ? unknownBlocks(workflow, waitedMs)
    : unconfirmed(workflow, word, waitedMs)
  deps.alarm(error)
  const note = { check: 'service_unconfirmed', message: error.message }
  return moved(move(workflow, 'unconfirmed', nowMs, { note }))
}

const unknownBlocks = ({ id }: Workflow, ms: number) =>
  new RolekeeperError(
    'workflow.unconfirmed',
    `After ${span(ms - (ms % 1_000))} the nodes do not say whether the blocks of workflow ${id} stand.`,
    {
      fix: 'compare the nodes in `chain.nodes`, and look for the transactions of this workflow.',
      facts: { workflowId: id },
    },
  )

const unconfirmed = ({ id, proposal }: Workflow, word: ServiceView, ms: number) => {
  const [done, fix] = isMetadata(proposal.workflowType)
    ? [
        'was taken by the service to be saved',
        'see at the service whether it is saved: it has no transaction.',
      ]
    : [
        'is final on the chain',
        "compare the service's indexer with the transactions of this workflow; what it moved and cost is counted by the chain.",
      ]
  return new RolekeeperError(
    'workflow.unconfirmed',
    `Workflow ${id} ${done}, and after ${span(ms - (ms % 1_000))} the service ${word}.`,
    { fix, facts: { workflowId: id, said: word } },
  )
}
