import { printable } from '../../errors.ts'
import type { JournalReads, Transition } from '../../journal/journal.ts'
import { readJournal } from '../../journal/open.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { Slot } from '../../workflow/slot.ts'
import { type Hold, isHeld, type Workflow } from '../../workflow/workflow.ts'
import { command, type Io, usageError } from '../command.ts'
import { changeLines, deploymentAt } from '../figures.ts'
import { findWorkflow } from '../find-workflow.ts'
import { duration, elsewhere, shortSubject } from '../format.ts'
import { jsonLines } from '../json.ts'
import { PLACE, placeOf } from '../place.ts'

const LIST_MAX = 1_000
const LIST_DEFAULT = 30

/** `rolekeeper workflows`: the journal, beside a keeper that runs or without one. */
export const workflows = command({
  name: 'workflows',
  usage: 'list | show ID [--config FILE | --directory DIR] [--json]',
  help: `Show what the journal holds: the newest workflows, or one with every state and its time. ID may be shortened.

  rolekeeper workflows list --limit 10
  rolekeeper workflows show 3f2a`,
  options: {
    ...PLACE,
    limit: { help: `how many to list (default: ${LIST_DEFAULT}, at most ${LIST_MAX})`, value: 'N' },
    json: { help: 'print JSON, one object a line' },
  },
  argumentsMax: 2,
  run: async ({ limit, json, ...given }, [what, id], io) => {
    if (what !== 'list' && what !== 'show') throw usageError('Say what to show.', 'write `list` or `show ID`')
    if (what === 'list' && id !== undefined)
      throw usageError(`There is no place for "${id}".`, `write \`show ${id}\``)
    const count = limit === undefined ? LIST_DEFAULT : Number(limit)
    if (!Number.isInteger(count) || count < 1 || count > LIST_MAX) {
      throw usageError(`--limit is "${limit}".`, `give a whole number from 1 to ${LIST_MAX}`)
    }
    const place = await placeOf(given, io)
    await readJournal(place, async (journal) => {
      if (what === 'list') {
        const rows = await journal.list(count)
        io.out(json === true ? jsonLines(rows) : listing(rows))
        if (rows.length < count) await sayArchives(journal, io)
        return
      }
      if (id === undefined) throw usageError('Say which workflow.', 'write `show ID`; `list` has the ids')
      const workflow = await findWorkflow(journal, id)
      const transitions = await journal.transitions(workflow.id)
      if (json === true) io.out(jsonLines([{ ...workflow, transitions }]))
      else io.out(shown(workflow, transitions, deploymentAt(given, place)))
    })
    return 0
  },
})

/** On one machine the archive is read with the rest; another's only there. */
async function sayArchives(journal: JournalReads, io: Io): Promise<void> {
  const names = await journal.archivedBy()
  if (names.length > 0) io.err(elsewhere(names))
}

function listing(rows: readonly Workflow[]): string {
  if (rows.length === 0) return 'No workflow yet.\n'
  const lines = rows.map((row) =>
    [
      row.id.slice(0, 8),
      new Date(row.createdAtMs).toISOString().slice(0, 19),
      row.role.padEnd(13),
      (isHeld(row) ? 'held' : row.state).padEnd(11),
      row.proposal.kind.padEnd(9),
      shortSubject(row.proposal.subject).padEnd(25),
      row.note?.check ?? '',
    ].join('  '),
  )
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

function shown(workflow: Workflow, transitions: readonly Transition[], known: Deployment): string {
  const { proposal } = workflow
  const states = transitions.map(({ state, atMs, note }, index) => {
    const before = transitions[index - 1]
    const took = before === undefined ? '' : duration(atMs - before.atMs)
    const why = note === undefined ? '' : `${note.check}: ${note.message}`
    return `  ${new Date(atMs).toISOString()}  ${state.padEnd(11)} ${took.padStart(8)}  ${why}`.trimEnd()
  })
  const realized = changeLines(workflow.realized?.tokens ?? [], known)
  return [
    `${workflow.id}  ${workflow.role}  ${proposal.workflowType}`,
    `  ${proposal.subject}`,
    `  ${proposal.summary}`,
    '',
    'States:',
    ...states,
    ...(workflow.hold === undefined ? [] : ['', ...holdLines(workflow.hold)]),
    ...(workflow.slots.length > 0 ? ['', 'Nonces:', ...workflow.slots.map(slotLine)] : []),
    ...(realized.length > 0 ? ['', 'Really moved:', ...realized] : []),
    '',
  ].join('\n')
}

const holdLines = ({ check, message, hash, untilMs, approvals, approvedAtMs }: Hold) => [
  `Held: ${check}: ${message}`,
  `  hash ${hash}`,
  ...approvals.map(({ by, atMs }) => `  ${printable(by)} approved ${new Date(atMs).toISOString()}`),
  approvedAtMs === undefined
    ? `  until ${new Date(untilMs).toISOString()}`
    : `  approved ${new Date(approvedAtMs).toISOString()}`,
]

function slotLine({ nonce, kind, state, attempts, inclusion }: Slot): string {
  const last = attempts.at(-1)
  const landed = inclusion === undefined ? '' : `block ${inclusion.blockNumber} ${inclusion.status}`
  const tries = attempts.length > 1 ? `${attempts.length} attempts` : ''
  const parts = [
    `  ${nonce}`,
    kind.padEnd(6),
    state.padEnd(5),
    last?.purpose ?? '',
    inclusion?.hash ?? last?.hash ?? '',
  ]
  return [...parts, landed, tries].filter((part) => part !== '').join('  ')
}
