import type { Colleague, Ended, InFlight } from '../../agents/agent.ts'
import { type Brief, briefOf } from '../workflow/brief.ts'
import { isTerminal, type Workflow } from '../workflow/workflow.ts'

/** For how long what ended is remembered as recent, ms. */
export const RECENT_MS = 86_400_000
const ROWS_MAX = 500

/** What ended of late, newest first; what was quarantined for as long as it is among the newest: it is for a person. */
type Recent = { readonly add: (workflow: Workflow) => void; readonly list: () => readonly Ended[] }

/** Create a role's memory of what ended in the last day, from the journal's newest workflows. */
export function createRecent(newest: readonly Workflow[], nowMs: () => number): Recent {
  let rows = newest
    .flatMap((workflow) => ended(workflow))
    .toSorted((one, other) => other.endedAtMs - one.endedAtMs)
    .filter(isKept)
  return {
    add: (workflow) => {
      rows = [...ended(workflow), ...rows].filter(isKept)
    },
    // Kept while a clock that jumped is put back.
    list: () =>
      rows.filter(({ state, endedAtMs }) => state === 'quarantined' || endedAtMs > nowMs() - RECENT_MS),
  }
}

/** What is refused again and again pushes nothing out that is for a person. */
const isKept = ({ state }: Ended, index: number): boolean =>
  index < ROWS_MAX || (state === 'quarantined' && index < 2 * ROWS_MAX)

function ended(workflow: Workflow): readonly Ended[] {
  const { state, createdAtMs, updatedAtMs, note } = workflow
  if (!isTerminal(state)) return []
  const times = { begunAtMs: createdAtMs, endedAtMs: updatedAtMs }
  const why = note === undefined ? { check: null } : { check: note.check, message: note.message }
  return [{ ...inFlight(briefOf(workflow)), ...times, state, ...why }]
}

/** Say a workflow as decisions need it. Pure. */
export const inFlight = ({ id, proposal, held }: Brief): InFlight => ({
  workflowId: id,
  workflowType: proposal.workflowType,
  kind: proposal.kind,
  subject: proposal.subject,
  occurrence: proposal.occurrence,
  input: proposal.input,
  exposure: proposal.exposure,
  ...(proposal.offer === undefined ? {} : { offer: proposal.offer }),
  ...(held ? { held } : {}),
})

/** Say what another role is about. Pure. */
export const colleague = ({ role, proposal }: Brief): Colleague => ({
  role,
  workflowType: proposal.workflowType,
  subject: proposal.subject,
  lot: proposal.lot ?? null,
})
