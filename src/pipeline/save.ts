import { type Checked, invariant, type Refusal, RolekeeperError, refuse } from '../errors.ts'
import { span } from '../readable.js'
import { blockedText } from '../service/contract/blocked-reasons.ts'
import { freeze, type ServiceAnswer } from '../workflow/answered.ts'
import { approvalOver } from '../workflow/approval-over.ts'
import { HELD_MS, moved, type Step, wait } from '../workflow/step.ts'
import { move, type Workflow } from '../workflow/workflow.ts'

/** What saving needs. */
export type SaveDeps = {
  readonly nowMs: () => number
  /** Kill, pause or a signer that may not sign; `for_now` where that passes by itself; null when work may begin. */
  readonly stopped: () => Refusal | 'for_now' | null
  /** Policy and approvals, by the rules of now: they may have changed since it was requested. */
  readonly judge: (workflow: Workflow) => Checked<unknown>
  /** The chain, as it is now. Throws RolekeeperError `node.*` when too few nodes answer. */
  readonly look: (workflow: Workflow) => Promise<Checked<unknown>>
  /** Have a session of the signer's wallet. Throws RolekeeperError where there is none yet. */
  readonly openSession: () => Promise<unknown>
  /**
   * POST the exact bytes under the key with that session, once: the same key and bytes may be sent again by another call.
   * `ready` is called right before, once the session is there and its turn came: where it throws, nothing is posted.
   */
  readonly post: (idempotencyKey: string, body: string, ready: () => void) => Promise<ServiceAnswer>
  /**
   * Keys of what this process began and has not posted yet. Of what it did not begin it cannot know: that may have been posted
   * before a restart.
   */
  readonly unsent: Pick<Set<string>, 'add' | 'delete' | 'has'>
}

/**
 * Nobody waits longer for a session or an answer: a person has to see what is, or asks again. What is older is not posted
 * either: another may have saved something since, and it would be lost.
 */
const SAVE_MS_MAX = 60_000
const RETRY_MS = 1_000

/**
 * Have the service do what preparing a workflow does. All that a signature waits for elsewhere comes before the POST here:
 * rules, approvals, switches, the chain, and the wallet's own session. That it may be sent is recorded first: until then it
 * ends as what was never done, from then on it is sent again, same key and same bytes, until the service says what became of it.
 */
export function save(workflow: Workflow, deps: SaveDeps): Promise<Step> {
  const { request } = workflow
  invariant(request !== undefined, `workflow ${workflow.id} is requested without a request`)
  return request.sentAtMs === undefined
    ? begin(workflow, request, deps)
    : send(workflow, request, request.sentAtMs, deps)
}

type Request = NonNullable<Workflow['request']>

/** See to everything that comes before the POST, and record that it may be sent. */
async function begin(workflow: Workflow, request: Request, deps: SaveDeps): Promise<Step> {
  const { nowMs } = deps
  const over = approvalOver(workflow, nowMs())
  if (over !== null) return ended(workflow, over, nowMs(), true, 'expired')
  const against = await speaksAgainst(workflow, deps)
  if (against !== null) return ended(workflow, against, nowMs(), true)
  // Before a key is asked for the session, and again before it is used: the key may have taken its time.
  const halted = haltedBy(workflow, deps)
  if (halted !== null) return halted
  try {
    await deps.openSession()
  } catch (error) {
    return endedBy(workflow, error, nowMs(), workflow.updatedAtMs, true)
  }
  const haltedSince = haltedBy(workflow, deps)
  if (haltedSince !== null) return haltedSince
  // It was requested before a restart, or was held up for long.
  if (isLate(workflow.updatedAtMs, nowMs())) return ended(workflow, TOO_LATE, nowMs(), true, 'expired')
  deps.unsent.add(request.idempotencyKey)
  return moved({ ...workflow, request: { ...request, sentAtMs: nowMs() }, updatedAtMs: nowMs() })
}

/** Ask the rules, and then the chain. @returns what speaks against it, or null. */
async function speaksAgainst(workflow: Workflow, { judge, look }: SaveDeps): Promise<Refusal | null> {
  const judged = judge(workflow)
  if (!judged.ok) return judged
  const looked = await look(workflow)
  return looked.ok ? null : looked
}

