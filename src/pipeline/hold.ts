import { span } from '../readable.js'
import { moved, type Step, wait } from '../workflow/step.ts'
import { type Hold, move, type Note, REJECTED, type Workflow } from '../workflow/workflow.ts'

/** What a person is shown, and the rules that it was made by. */
type HoldQuestion = Pick<Hold, 'rules' | 'shown'>

type Answers = {
  readonly approved: readonly Omit<Hold['approvals'][number], 'atMs'>[]
  readonly rejected: string | null
}

/** What holding a proposal needs. */
export type HoldDeps = {
  readonly nowMs: () => number
  /** Why a person is asked first; null when none is. */
  readonly whyAsk: (workflow: Workflow) => Promise<Note | null>
  /** Names the rules of now. */
  readonly rules: string
  readonly show: (workflow: Workflow) => Promise<Hold['shown']>
  /** Whether what was shown of what is there is so still. */
  readonly isAsShown: (workflow: Workflow, shown: Hold['shown']) => Promise<boolean>
  /** Names exactly what is approved. */
  readonly hashOf: (workflow: Workflow, asked: HoldQuestion) => string
  readonly expiresAfterMs: number
  /** Who has approved and who has rejected exactly what the workflow's hash names. */
  readonly answers: (workflow: Workflow, hash: string) => Promise<Answers>
  /** How often it is worth to look for an answer. */
  readonly lookMs: number
}

/**
 * Hold a proposal until as many people as the policy asks have approved exactly what was shown. An answer for another hash is none: a proposal
 * whose rules changed meanwhile is asked about anew, and one that would change something else by now than what was shown.
 * @returns null when nothing (more) stands in its way.
 */
export async function hold(workflow: Workflow, deps: HoldDeps): Promise<Step | null> {
  const known = workflow.hold
  if (known === undefined || !isOf(known, workflow, deps)) return ask(workflow, deps)
  const nowMs = deps.nowMs()
  if (known.approvedAtMs !== undefined) {
    if (nowMs < known.untilMs) return null
    const message = `It was approved, and could not begin within ${span(deps.expiresAfterMs)} of being asked about.`
    return moved(move(workflow, 'expired', nowMs, { note: { check: 'approval_expired', message } }))
  }
  if (nowMs >= known.untilMs) {
    const given =
      known.approvals.length === 0 ? 'Nobody' : `${known.approvals.length} of ${known.shown.quorum}`
    const message = `${given} approved it within ${span(deps.expiresAfterMs)}.`
    return moved(move(workflow, 'expired', nowMs, { note: { check: 'approval_expired', message } }))
  }
  const { approved, rejected } = await deps.answers(workflow, known.hash)
  if (rejected !== null) {
    const note = { check: REJECTED, message: `${rejected} rejected it.` }
    return moved(move(workflow, 'cancelled', nowMs, { note }))
  }
  const isKnown = (name: string) => known.approvals.some(({ by }) => by === name)
  const added = approved.filter(({ by }) => !isKnown(by)).map((each) => ({ ...each, atMs: nowMs }))
  const approvals = [...known.approvals, ...added]
  if (approvals.length >= known.shown.quorum) {
    if (!(await deps.isAsShown(workflow, known.shown))) {
      const who = approvals.map(({ by }) => by).join(', ')
      return ask(workflow, deps, `${who} approved it; what is there has changed since, so it is asked anew. `)
    }
    return moved({ ...workflow, hold: { ...known, approvals, approvedAtMs: nowMs } })
  }
  if (added.length > 0) return moved({ ...workflow, hold: { ...known, approvals } })
  return wait(Math.min(deps.lookMs, known.untilMs - nowMs))
}

/** Whether a hold is about this very workflow, under the rules of now. */
const isOf = (hold: Hold, workflow: Workflow, { rules, hashOf }: HoldDeps): boolean =>
  hold.rules === rules && hold.hash === hashOf(workflow, hold)

async function ask(workflow: Workflow, deps: HoldDeps, before = ''): Promise<Step | null> {
  const why = await deps.whyAsk(workflow)
  if (why === null) return null
  const { rules } = deps
  const asked = { rules, shown: await deps.show(workflow) }
  const { approvers, quorum } = asked.shown
  if (approvers !== null && approvers.length < quorum) {
    const left = approvers.map(({ name }) => name).join(', ') || 'nobody'
    const message = `${why.message} ${quorum} have to approve it, and who submits does not: that leaves ${left}. Fix: name more people in approval.approvers.`
    return moved(move(workflow, 'refused', deps.nowMs(), { note: { check: 'approval_impossible', message } }))
  }
  const hash = deps.hashOf(workflow, asked)
  return moved({
    ...workflow,
    hold: {
      ...why,
      message: `${before}${why.message}`,
      ...asked,
      hash,
      untilMs: deps.nowMs() + deps.expiresAfterMs,
      approvals: [],
    },
  })
}
