import type { Ended } from './agent.ts'
import { inFlight } from './duty.ts'
import { isTerminal, type Workflow } from './workflow/workflow.ts'

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
  const { state, updatedAtMs, note } = workflow
  if (!isTerminal(state)) return []
  return [{ ...inFlight(workflow), state, endedAtMs: updatedAtMs, check: note?.check ?? null }]
}
