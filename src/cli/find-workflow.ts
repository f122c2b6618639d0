import type { Journal } from '../journal/journal.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { usageError } from './command.ts'

/** Workflows that the beginning of an id is looked for among. */
const NEWEST_MAX = 1_000

/**
 * Find a workflow by its id or the beginning of it, among the newest.
 * @throws RolekeeperError `usage` when none or several match.
 */
export async function findWorkflow(
  journal: Pick<Journal, 'get' | 'list' | 'archivedBy'>,
  id: string,
): Promise<Workflow> {
  const exact = await journal.get(id)
  if (exact !== null) return exact
  const matches = id === '' ? [] : (await journal.list(NEWEST_MAX)).filter((row) => row.id.startsWith(id))
  const [first, second] = matches
  if (first === undefined) {
    const archives = await journal.archivedBy()
    const elsewhere =
      archives.length === 0 ? '' : `; what ended long ago is in the archives of ${archives.join(', ')}`
    throw usageError(`No workflow begins with "${id}".`, `see: rolekeeper workflows list${elsewhere}`)
  }
  if (second !== undefined) throw usageError(`Several workflows begin with "${id}".`, 'write more of the id')
  return first
}
