import { printable } from '../../errors.ts'
import type { JournalReads } from '../../journal/journal.ts'
import { readJournal } from '../../journal/open.ts'
import { span, workflowName } from '../../readable.js'
import { SHIPPED_ROLES } from '../../service/contract/roles.ts'
import type { ShownCall, ShownChange } from '../../workflow/approval-view.ts'
import { isHeld, type Workflow } from '../../workflow/workflow.ts'
import { answerHeld, findHeld, type HeldWorkflow } from '../orders/answer-held.ts'
import { heldUpText } from '../orders/held-up.ts'
import { KEY } from '../orders/person-key.ts'
import { tableText } from '../output/table.ts'
import { command, usageError } from '../parse/command.ts'
import { checkRole } from '../target/keeper-there.ts'
import { PLACE, placeOf, placeText } from '../target/place.ts'

/** `rolekeeper approve`: what waits for a person, all of one of it, and the answer yes. */
export const approve = command({
  name: 'approve',
  usage: '[--role ROLE] [ID [--hash HASH] [--key FILE [--yes]]] [--config FILE | --directory DIR] [--json]',
  help: `List what waits for a person; show all of one of it: which calls would be signed, with the names of the run
configuration and amounts with their units; and approve that. What is approved is exactly what the hash names: role, chain,
signer, proposal, rules and what was shown. Afterwards budgets, freshness and the guard judge it as always. ID may be
shortened, the hash may not.

  rolekeeper approve
  rolekeeper approve 3f2a
  rolekeeper approve 3f2a --hash 5d41…`,
  options: {
    ...PLACE,
    ...KEY,
    role: { help: 'list what waits of this role alone', value: 'ROLE' },
    hash: { help: 'approve what this hash names, and nothing else', value: 'HASH' },
    json: { help: 'print what waits as JSON, one object a line' },
  },
  argumentsMax: 1,
  run: async ({ json, role, hash, key, yes, ...given }, [id], io) => {
    if (hash !== undefined) {
      if (id === undefined) throw usageError('--hash is given for nothing.', 'write `approve ID --hash HASH`')
      return answerHeld('approve', given, { id, shownHash: hash, keyFile: key, yes: yes === true }, io)
    }
    const place = await placeOf(given, io)
    const held = await readJournal(place, async (journal) =>
      id === undefined ? await waiting(journal, role) : findHeld(journal, id, placeText(given)),
    )
    if (!('hold' in held)) {
      if (json === true) io.out(held.map((each) => `${JSON.stringify(heldJson(each))}\n`).join(''))
      else io.out(held.length === 0 ? 'Nothing waits.\n' : listOf(held, placeText(given)))
      return 0
    }
    const heldUp = await heldUpText(held, place)
    io.out(json === true ? `${JSON.stringify(heldJson(held))}\n` : screenOf(held, placeText(given), heldUp))
    return 0
  },
})

const expiresInMs = ({ hold }: Workflow) => Math.max(0, (hold?.untilMs ?? 0) - Date.now())

const heldJson = (workflow: Workflow) => ({
  id: workflow.id,
  role: workflow.role,
  workflowType: workflow.proposal.workflowType,
  subject: workflow.proposal.subject,
  summary: workflow.proposal.summary,
  check: workflow.hold?.check,
  message: workflow.hold?.message,
  ...workflow.hold?.shown,
  approvals: workflow.hold?.approvals,
  hash: workflow.hold?.hash,
  expiresInMs: expiresInMs(workflow),
})

const headOf = (workflow: Workflow) => [
  `${workflow.id.slice(0, 8)}  ${workflow.role}  ${workflow.proposal.workflowType}`,
  `  ${line(workflow.proposal.summary)}`,
  `  ${workflow.hold?.check}: ${line(workflow.hold?.message ?? '')}`,
]

/** What waits, of one role where one is given. Throws RolekeeperError `usage`. */
async function waiting(journal: Pick<JournalReads, 'live'>, role: string | undefined) {
  const held = (await journal.live()).filter(isHeld)
  checkRole(role, [...new Set([...SHIPPED_ROLES, ...held.map((each) => each.role)])])
  return held.filter((each) => role === undefined || each.role === role)
}

