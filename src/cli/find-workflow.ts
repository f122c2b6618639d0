import type { Journal } from '../journal/journal.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { usageError } from './command.ts'

/** Workflows that the beginning of an id is looked for among. */
const NEWEST_MAX = 1_000

/**
 * Find a workflow by its id or the beginning of it, among the newest.
 * @throws RolekeeperError `usage` when none or several match.
 */
export async function findWorkflow(journal: Pick<Journal, 'get' | 'list'>, id: string): Promise<Workflow> {
  const exact = await journal.get(id)
  if (exact !== null) return exact
  const matches = id === '' ? [] : (await journal.list(NEWEST_MAX)).filter((row) => row.id.startsWith(id))
  const [first, second] = matches
  if (first === undefined)
    throw usageError(`No workflow begins with "${id}".`, 'see: rolekeeper workflows list')
  if (second !== undefined) throw usageError(`Several workflows begin with "${id}".`, 'write more of the id')
  return first
}
