import { isHeld, type Workflow } from '../workflow/workflow.ts'
import { command, DEFAULT_DIRECTORY, DIRECTORY, type Io, usageError } from './command.ts'
import { duration } from './figures.ts'
import { findWorkflow } from './workflows.ts'

/** `rolekeeper approve`: what waits for a person, and the answer yes. */
export const approve = command({
  name: 'approve',
  usage: '[ID] [--directory DIR] [--json]',
  help: `List what waits for a person, or approve one of it. What is approved is exactly what the hash names: role, chain,
signer, proposal and rules. Afterwards budgets, freshness and the guard judge it as always. ID may be shortened.

  rolekeeper approve
  rolekeeper approve 3f2a`,
  options: { directory: DIRECTORY, json: { help: 'print the list as JSON, one object a line' } },
  argumentsMax: 1,
  run: async ({ directory = DEFAULT_DIRECTORY, json }, [id], io) => {
    if (id !== undefined) return answer('approve', directory, id, io)
    const { readSqliteJournal } = await import('../journal/sqlite.ts')
    const journal = readSqliteJournal(directory)
    try {
      const waiting = (await journal.live()).filter(isHeld)
      if (json === true) io.out(waiting.map((each) => `${JSON.stringify(heldJson(each))}\n`).join(''))
      else io.out(waiting.length === 0 ? 'Nothing waits.\n' : waiting.map(heldText).join('\n'))
      return 0
    } finally {
      await journal.close()
    }
  },
})

/** `rolekeeper reject`: the answer no. */
export const reject = command({
  name: 'reject',
  usage: 'ID [--directory DIR]',
  help: `Cancel what waits for a person. It is not proposed again until its state changes. ID may be shortened.

  rolekeeper reject 3f2a`,
  options: { directory: DIRECTORY },
  argumentsMax: 1,
  run: async ({ directory = DEFAULT_DIRECTORY }, [id], io) => {
    if (id === undefined)
      throw usageError('Say what to reject.', 'write `reject ID`; `approve` lists what waits')
    return answer('reject', directory, id, io)
  },
})

/** The keeper alone writes the journal: an answer is a file beside it, for the one hash that the person was shown. */
async function answer(verdict: 'approve' | 'reject', directory: string, id: string, io: Io): Promise<number> {
  const { readSqliteJournal } = await import('../journal/sqlite.ts')
  const { writeAnswer } = await import('../ops/orders.ts')
  const journal = readSqliteJournal(directory)
  try {
    const workflow = await findWorkflow(journal, id)
    const { hold } = workflow
    if (!isHeld(workflow) || hold === undefined) {
      const state = hold?.approvedAtMs === undefined ? workflow.state : `${workflow.state}, approved already`
      throw usageError(`Workflow ${workflow.id} does not wait; it is ${state}.`, 'see: rolekeeper approve')
    }
    if (Date.now() >= hold.untilMs)
      throw usageError(`Workflow ${workflow.id} has expired.`, 'see: rolekeeper approve')
    writeAnswer(directory, workflow.id, { verdict, hash: hold.hash })
    io.out(
      `${verdict === 'approve' ? 'Approved' : 'Rejected'}: ${workflow.id}, ${workflow.proposal.summary}\n  hash ${hold.hash}\n`,
    )
    return 0
  } finally {
    await journal.close()
  }
}

const expiresInMs = ({ hold }: Workflow) => Math.max(0, (hold?.untilMs ?? 0) - Date.now())

const heldJson = (workflow: Workflow) => ({
  id: workflow.id,
  role: workflow.role,
  workflowType: workflow.proposal.workflowType,
  subject: workflow.proposal.subject,
  summary: workflow.proposal.summary,
  check: workflow.hold?.check,
  message: workflow.hold?.message,
  hash: workflow.hold?.hash,
  expiresInMs: expiresInMs(workflow),
})

const heldText = (workflow: Workflow) =>
  [
    `${workflow.id.slice(0, 8)}  ${workflow.role}  ${workflow.proposal.workflowType}`,
    `  ${workflow.proposal.summary}`,
    `  ${workflow.hold?.check}: ${workflow.hold?.message}`,
    `  expires in ${duration(expiresInMs(workflow))}, hash ${workflow.hold?.hash}`,
    '',
  ].join('\n')
