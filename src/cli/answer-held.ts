import { readJournal } from '../journal/open.ts'
import { isHeld } from '../workflow/workflow.ts'
import { type Io, usageError } from './command.ts'
import { findWorkflow } from './find-workflow.ts'

/**
 * Answer a workflow that waits for a person. The keeper alone writes the journal: an answer is a file beside it, for
 * the one hash that the person was shown.
 * @returns the exit code.
 * @throws RolekeeperError `usage` for a workflow that does not wait, and `order.not_written`.
 */
export async function answerHeld(
  verdict: 'approve' | 'reject',
  directory: string,
  id: string,
  io: Io,
): Promise<number> {
  const { writeAnswer } = await import('../ops/orders.ts')
  const workflow = await readJournal({ directory }, (journal) => findWorkflow(journal, id))
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
}
