import type { Hex } from 'viem'
import { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import type { TransactionRegistration } from '../service/assumptions.ts'

/** What registering needs. */
export type RegisterDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'due' | 'posted' | 'postpone'>
  readonly post: (requestId: string, idempotencyKey: string, body: TransactionRegistration) => Promise<void>
  readonly onRefused: (hash: Hex, error: RolekeeperError) => void
}

const BACK_OFF_MS = 1_000
const BACK_OFF_MS_MAX = 60_000
/** Told at once: after a long outage of the service there may be thousands. The rest is due at the next look. */
const ROWS_MAX = 32

/**
 * Tell the service of the transactions in the outbox, each until it took it. Apart from the chain's path: a service
 * that is down delays nothing on the chain.
 */
export async function registerDue(deps: RegisterDeps): Promise<void> {
  const rows = (await deps.journal.due(deps.nowMs())).slice(0, ROWS_MAX)
  await Promise.all(
    rows.map(async (row) => {
      try {
        const body = { order: row.order, chainId: row.chainId, txHash: row.hash }
        await deps.post(row.requestId, row.hash.slice(2, 34), body)
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
