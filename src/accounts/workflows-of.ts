import { type JournalPlace, readJournal } from '../journal/open.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { entriesOf } from './entries.ts'
import type { Period } from './period.ts'

/** Read the workflows that moved something, as far as the journal has them. Throws as {@link readJournal} does. */
export async function workflowsOf(
  period: readonly Pick<Period[number], 'page'>[],
  place: JournalPlace,
): Promise<ReadonlyMap<string, Workflow>> {
  const ids = new Set(entriesOf(period).flatMap(({ workflowId }) => workflowId ?? []))
  if (ids.size === 0) return new Map()
  return readJournal(place, async (journal) => {
    const found = new Map<string, Workflow>()
    for (const id of ids) {
      const workflow = await journal.get(id)
      if (workflow !== null) found.set(id, workflow)
    }
    return found
  })
}
