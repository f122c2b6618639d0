import { printable } from '../../errors.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { JournalReads } from '../journal.ts'
import { ambiguous, candidates, isShownAs, notFound, type ShownForm, shownForm } from './id-forms.ts'

/** Ended workflows that the beginning of an id is looked for among, beside all that are not. */
const NEWEST_MAX = 1_000

/** Whether a workflow is what was given of its id, or of a hash of its transactions. Pure. */
export const isNamed = ({ id, slots }: Workflow, shown: ShownForm): boolean =>
  shown.head !== '' &&
  [id, ...slots.flatMap(({ attempts }) => attempts.flatMap(({ hash }) => hash ?? []))].some((name) =>
    isShownAs(name, shown),
  )

/**
 * Find a workflow among those that have not ended and the newest by its id or a hash of its transactions, in any form that is shown.
 * @param at what leads a command to where this is read.
 * @throws RolekeeperError `not_found` where none matches, `usage` where several do.
 */
export async function findWorkflow(
  journal: Pick<JournalReads, 'get' | 'live' | 'list' | 'archivedBy'>,
  given: string,
  at: string,
): Promise<Workflow> {
  const shown = shownForm(given)
  const exact = await journal.get(given.toLowerCase())
  if (exact !== null) return exact
  const matches =
    shown.head === '' ? [] : (await knownOf(journal, NEWEST_MAX)).filter((row) => isNamed(row, shown))
  const [first, second] = matches
  const what = printable(given)
  if (first === undefined) {
    const archives = await journal.archivedBy()
    const elsewhere =
      archives.length === 0 ? '' : `; what ended long ago is in the archives of ${archives.join(', ')}`
    throw notFound(
      `No workflow begins with "${what}" of those under way and the newest ${NEWEST_MAX}.`,
      `write all of its id, by which an older one is found, or see: rolekeeper workflows list${at}${elsewhere}`,
    )
  }
  if (second !== undefined) {
    const all = matches.map(({ id, role, state }) => `${id.slice(0, 12)} (${role}, ${state})`)
    throw ambiguous(`Several workflows begin with "${what}".`, `write one of ${candidates(all)}`)
  }
  return first
}

/** List what has not ended and so many of the newest, newest first. What waits for a person may be older than any number of others. */
export async function knownOf(
  journal: Pick<JournalReads, 'live' | 'list'>,
  newestMax: number,
): Promise<readonly Workflow[]> {
  const [live, newest] = await Promise.all([journal.live(), journal.list(newestMax)])
  const known = new Map([...newest, ...live].map((row) => [row.id, row]))
  return [...known.values()].toSorted((one, other) => other.createdAtMs - one.createdAtMs)
}
