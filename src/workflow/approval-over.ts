import { type Refusal, refuse } from '../errors.ts'
import type { Workflow } from './workflow.ts'

/**
 * Why what was approved goes no further: its approval ended before anything of it left the process, as over a restart. Null where
 * it may go on, and where nobody had to approve it. Pure.
 */
export function approvalOver({ hold }: Pick<Workflow, 'hold'>, nowMs: number): Refusal | null {
  if (hold?.approvedAtMs === undefined || nowMs < hold.untilMs) return null
  return refuse('approval_expired', 'It was approved, and nothing of it was sent before that approval ended.')
}
