import { printable } from '../../errors.ts'
import { reasonText } from '../../guard/explain/reason-text.ts'
import { findDecisions, isOfSubject } from '../../journal/find/find-decisions.ts'
import { findWorkflow } from '../../journal/find/find-workflow.ts'
import { notFound, saysSomething } from '../../journal/find/id-forms.ts'
import type { DecisionRow } from '../../journal/journal.ts'
import { readJournal } from '../../journal/open.ts'
import { workflowName } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import { subjectName } from '../../service/contract/subject-name.ts'
import { isHeld, isTerminal, type Workflow } from '../../workflow/workflow.ts'
import { orderLines } from '../orders/order-lines.ts'
import { jsonLines } from '../output/json.ts'
import { command, usageError } from '../parse/command.ts'
import { configOf, deploymentAt } from '../target/figures.ts'
import { PLACE, placeOf, placeText } from '../target/place.ts'

const DECISIONS_MAX = 20
/** A journal of an earlier release holds what the service said as it said it. */
const LINE_MAX = 1_000

/** `rolekeeper explain`: why it acted on something, in numbers, or why it did not. */
export const explain = command({
  name: 'explain',
  usage: 'ID | SUBJECT [--config FILE | --directory DIR] [--json]',
  help: `Say why a workflow was begun, with the numbers of its decision, and of an order its input and calls; or, for a subject (a borrower's address, a part of
market:vault:borrower, or of report:source), what was last decided about it and why. Both in any form that is shown.

  rolekeeper explain 3f2a
  rolekeeper explain 0x70997970c51812dc3a010c7d01b50e0d17dc79c8
  rolekeeper explain sBTC/sUSD growthVault 0x6d9f…18b5`,
  options: { ...PLACE, json: { help: 'print JSON, one object a line' } },
  // As the screen shows a subject: in as many words as it has parts.
  argumentsMax: 6,
  run: async ({ json, ...given }, words, io) => {
    const what = words.join(' ')
    if (!saysSomething(what))
      throw usageError(
        what === '' ? 'Say what to explain.' : `"${printable(what)}" says too little to explain.`,
        'give an id or a part of a subject, at least 4 letters or digits',
      )
    const place = await placeOf(given, io)
    const known = deploymentAt(given, place)
    await readJournal(place, async (journal) => {
      const isSubject = isOfSubject(what)
      const found = isSubject ? await findDecisions(journal, words, known) : []
      const rows = found.slice(0, DECISIONS_MAX)
      if (rows.length > 0) io.out(json === true ? jsonLines(rows) : decisionsText(rows, known))
      else {
        const workflow = await findWorkflow(journal, what, placeText(given)).catch((error: unknown) => {
          if (!isSubject) throw error
          throw notFound(
            `Nothing was decided about "${printable(what)}".`,
            `see: rolekeeper workflows list${placeText(given)}`,
          )
        })
        const lines = json === true ? [] : await orderLines(workflow, known, configOf(given, place))
        io.out(json === true ? jsonLines([workflow]) : workflowText(workflow, lines, known, placeText(given)))
      }
    })
    return 0
  },
})

/** @param at what leads a command to where this was read. */
function workflowText(workflow: Workflow, lines: readonly string[], known: Deployment, at: string): string {
  const { id, role, state, proposal, note, createdAtMs } = workflow
  const ending =
    note === undefined
      ? []
      : [
          '',
          `It is ${state.replaceAll('_', ' ')}${isTerminal(state) ? '' : '; a check refused it meanwhile'}: ${note.check}. ${printable(note.message, LINE_MAX)}`,
        ]
  const standing = isHeld(workflow)
    ? `It waits for a person: ${printable(workflow.hold?.message ?? '', LINE_MAX)} Answer with rolekeeper approve ${id.slice(0, 8)}${at}, or rolekeeper reject ${id.slice(0, 8)}${at}.`
    : state === 'succeeded'
      ? 'It succeeded.'
      : `It is ${state.replaceAll('_', ' ')}.`
  return [
    `${id}  ${role}  ${workflowName(proposal.workflowType)}  ${nameOf(proposal.subject, known)}`,
    `${proposal.workflowType}  ${printable(proposal.subject, LINE_MAX)}`,
    `decided ${new Date(createdAtMs).toISOString()}: ${printable(proposal.summary, LINE_MAX)}`,
    ...reasonLines(reasonText(proposal, known)),
    ...(lines.length === 0 ? [] : ['', ...lines]),
    ...(ending.length > 0 ? ending : ['', standing]),
    '',
  ].join('\n')
}

function decisionsText(rows: readonly DecisionRow[], known: Deployment): string {
  const blocks = rows.map(({ atMs, role, subject, check, message, reason }) =>
    [
      `${new Date(atMs).toISOString()}  ${role}  ${nameOf(subject, known)}`,
      printable(subject, LINE_MAX),
      `${check}: ${printable(message, LINE_MAX)}`,
      ...reasonLines(reasonText({ reason, subject }, known)),
    ].join('\n'),
  )
  return `${blocks.join('\n\n')}\n`
}

const nameOf = (subject: string, known: Deployment) => printable(subjectName(subject, known), LINE_MAX)

function reasonLines(figures: ReturnType<typeof reasonText>): readonly string[] {
  const width = Math.max(0, ...figures.map(([name]) => name.length))
  return figures.map(([name, text]) => `  ${name.padEnd(width)}  ${printable(text, LINE_MAX)}`)
}
