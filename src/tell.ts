import type { Role } from './agent.ts'
import type { KeeperEvent, SlotEvent, SummaryEvent, WorkflowCounts } from './keeper-events.ts'
import type { Slot } from './workflow/slot.ts'
import { isTerminal, type Workflow } from './workflow/workflow.ts'

const iso = (ms: number) => new Date(ms).toISOString()

/** A refusal is kept as it was made: only its name and sentence are told. */
const whyOf = ({ note }: Workflow) => (note === undefined ? {} : { check: note.check, message: note.message })

/** Tell that a workflow reached a state. Pure. */
export const workflowEvent = (after: Workflow, before: Workflow | null): KeeperEvent => ({
  type: 'workflow',
  id: after.id,
  role: after.role,
  workflowType: after.proposal.workflowType,
  state: after.state,
  at: iso(after.updatedAtMs),
  durationMs: before === null ? 0 : after.updatedAtMs - before.updatedAtMs,
  subject: after.proposal.subject,
  ...(before === null ? { summary: after.proposal.summary } : {}),
  ...(isTerminal(after.state) ? whyOf(after) : {}),
})

/** Tell that a workflow began to wait for a person; null when it did not. Pure. */
export function heldEvent(after: Workflow, before: Workflow, nowMs: number): KeeperEvent | null {
  const { hold } = after
  if (hold === undefined || hold.hash === before.hold?.hash) return null
  const { check, message, hash, untilMs } = hold
  const expiresAt = iso(untilMs)
  return { type: 'held', id: after.id, role: after.role, at: iso(nowMs), hash, check, message, expiresAt }
}

const slotState = (slot: Slot): SlotEvent['state'] | null => {
  if (slot.state !== 'open') return slot.state
  const last = slot.attempts.at(-1)
  return last === undefined || last.state === 'ordered' ? null : last.state
}

/** Tell what moved among the slots of a workflow in flight. Pure. */
export function slotEvents(after: Workflow, before: Workflow): readonly SlotEvent[] {
  return after.slots.flatMap((slot): SlotEvent[] => {
    const known = before.slots.find((each) => each.index === slot.index)
    if (known === slot) return []
    const wasMined = known !== undefined && known.state !== 'open' && slot.state === 'open'
    const state = wasMined ? 'reopened' : slotState(slot)
    const attempt = slot.attempts.find((each) => each.hash === slot.inclusion?.hash) ?? slot.attempts.at(-1)
    const sameAsBefore =
      known !== undefined && slotState(known) === state && known.attempts.length === slot.attempts.length
    if (state === null || attempt === undefined || sameAsBefore) return []
    return [
      {
        type: 'slot',
        id: after.id,
        role: after.role,
        at: iso(after.updatedAtMs),
        nonce: slot.nonce,
        purpose: attempt.purpose,
        state,
        durationMs: after.updatedAtMs - before.updatedAtMs,
        ...(attempt.hash === undefined ? {} : { hash: attempt.hash }),
        ...(slot.inclusion === undefined ? {} : { blockNumber: String(slot.inclusion.blockNumber) }),
      },
    ]
  })
}

/** The count of how workflows ended in this run, and of what they gained. */
type Tally = {
  readonly ended: (workflow: Workflow) => void
  readonly gained: (profitUsdMicros: bigint) => void
  readonly summary: (roles: readonly Role[], parked: readonly Workflow[], nowMs: number) => SummaryEvent
}

/** Create the tally of a run that began at `startedAtMs`. */
export function createTally(startedAtMs: number): Tally {
  const counts = new Map<string, number>()
  let profitUsdMicros = 0n
  const count = (role: Role, state: string) => counts.get(`${role}:${state}`) ?? 0
  return {
    ended: ({ role, state }) => {
      counts.set(`${role}:${state}`, count(role, state) + 1)
    },
    gained: (usdMicros) => {
      profitUsdMicros += usdMicros
    },
    summary: (roles, parked, nowMs) => ({
      type: 'summary',
      at: iso(nowMs),
      durationMs: nowMs - startedAtMs,
      workflows: Object.fromEntries(
        roles.map((role): [Role, WorkflowCounts] => [
          role,
          {
            succeeded: count(role, 'succeeded'),
            refused: count(role, 'refused'),
            expired: count(role, 'expired'),
            reverted: count(role, 'reverted'),
            superseded: count(role, 'superseded'),
            cancelled: count(role, 'cancelled'),
            unconfirmed: count(role, 'unconfirmed'),
            quarantined: count(role, 'quarantined'),
            shadowed: count(role, 'shadowed'),
            parked: parked.filter((workflow) => workflow.role === role).length,
          },
        ]),
      ),
      profitUsdMicros: String(profitUsdMicros),
    }),
  }
}
