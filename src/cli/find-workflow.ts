import { printable } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { usageError } from './command.ts'
import { candidates, isShownAs, shownForm } from './shown-form.ts'

/** Workflows that the beginning of an id is looked for among. */
const NEWEST_MAX = 1_000

/**
 * Find a workflow among the newest by its id or a hash of its transactions, in any form that is shown.
 * @throws RolekeeperError `usage` when none or several match.
 */
export async function findWorkflow(
  journal: Pick<Journal, 'get' | 'list' | 'archivedBy'>,
  given: string,
): Promise<Workflow> {
  const shown = shownForm(given)
  const exact = await journal.get(given.toLowerCase())
  if (exact !== null) return exact
  const names = ({ id, slots }: Workflow) => [
    id,
    ...slots.flatMap(({ attempts }) => attempts.flatMap(({ hash }) => hash ?? [])),
  ]
  const matches =
    shown.head === ''
      ? []
      : (await journal.list(NEWEST_MAX)).filter((row) => names(row).some((name) => isShownAs(name, shown)))
  const [first, second] = matches
  const what = printable(given)
  if (first === undefined) {
    const archives = await journal.archivedBy()
    const elsewhere =
      archives.length === 0 ? '' : `; what ended long ago is in the archives of ${archives.join(', ')}`
    throw usageError(`No workflow begins with "${what}".`, `see: rolekeeper workflows list${elsewhere}`)
  }
  if (second !== undefined) {
    const all = matches.map(({ id, role, state }) => `${id.slice(0, 12)} (${role}, ${state})`)
    throw usageError(`Several workflows begin with "${what}".`, `write one of ${candidates(all)}`)
  }
  return first
}
