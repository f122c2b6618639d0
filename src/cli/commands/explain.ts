import { printable } from '../../errors.ts'
import type { DecisionRow } from '../../journal/journal.ts'
import { readJournal } from '../../journal/open.ts'
import type { Reason } from '../../workflow/proposal.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { command, usageError } from '../command.ts'
import { findWorkflow } from '../find-workflow.ts'
import { PLACE, placeOf } from '../place.ts'

const DECISIONS_MAX = 20
/** A journal of an earlier release holds what the service said as it said it. */
const LINE_MAX = 1_000

/** `rolekeeper explain`: why it acted on something, in numbers, or why it did not. */
export const explain = command({
  name: 'explain',
  usage: 'ID | SUBJECT [--config FILE | --directory DIR]',
  help: `Say why a workflow was begun, with the numbers of its decision; or, for a subject (a borrower's address or a part
of market:vault:borrower), what was last decided about it and why.

  rolekeeper explain 3f2a
  rolekeeper explain 0x70997970c51812dc3a010c7d01b50e0d17dc79c8`,
  options: PLACE,
  argumentsMax: 1,
  run: async (given, [what], io) => {
    if (what === undefined || what.length < 4)
      throw usageError('Say what to explain.', 'give an id or a part of a subject, at least 4 characters')
    await readJournal(await placeOf(given, io), async (journal) => {
      const subject = /[:x]/i.test(what)
      const rows = subject ? await journal.decisions(what.toLowerCase(), DECISIONS_MAX) : []
      if (rows.length > 0) io.out(decisionsText(rows))
      else if (subject)
        throw usageError(`Nothing was decided about "${what}".`, 'see: rolekeeper workflows list')
      else io.out(workflowText(await findWorkflow(journal, what)))
    })
    return 0
  },
})

function workflowText({ id, role, state, proposal, note, createdAtMs }: Workflow): string {
  const ending =
    note === undefined ? [] : ['', `It is ${state}: ${note.check}. ${printable(note.message, LINE_MAX)}`]
  return [
    `${id}  ${role}  ${proposal.kind}  ${printable(proposal.subject, LINE_MAX)}`,
    `decided ${new Date(createdAtMs).toISOString()}: ${printable(proposal.summary, LINE_MAX)}`,
    ...reasonLines(proposal.reason),
    ...(ending.length > 0 ? ending : ['', `It is ${state}.`]),
    '',
  ].join('\n')
}

function decisionsText(rows: readonly DecisionRow[]): string {
  const blocks = rows.map(({ atMs, role, subject, check, message, reason }) =>
    [
      `${new Date(atMs).toISOString()}  ${role}  ${printable(subject, LINE_MAX)}`,
      `${check}: ${printable(message, LINE_MAX)}`,
      ...reasonLines(reason),
    ].join('\n'),
  )
  return `${blocks.join('\n\n')}\n`
}

function reasonLines(reason: Reason): readonly string[] {
  const width = Math.max(0, ...Object.keys(reason).map(({ length }) => length))
  return Object.entries(reason).map(
    ([name, value]) => `  ${name.padEnd(width)}  ${printable(String(value), LINE_MAX)}`,
  )
}