const COLUMNS = ['id', 'role', 'what', 'expires in', 'check', 'about']
/** Enough to tell two orders apart. */
const ABOUT_MAX = 120

/** @param at what leads a command to where this was read. */
function listOf(held: readonly Workflow[], at: string): string {
  const rows = held.map((each) => {
    const { id, role, proposal, hold } = each
    const what = workflowName(proposal.workflowType)
    const when = span(expiresInMs(each))
    const cells = [
      id.slice(0, 8),
      role,
      what,
      when,
      hold?.check ?? '',
      printable(proposal.summary, ABOUT_MAX),
    ]
    return { cells, data: {} }
  })
  return `${tableText({ columns: COLUMNS, rows }, {})}\nSee all of one, and approve it: rolekeeper approve ID${at}\n`
}

/** Texts of a proposal may come from outside: none reaches the terminal as it is. */
const line = (text: string) => printable(text, 400)

/** A list of a hundred addresses, or the longest text of an input. */
const VALUE_MAX = 10_000

/** All that is approved by a hash, on one screen; `heldUp` says what keeps it from beginning even so. */
function screenOf(workflow: HeldWorkflow, at: string, heldUp: string | null): string {
  const { id, signer, chainId, hold } = workflow
  const { calls, effects, changes, askedBy, day } = hold.shown
  const key = hold.shown.approvers?.some(({ user }) => user === undefined) ? ' --key FILE' : ''
  return [
    ...headOf(workflow),
    `  asked by ${line(askedBy)}, expires in ${span(expiresInMs(workflow))}`,
    '',
    `Signed by ${signer} on chain ${chainId}, nothing but:`,
    ...calls.flatMap(callLines),
    ...(changes.length === 0 ? [] : ['', whoseChanges(workflow), ...changes.map(changeLine)]),
    '',
    'Does:',
    ...effects.map((each) => `  ${line(each)}`),
    `  adds up to: ${line(day)}`,
    '',
    ...approvalLines(hold),
    ...(heldUp === null ? [] : ['', 'Once it is approved:', `  ${printable(heldUp, 1_000)}`]),
    '',
    `To approve exactly this:`,
    `  rolekeeper approve ${id.slice(0, 8)} --hash ${hold.hash}${key}${at}`,
    '',
  ].join('\n')
}

/** An agent says what it saw; what a person would change is read of the chain, and again once it is approved. */
const whoseChanges = ({ proposal }: Workflow): string =>
  proposal.kind === 'order' ? 'Changes, by what the chain says is there:' : 'Changes:'

/** What stays is said to: who reads it need not compare. */
function changeLine({ field, from, to }: ShownChange): string {
  const what = from === null ? to : from === to ? `${to}, as it is` : `${from} → ${to}`
  return `  ${printable(`${field}: ${what}`, VALUE_MAX)}`
}

/** Who has approved it, and who still has to. */
function approvalLines({ approvals, shown: { quorum, approvers } }: HeldWorkflow['hold']): readonly string[] {
  const given = approvals.map(({ by, atMs }) => `${line(by)} (${new Date(atMs).toISOString()})`)
  const left = approvers?.filter(({ name }) => !approvals.some(({ by }) => by === name))
  const names = left?.map(({ name, user }) => (user === undefined ? name : `${name} (${user}, believed)`))
  const whom =
    names === undefined ? 'anybody who may write here' : names.join(', ') || 'nobody: who asked is left out'
  return [
    `Approved by: ${given.length === 0 ? 'nobody yet' : given.join(', ')}`,
    `Needed: ${quorum - approvals.length} more of ${line(whom)}`,
  ]
}

function callLines({ to, function: name, arguments: values, notes }: ShownCall, index: number): string[] {
  const width = Math.max(0, ...values.map((each) => each.name.length))
  return [
    `  ${index + 1}. ${line(`${to} ${name}`)}${notes.length === 0 ? '' : ` (${line(notes.join(', '))})`}`,
    // All of it: what is cut off is approved unread.
    ...values.map((each) => `       ${line(each.name).padEnd(width)}  ${printable(each.value, VALUE_MAX)}`),
  ]
}
