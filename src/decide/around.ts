import type { Colleague, Ended, InFlight } from '../../agents/agent.ts'
import { isHeld, isTerminal, type Workflow } from '../workflow/workflow.ts'

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
  return [{ ...inFlight(workflow), ...times, state, check: note?.check ?? null }]
}

/** Say a workflow as decisions need it. Pure. */
export const inFlight = (workflow: Workflow): InFlight => ({
  workflowId: workflow.id,
  workflowType: workflow.proposal.workflowType,
  kind: workflow.proposal.kind,
  subject: workflow.proposal.subject,
  occurrence: workflow.proposal.occurrence,
  input: workflow.proposal.input,
  exposure: workflow.proposal.exposure,
  ...(isHeld(workflow) ? { held: true } : {}),
})

export const colleague = ({ role, proposal }: Workflow): Colleague => ({
  role,
  workflowType: proposal.workflowType,
  subject: proposal.subject,
  lot: proposal.lot ?? null,
})
