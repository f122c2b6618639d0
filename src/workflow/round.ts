import type { Workflow } from './workflow.ts'

/**
 * The newest round of an opportunity, as far as it says whether another may follow: it is kept for good, also where nobody
 * has the workflow's record any more.
 */
export type LastRound = Pick<Workflow, 'id' | 'round' | 'state' | 'updatedAtMs' | 'claimedRounds'> & {
  readonly hasClaimed: boolean
  /** Since when no round took a nonce. */
  readonly refusedSinceMs: number
  /** What it ended by, where a check ended it. */
  readonly check?: string
}

/** Say of a workflow what is kept of it as a round. Pure. */
export function lastRoundOf(workflow: Workflow): LastRound {
  const { id, round, state, createdAtMs, updatedAtMs, claimedRounds, refusedSinceMs, slots, note } = workflow
  return {
    id,
    round,
    state,
    updatedAtMs,
    hasClaimed: slots.length > 0,
    refusedSinceMs: refusedSinceMs ?? createdAtMs,
    ...(claimedRounds === undefined ? {} : { claimedRounds }),
    ...(note === undefined ? {} : { check: note.check }),
  }
}
