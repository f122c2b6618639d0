import type { Hex } from 'viem'
import { invariant, RolekeeperError } from '../errors.ts'
import type { Journal, OutboxRow } from '../journal/journal.ts'
import type { TransactionRegistration } from '../service/contract/assumptions.ts'
import { isOwn } from '../service/contract/workflow-types.ts'
import type { Workflow } from '../workflow/workflow.ts'

/**
 * Say what of a workflow is to be registered with the service: each payload of its intents that a node has, by hash; nothing
 * of what is our own. What is in the outbox stays as it is, so this may be asked again, and is: a crash may have lost rows with the last commit. Pure.
 */
export function registrations(workflow: Workflow, nowMs: number): readonly Omit<OutboxRow, 'tries'>[] {
  if (isOwn(workflow.proposal.workflowType)) return []
  // A no-op that fills a nonce was prepared by nobody.
  if (workflow.slots.every(({ attempts }) => attempts.every(({ purpose }) => purpose === 'noop'))) return []
  const requestId = workflow.prepared?.answer.requestId
  invariant(requestId !== undefined, `workflow ${workflow.id} is in flight without an answer`)
  return workflow.slots
    .filter(({ kind }) => kind === 'intent')
    .flatMap((slot) =>
      slot.attempts.flatMap(({ purpose, state, hash }) => {
        const isPublic = state === 'sent' || hash === slot.inclusion?.hash
        return purpose === 'payload' && isPublic && hash !== undefined
          ? [
              {
                workflowId: workflow.id,
                requestId,
                order: slot.index,
                chainId: slot.chainId,
                hash,
                dueAtMs: nowMs,
              },
            ]
          : []
      }),
    )
}

/** What registering needs. */
export type RegisterDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'due' | 'posted' | 'postpone'>
  readonly post: (
    workflow: Pick<OutboxRow, 'workflowId' | 'requestId'>,
    idempotencyKey: string,
    body: TransactionRegistration,
  ) => Promise<void>
  readonly onRefused: (hash: Hex, error: RolekeeperError) => void
}

const BACK_OFF_MS = 1_000
const BACK_OFF_MS_MAX = 60_000
/** Registered at once: after a long outage of the service there may be thousands. The rest is due at the next look. */
const ROWS_MAX = 32

/**
 * Register the transactions in the outbox with the service, each until it took it. Apart from the chain's path: a service
 * that is down delays nothing on the chain.
 */
export async function registerDue(deps: RegisterDeps): Promise<void> {
  const nowMs = deps.nowMs()
  const waiting = await deps.journal.due(Number.MAX_SAFE_INTEGER, ROWS_MAX)
  // Nothing waits for longer than the longest back-off: what would is of a clock that was put back since.
  const rows = waiting.filter(({ dueAtMs }) => dueAtMs <= nowMs || dueAtMs > nowMs + BACK_OFF_MS_MAX)
  await Promise.all(
    rows.map(async (row) => {
      try {
        const body = { order: row.order, chainId: row.chainId, txHash: row.hash }
        await deps.post(row, row.hash.slice(2, 34), body)
        await deps.journal.posted(row.hash)
      } catch (error) {
        if (!(error instanceof RolekeeperError)) throw error
        if (error.retry === 'never') deps.onRefused(row.hash, error)
        const backOffMs = Math.min(BACK_OFF_MS * 2 ** Math.min(row.tries, 10), BACK_OFF_MS_MAX)
        await deps.journal.postpone(row.hash, deps.nowMs() + backOffMs)
      }
    }),
  )
}
