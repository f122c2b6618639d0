import type { Proposal } from '../workflow/proposal.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { move, type Note, REJECTED, type Workflow } from '../workflow/workflow.ts'

/** What holding a proposal needs. */
export type HoldDeps = {
  readonly nowMs: () => number
  /** Why a person is asked first; null when none is. */
  readonly whyAsk: (proposal: Proposal) => Note | null
  /** Names exactly what would be approved now. */
  readonly hashOf: (workflow: Workflow) => string
  readonly expiresAfterMs: number
  /** A person's answer about a workflow that was given for exactly this hash; null without one. */
  readonly answer: (id: string, hash: string) => Promise<'approve' | 'reject' | null>
  /** How often it is worth to look for an answer. */
  readonly lookMs: number
}

/**
 * Hold a proposal until a person has approved exactly it. An answer for another hash is none: a proposal whose rules
 * changed meanwhile is asked about anew.
 * @returns null when nothing (more) stands in its way.
 */
export async function hold(workflow: Workflow, deps: HoldDeps): Promise<Step | null> {
  const why = deps.whyAsk(workflow.proposal)
  if (why === null) return null
  const nowMs = deps.nowMs()
  const hash = deps.hashOf(workflow)
  const known = workflow.hold
  if (known?.hash !== hash) {
    return moved({ ...workflow, hold: { ...why, hash, untilMs: nowMs + deps.expiresAfterMs } })
  }
  if (known.approvedAtMs !== undefined) return null
  if (nowMs >= known.untilMs) {
    const message = `Nobody approved it within ${deps.expiresAfterMs / 1_000} s.`
    return moved(move(workflow, 'expired', nowMs, { note: { check: 'approval_expired', message } }))
  }
  const verdict = await deps.answer(workflow.id, hash)
  if (verdict === null) return wait(Math.min(deps.lookMs, known.untilMs - nowMs))
  if (verdict === 'approve') return moved({ ...workflow, hold: { ...known, approvedAtMs: nowMs } })
  const note = { check: REJECTED, message: 'A person rejected it.' }
  return moved(move(workflow, 'cancelled', nowMs, { note }))
}
