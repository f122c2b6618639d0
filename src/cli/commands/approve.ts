import { readJournal } from '../../journal/open.ts'
import { isHeld, type Workflow } from '../../workflow/workflow.ts'
import { answerHeld } from '../answer-held.ts'
import { command } from '../command.ts'
import { duration } from '../format.ts'
import { PLACE, placeOf } from '../place.ts'

/** `rolekeeper approve`: what waits for a person, and the answer yes. */
export const approve = command({
  name: 'approve',
  usage: '[ID] [--config FILE | --directory DIR] [--json]',
  help: `List what waits for a person, or approve one of it. What is approved is exactly what the hash names: role, chain,
signer, proposal and rules. Afterwards budgets, freshness and the guard judge it as always. ID may be shortened.

  rolekeeper approve
  rolekeeper approve 3f2a`,
  options: { ...PLACE, json: { help: 'print the list as JSON, one object a line' } },
  argumentsMax: 1,
  run: async ({ json, ...given }, [id], io) => {
    if (id !== undefined) return answerHeld('approve', given, id, io)
    const live = await readJournal(await placeOf(given, io), (journal) => journal.live())
    const waiting = live.filter(isHeld)
    if (json === true) io.out(waiting.map((each) => `${JSON.stringify(heldJson(each))}\n`).join(''))
    else io.out(waiting.length === 0 ? 'Nothing waits.\n' : waiting.map(heldText).join('\n'))
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
