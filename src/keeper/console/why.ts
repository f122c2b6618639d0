import { reasonText } from '../../guard/explain/reason-text.ts'
import { aboutGiven, findDecisions, isOfSubject } from '../../journal/find/find-decisions.ts'
import { isNamed, knownOf } from '../../journal/find/find-workflow.ts'
import { saysSomething, shownForm } from '../../journal/find/id-forms.ts'
import type { DecisionRow, JournalReads, Transition } from '../../journal/journal.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { subjectName } from '../../service/contract/subject-name.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** What `explain` says, for a page: newest first. */
export type Why = {
  readonly about: string
  readonly workflows: readonly {
    readonly id: string
    readonly role: string
    readonly workflowType: string
    readonly subject: string
    readonly name: string
    readonly summary: string
    readonly state: string
    readonly check: string | null
    readonly message: string | null
    readonly figures: Figures
    readonly states: readonly Transition[]
    readonly transactions: readonly { readonly nonce: number; readonly hash: string | null }[]
  }[]
  readonly decisions: readonly {
    readonly atMs: number
    readonly role: string
    readonly subject: string
    readonly name: string
    readonly check: string
    readonly message: string
    readonly figures: Figures
  }[]
}
type Figures = readonly (readonly [string, string])[]

const DECISIONS_MAX = 20
const WORKFLOWS_MAX = 5
/** Ended workflows that the beginning of an id, or a subject, is looked for among: a keeper at work reads no more at once. */
const NEWEST_MAX = 200

type Reads = Pick<JournalReads, 'get' | 'live' | 'list' | 'decisions' | 'transitions'>

/**
 * Find why something was done or left, by what `explain` takes: an id, a transaction, a subject or parts of it, in any form that
 * is shown.
 * @throws RolekeeperError `usage` where the ends that are shown are those of several.
 */
export async function findWhy(about: string, journal: Reads, known: Deployment): Promise<Why> {
  if (!saysSomething(about)) return { about, workflows: [], decisions: [] }
  const exact = await journal.get(about.trim().toLowerCase())
  const shown = shownForm(about)
  const isSubject = isOfSubject(about.trim())
  const newest = exact === null ? await knownOf(journal, NEWEST_MAX) : []
  const named = newest.filter((each) => isNamed(each, shown))
  const isAbout = isSubject ? aboutGiven([about], known, newest, ({ proposal }) => proposal.subject) : []
  const found = exact === null ? [...new Set([...named, ...isAbout])] : [exact]
  const rows = exact === null && isSubject ? await findDecisions(journal, [about], known) : []
  return {
    about,
    workflows: await Promise.all(
      found.slice(0, WORKFLOWS_MAX).map(async (workflow) => ({
        ...workflowOf(workflow, known),
        states: await journal.transitions(workflow.id),
      })),
    ),
    decisions: rows.slice(0, DECISIONS_MAX).map((row) => decisionOf(row, known)),
  }
}

const workflowOf = ({ id, role, proposal, state, note, slots }: Workflow, known: Deployment) => ({
  id,
  role,
  state,
  workflowType: proposal.workflowType,
  subject: proposal.subject,
  name: subjectName(proposal.subject, known),
  summary: proposal.summary,
  check: note?.check ?? null,
  message: note?.message ?? null,
  figures: reasonText(proposal, known),
  transactions: slots.map(({ nonce, inclusion, attempts }) => ({
    nonce,
    hash: inclusion?.hash ?? attempts.at(-1)?.hash ?? null,
  })),
})

const decisionOf = ({ atMs, role, subject, check, message, reason }: DecisionRow, known: Deployment) => ({
  atMs,
  role,
  subject,
  check,
  message,
  name: subjectName(subject, known),
  figures: reasonText({ reason, subject }, known),
})
