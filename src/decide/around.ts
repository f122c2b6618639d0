import type { Colleague, Ended, InFlight } from '../../agents/agent.ts'
import { type Brief, briefOf } from '../workflow/brief.ts'
import { isTerminal, type Workflow } from '../workflow/workflow.ts'

const DAY_MS = 86_400_000
const ROWS_MAX = 500

/** What ended of late, newest first. */
type Recent = { readonly add: (workflow: Workflow) => void; readonly list: () => readonly Ended[] }

/** Create a role's memory of what ended in the last day, from the journal's newest workflows. */
export function createRecent(newest: readonly Workflow[], nowMs: () => number): Recent {
  let rows = newest
    .flatMap((workflow) => ended(workflow))
    .toSorted((one, other) => other.endedAtMs - one.endedAtMs)
    .slice(0, ROWS_MAX)
  return {
    add: (workflow) => {
      rows = [...ended(workflow), ...rows].slice(0, ROWS_MAX)
    },
    list: () => {
      rows = rows.filter(({ endedAtMs }) => endedAtMs > nowMs() - DAY_MS)
      return rows
    },
  }
}

function ended(workflow: Workflow): readonly Ended[] {
  const { state, createdAtMs, updatedAtMs, note } = workflow
  if (!isTerminal(state)) return []
  const times = { begunAtMs: createdAtMs, endedAtMs: updatedAtMs }
  return [{ ...inFlight(briefOf(workflow)), ...times, state, check: note?.check ?? null }]
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
