import { type Checked, type Refusal, RolekeeperError } from '../../errors.ts'
import type { Journal, Reservation } from '../../journal/journal.ts'
import type { Gate } from '../../ops/control.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { reservationOf } from './reservation.ts'

/** What writing replacements needs. */
export type RaiseDeps = {
  readonly gate: () => Gate
  readonly journal: Pick<Journal, 'write'>
  /** Whether what is public would still do what it was cleared for: by our own reads and a simulation of now. */
  readonly lookAgain: (workflow: Workflow) => Promise<Checked<unknown>>
  readonly checkBudget: (reservation: Reservation) => Promise<Checked<unknown>>
  /** Write with the reservation in one step, unless the budgets have no room for it by then. */
  readonly reserve: (workflow: Workflow, reservation: Reservation) => Promise<Workflow | Refusal>
}

/** Refusals that say nothing of the payload, only that we cannot see: it is neither helped on its way nor closed. */
const UNSEEN: ReadonlySet<string> = new Set(['head_stale', 'clock_behind', 'read_failed', 'nodes_disagree'])

/**
 * Write the replacements that were ordered, and reserve what they add. A payload is raised only where it would still do
 * what it was cleared for, else it is closed, and only as far as the budgets go. What closes a nonce or takes an approval
 * back is always written: its cost is counted, and no budget stands in its way.
 * @param replaced `workflow` with new attempts.
 * @returns null when nothing of it is to be done now.
 */
export async function writeReplacements(
  workflow: Workflow,
  replaced: Workflow,
  deps: RaiseDeps,
): Promise<Workflow | null> {
  const isRaised = (slot: Slot) =>
    slot.kind === 'intent' &&
    slot.attempts.at(-1)?.purpose === 'payload' &&
    slot !== workflow.slots[slot.index]
  const write = (next: Workflow) => deps.journal.write(next, reservationOf(next, replaced.updatedAtMs))
  if (!replaced.slots.some(isRaised)) return write(replaced)
  const reservation = reservationOf(replaced, replaced.updatedAtMs)
  const judged = await judge(replaced, reservation, deps)
  const reserved = judged === 'raise' ? await deps.reserve(replaced, reservation) : null
  if (reserved !== null && !('ok' in reserved)) return reserved
  const slots = replaced.slots.map((slot, index) => {
    const before = workflow.slots[index] ?? slot
    if (!isRaised(slot)) return slot
    return typeof judged === 'string' ? before : { ...before, closing: judged.check }
  })
  if (slots.every((slot, index) => slot === workflow.slots[index])) return null
  return write(typeof judged === 'string' ? { ...replaced, slots } : { ...replaced, slots, note: judged })
}

/** Whether payloads are raised, left as they are for now, or closed, and why. */
async function judge(
  workflow: Workflow,
  reservation: Reservation,
  deps: RaiseDeps,
): Promise<'raise' | 'leave' | { readonly check: string; readonly message: string }> {
  if (!(await deps.checkBudget(reservation)).ok) return 'leave'
  try {
    const looked = await deps.lookAgain(workflow)
    // What it was judged by may have been left meanwhile: the rules that came after judge it anew.
    if (looked.ok) return deps.gate().closed ? 'leave' : 'raise'
    return UNSEEN.has(looked.check) ? 'leave' : { check: looked.check, message: looked.message }
  } catch (error) {
    if (error instanceof RolekeeperError && error.retry !== 'never') return 'leave'
    throw error
  }
}
