import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../src/clock.ts'
import type { Store } from '../store.ts'
import { ApiError } from './api-error.ts'
import type { Caller } from './handler.ts'

/** An answer as it was sent the first time. `body` is the exact text. */
export type StoredAnswer = { readonly status: number; readonly body: string }

/** Answers by caller and `Idempotency-Key`. */
export type Idempotency = {
  /**
   * Record that a request begins, before it has any effect. Returns the answer of an earlier, equal request, or null
   * when this one is to be performed. Throws ApiError 409 `idempotency_conflict` when the key was used for another
   * request, and 409 `idempotency_in_progress` (retryable) while an equal one runs.
   */
  readonly begin: (
    caller: Pick<Caller, 'id' | 'applicationId'>,
    key: string,
    requestHash: string,
  ) => StoredAnswer | null
  /** Record the answer; called inside the transaction that commits the effect. */
  readonly finish: (caller: string, key: string, answer: StoredAnswer) => void
  /** Forget a request that failed inside: nothing was committed, so it may be tried again. */
  readonly release: (caller: string, key: string) => void
  /** Forget what the callers of an application have finished. */
  readonly forget: (applicationId: string) => void
}

/** A day: longer than any client's retries, short enough to stay small. */
const RETENTION_MS = 24 * 3_600_000

/** Keep idempotent answers in the store, for 24 hours. */
export function createIdempotency(store: Store, clock: Clock): Idempotency {
  const thisProcess = randomUUID()
  const purge = store.db.prepare('DELETE FROM idempotency WHERE at_ms < ?')
  const find = store.db.prepare(
    'SELECT request_hash, process, status, answer FROM idempotency WHERE caller = ? AND key = ?',
  )
  // A request that another process of ours began and did not finish committed nothing: it is taken over.
  const claim = store.db.prepare(
    `INSERT INTO idempotency (caller, key, application_id, request_hash, process, at_ms) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (caller, key) DO UPDATE SET process = excluded.process`,
  )
  const finish = store.db.prepare(
    'UPDATE idempotency SET status = ?, answer = ? WHERE caller = ? AND key = ?',
  )
  const release = store.db.prepare('DELETE FROM idempotency WHERE caller = ? AND key = ? AND status IS NULL')
  const forget = store.db.prepare('DELETE FROM idempotency WHERE application_id = ? AND status IS NOT NULL')
  return {
    begin: (caller, key, requestHash) => {
      purge.run(clock.nowMs() - RETENTION_MS)
      const row = find.get(caller.id, key)
      if (row !== undefined && row.request_hash !== requestHash) {
        throw new ApiError(409, 'idempotency_conflict', 'This Idempotency-Key was used for another request.')
      }
      if (row?.answer instanceof Uint8Array)
        return { status: Number(row.status), body: store.open(row.answer) }
      if (row?.process === thisProcess) {
        throw new ApiError(
          409,
          'idempotency_in_progress',
          'A request with this Idempotency-Key is in progress.',
          {
            retryable: true,
            retryAfterS: 1,
          },
        )
      }
      claim.run(caller.id, key, caller.applicationId, requestHash, thisProcess, clock.nowMs())
      return null
    },
    finish: (caller, key, answer) => {
      finish.run(answer.status, store.seal(answer.body), caller, key)
    },
    release: (caller, key) => {
      release.run(caller, key)
    },
    forget: (applicationId) => {
      forget.run(applicationId)
    },
  }
}
