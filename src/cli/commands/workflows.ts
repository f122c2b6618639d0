import { printable } from '../../errors.ts'
import { findWorkflow, knownOf } from '../../journal/find/find-workflow.ts'
import type { JournalReads, Transition } from '../../journal/journal.ts'
import { readJournal } from '../../journal/open.ts'
import { span, workflowName } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import { SHIPPED_ROLES } from '../../service/contract/roles.ts'
import { subjectName } from '../../service/contract/subject-name.ts'
import type { Slot } from '../../workflow/slot.ts'
import { type Hold, isHeld, type Workflow } from '../../workflow/workflow.ts'
import { orderLines } from '../orders/order-lines.ts'
import { elsewhere } from '../output/format.ts'
import { jsonLines } from '../output/json.ts'
import { tableText } from '../output/table.ts'
import { command, type Io, unknownWord, usageError } from '../parse/command.ts'
import { perhaps } from '../parse/nearest.ts'
import { lookBackMs, SHOWN_STATES } from '../parse/options.ts'
import { changeLines, configOf, deploymentAt } from '../target/figures.ts'
import { checkRole } from '../target/keeper-there.ts'
import { PLACE, placeOf, placeText } from '../target/place.ts'

const LIST_MAX = 1_000
const LIST_DEFAULT = 30

const WORDS = {
  known: ['list', 'show'],
  a: 'a command of workflows',
  asks: 'Say what to show.',
  fix: 'write `list` or `show ID`',
}

/** `rolekeeper workflows`: the journal, beside a keeper that runs or without one. */
export const workflows = command({
  name: 'workflows',
  usage:
    'list | show ID [--role ROLE] [--state STATE] [--since TIME] [--config FILE | --directory DIR] [--json]',
  help: `Show what the journal holds: the newest workflows, or one with every state and its time. ID may be shortened, or be
the hash of one of its transactions. The filters are of \`list\`.

  rolekeeper workflows list --limit 10
  rolekeeper workflows list --role liquidator --state reverted --since 24h
  rolekeeper workflows show 3f2a`,
  options: {
    ...PLACE,
    role: { help: 'of this role alone', value: 'ROLE' },
    state: { help: 'in this state alone, for example held or reverted', value: 'STATE' },
    since: { help: 'begun since, for example 24h', value: 'TIME' },
    limit: { help: `how many to list (default: ${LIST_DEFAULT}, at most ${LIST_MAX})`, value: 'N' },
    json: { help: 'print JSON, one object a line' },
  },
  argumentsMax: 2,
  run: async ({ limit, json, role, state, since, ...given }, [what, id], io) => {
    if (what !== 'list' && what !== 'show') throw unknownWord(what, WORDS)
    if (what === 'list' && id !== undefined)
      throw usageError(`There is no place for "${id}".`, `write \`show ${id}\``)
    const count = limit === undefined ? LIST_DEFAULT : Number(limit)
    if (!Number.isInteger(count) || count < 1 || count > LIST_MAX) {
      throw usageError(`--limit is "${limit}".`, `give a whole number from 1 to ${LIST_MAX}`)
    }
    if (state !== undefined && !SHOWN_STATES.includes(state))
      throw usageError(
        `--state is "${printable(state)}".`,
        `${perhaps(state, SHOWN_STATES)}give one of ${SHOWN_STATES.join(', ')}`,
      )
    const sinceMs = since === undefined ? 0 : Date.now() - lookBackMs('since', since)
    const isMeant = (row: Workflow) =>
      (role === undefined || row.role === role) &&
      (state === undefined || stateOf(row) === state) &&
      row.createdAtMs >= sinceMs
    const place = await placeOf(given, io)
    await readJournal(place, async (journal) => {
      if (what === 'list') {
        const isFiltered = role !== undefined || state !== undefined || since !== undefined
        // What waits for a person may be older than all of the newest.
        const newest = isFiltered ? await knownOf(journal, LIST_MAX) : await journal.list(count)
        checkRole(role, [...new Set([...SHIPPED_ROLES, ...newest.map((row) => row.role)])])
        const rows = newest.filter(isMeant).slice(0, count)
        io.out(json === true ? jsonLines(rows) : listing(rows, deploymentAt(given, place)))
        if (newest.length < count) await sayArchives(journal, io)
        return
      }
      if (id === undefined) throw usageError('Say which workflow.', 'write `show ID`; `list` has the ids')
      const workflow = await findWorkflow(journal, id, placeText(given))
      const transitions = await journal.transitions(workflow.id)
      if (json === true) io.out(jsonLines([{ ...workflow, transitions }]))
      else {
        const known = deploymentAt(given, place)
        const lines = await orderLines(workflow, known, configOf(given, place))
        io.out(shown(workflow, transitions, lines, known))
      }
    })
    return 0
  },
})

/** On one machine the archive is read with the rest; another's only there. */
async function sayArchives(journal: JournalReads, io: Io): Promise<void> {
  const names = await journal.archivedBy()
  if (names.length > 0) io.err(elsewhere(names))
}

/** What waits for a person is in no state of its own. */
const stateOf = (row: Workflow): string => (isHeld(row) ? 'held' : row.state)

function listing(rows: readonly Workflow[], known: Deployment): string {
  if (rows.length === 0) return 'No such workflow.\n'
  const cells = rows.map((row) => [
    row.id.slice(0, 8),
    new Date(row.createdAtMs).toISOString().slice(0, 19),
    ...[row.role, stateOf(row), workflowName(row.proposal.workflowType)],
    ...[printable(subjectName(row.proposal.subject, known), 400), row.note?.check ?? ''],
  ])
  return tableText({ columns: COLUMNS, rows: cells.map((each) => ({ cells: each, data: {} })) }, {})
}
const COLUMNS = ['id', 'begun (UTC)', 'role', 'state', 'workflow', 'about', 'check']

function shown(
  workflow: Workflow,
  transitions: readonly Transition[],
  order: readonly string[],
  known: Deployment,
): string {
  const { proposal } = workflow
  const states = transitions.map(({ state, atMs, note }, index) => {
    const before = transitions[index - 1]
    const took = before === undefined ? '' : span(atMs - before.atMs)
    const why = note === undefined ? '' : `${note.check}: ${note.message}`
    return `  ${new Date(atMs).toISOString()}  ${state.padEnd(11)} ${took.padStart(8)}  ${why}`.trimEnd()
  })
  const realized = changeLines(workflow.realized?.tokens ?? [], known)
  return [
    `${workflow.id}  ${workflow.role}  ${proposal.workflowType}`,
    `  ${proposal.subject}`,
    `  ${printable(proposal.summary, 400)}`,
    ...(order.length === 0 ? [] : ['', ...order]),
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