/** What stops a workflow that was never sent; null where nothing does. */
function haltedBy(workflow: Workflow, { stopped, nowMs }: SaveDeps): Step | null {
  const halt = stopped()
  if (halt === null) return null
  return halt === 'for_now' ? wait(HELD_MS) : moved(move(workflow, 'cancelled', nowMs(), { note: halt }))
}

/**
 * Send it, or send it again. Everything is asked again each time, for the world moves between two sends; what stands in the way
 * of what may have been sent before is for a person: the service may have it already.
 */
async function send(workflow: Workflow, request: Request, sentAtMs: number, deps: SaveDeps): Promise<Step> {
  const { nowMs, stopped, unsent } = deps
  const { idempotencyKey: key, body } = request
  if (isLate(sentAtMs, nowMs())) return ended(workflow, TOO_LATE, nowMs(), unsent.has(key), 'expired')
  if (stopped() !== null) return wait(HELD_MS)
  const against = await speaksAgainst(workflow, deps)
  if (against !== null) return ended(workflow, against, nowMs(), unsent.has(key))
  let isFirst = false
  const ready = () => {
    // The wallet's key may have taken its time to open the session anew, and the service's quota to come to it.
    if (stopped() !== null || isLate(sentAtMs, nowMs())) throw held()
    isFirst = unsent.delete(key)
  }
  try {
    const answered = await deps.post(key, body, ready)
    const { preflight } = answered.answer
    // What it says of this POST it need not say of one before, whose answer was lost.
    if (preflight.status !== 'passed' && !isFirst)
      return ended(workflow, refuse('preflight_blocked', blockedText(preflight)), nowMs(), false)
    return moved(move(workflow, 'prepared', nowMs(), { prepared: freeze(answered, nowMs()) }))
  } catch (error) {
    const isUnsaved = unsent.has(key) || (isFirst && isTurnedAway(error))
    return endedBy(workflow, error, nowMs(), sentAtMs, isUnsaved)
  }
}

/** By a clock that was put back it would never be late. */
const isLate = (sinceMs: number, nowMs: number): boolean => Math.abs(nowMs - sinceMs) > SAVE_MS_MAX

const TOO_LATE = refuse(
  'save_too_late',
  `It was to be sent more than ${span(SAVE_MS_MAX)} ago, and something else may have been saved since.`,
)

const held = () =>
  new RolekeeperError('save.held', 'It was stopped, or became late, while the session was opened.', {
    retry: 'later',
  })

/** What the service answers before it does anything. */
const TURNED_AWAY: ReadonlySet<string> = new Set(['service.bad_request', 'service.forbidden'])

/** Whether it was the POST itself that was turned away, and not a challenge after it. */
const isTurnedAway = (error: unknown): boolean =>
  error instanceof RolekeeperError &&
  TURNED_AWAY.has(error.code) &&
  error.facts.operation === 'prepareWorkflow'

const mayBeSaved = ({ check, message }: Refusal): Refusal =>
  refuse(check, `${message} It may have been sent before: see at the service whether it was saved.`)

/** End it: as `end` where nothing of it can have been saved, else for a person to see. */
const ended = (
  workflow: Workflow,
  note: Refusal,
  nowMs: number,
  isUnsaved: boolean,
  end: 'refused' | 'expired' = 'refused',
): Step =>
  isUnsaved
    ? moved(move(workflow, end, nowMs, { note }))
    : moved(move(workflow, 'quarantined', nowMs, { note: mayBeSaved(note) }))

/** What a failure comes to: it is tried again for as long as that helps and it is not late. */
function endedBy(
  workflow: Workflow,
  error: unknown,
  nowMs: number,
  sinceMs: number,
  isUnsaved: boolean,
): Step {
  if (!(error instanceof RolekeeperError)) throw error
  const note = refuse(error.code, error.message)
  if (error.retry === 'never') return ended(workflow, note, nowMs, isUnsaved)
  if (!isLate(sinceMs, nowMs)) return wait(RETRY_MS)
  return ended(workflow, note, nowMs, isUnsaved, 'expired')
}
