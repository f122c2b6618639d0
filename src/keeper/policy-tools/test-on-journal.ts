import { checkPrepared } from '../../guard/checks/check-prepared.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import type { Transition } from '../../journal/journal.ts'
import { type JournalPlace, readJournal } from '../../journal/open.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { openPolicy } from './file.ts'

/** An answer that the static guard cleared then and refuses now, or the other way round, and for what. */
type Difference = { readonly id: string; readonly check: string; readonly message: string }

/** What a policy makes of the answers of one workflow type, beside what became of them. */
type TestedType = {
  readonly workflowType: string
  /** Answers that were judged then. */
  readonly judged: number
  readonly clearedBoth: number
  readonly refusedBoth: number
  /** Cleared then, refused now: by the first check that refuses. */
  readonly refusedNow: readonly Difference[]
  /** Refused then, cleared now: by the check that refused. */
  readonly clearedNow: readonly Difference[]
}

/** What a policy makes of the newest answers in a journal. */
export type PolicyTestResult = {
  readonly role: string
  /** Workflows that were looked at; not all of them came to an answer that was judged. */
  readonly looked: number
  /** Instances that have older ones in archives of their own, where fewer were found than asked for. */
  readonly archives: readonly string[]
  readonly types: readonly TestedType[]
}

/**
 * Judge the answers that a journal has frozen by another policy, as the static guard would have at the time.
 * @param last how many of the role's newest workflows to look at.
 * @throws RolekeeperError what reading the policy and the journal throws.
 */
export async function testFile(
  file: string,
  config: string,
  { place, last }: { readonly place: JournalPlace; readonly last: number },
): Promise<PolicyTestResult> {
  const { ruleset } = openPolicy(file, config)
  return readJournal(place, async (journal) => {
    const workflows = await journal.newestOf(ruleset.role, last)
    const tested: TestedAnswer[] = []
    for (const workflow of workflows) {
      if (workflow.prepared === undefined) continue
      const then = judgedThen(workflow, await journal.transitions(workflow.id))
      if (then !== null) tested.push({ workflow, then, now: judgedNow(workflow, ruleset, then.atMs) })
    }
    const byType = Map.groupBy(tested, ({ workflow }) => workflow.proposal.workflowType)
    return {
      role: ruleset.role,
      looked: workflows.length,
      archives: workflows.length < last ? await journal.archivedBy() : [],
      types: [...byType].map(([workflowType, answers]) => sumUp(workflowType, answers)),
    }
  })
}

type Verdict = { readonly check: string; readonly message: string } | null
type TestedAnswer = {
  readonly workflow: Workflow
  readonly then: { readonly refusal: Verdict; readonly atMs: number }
  readonly now: Verdict
}

/** How the static guard judged an answer, and when; null where it never came to that. */
function judgedThen(workflow: Workflow, transitions: readonly Transition[]): TestedAnswer['then'] | null {
  const prepared = transitions.findIndex(({ state }) => state === 'prepared')
  const next = prepared < 0 ? undefined : transitions[prepared + 1]
  if (next === undefined) return null
  // What has a digest to attest was cleared before: it was refused on our own reads.
  const isCleared = /^(attested|shadowed)$/.test(next.state) || workflow.attestation !== undefined
  if (isCleared) return { refusal: null, atMs: next.atMs }
  return next.state === 'refused'
    ? { refusal: next.note ?? { check: 'unknown', message: '' }, atMs: next.atMs }
    : null
}

function judgedNow(workflow: Workflow, ruleset: Ruleset, nowMs: number): Verdict {
  const { prepared: frozen, attestation: _attestation, ...before } = workflow
  if (frozen === undefined) return null
  const checked = checkPrepared({ workflow: before, frozen, ruleset, nowMs })
  return checked.ok ? null : checked
}

function sumUp(workflowType: string, answers: readonly TestedAnswer[]): TestedType {
  const differing = (from: 'then' | 'now'): readonly Difference[] =>
    answers.flatMap(({ workflow: { id }, then: { refusal }, now }) => {
      const [was, is] = from === 'then' ? [refusal, now] : [now, refusal]
      return was === null || is !== null ? [] : [{ id, check: was.check, message: was.message }]
    })
  return {
    workflowType,
    judged: answers.length,
    clearedBoth: answers.filter(({ then, now }) => then.refusal === null && now === null).length,
    refusedBoth: answers.filter(({ then, now }) => then.refusal !== null && now !== null).length,
    refusedNow: differing('now'),
    clearedNow: differing('then'),
  }
}
