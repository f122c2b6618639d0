import { isHeld } from '../workflow/workflow.ts'
import { type Io, usageError } from './command.ts'
import { findWorkflow } from './find-workflow.ts'
import { order } from './outgoing.ts'
import { type GivenPlace, placeOf } from './place.ts'

/**
 * Answer a workflow that waits for a person, for the one hash that the person was shown. Who carries it out takes the
 * answer and writes the journal.
 * @returns the exit code.
 * @throws RolekeeperError `usage` for a workflow that does not wait, `order.not_written`, and in a fleet `order.other` for one
 * that was answered otherwise.
 */
export async function answerHeld(
  verdict: 'approve' | 'reject',
  given: GivenPlace,
  id: string,
  io: Io,
): Promise<number> {
  return order(await placeOf(given, io), async ({ mail, journal }) => {
    const workflow = await findWorkflow(journal, id)
    const { hold } = workflow
    if (!isHeld(workflow) || hold === undefined) {
      const state = hold?.approvedAtMs === undefined ? workflow.state : `${workflow.state}, approved already`
      throw usageError(`Workflow ${workflow.id} does not wait; it is ${state}.`, 'see: rolekeeper approve')
    }
    if (Date.now() >= hold.untilMs)
      throw usageError(`Workflow ${workflow.id} has expired.`, 'see: rolekeeper approve')
    await mail.answer(workflow, { verdict, hash: hold.hash })
    const done = verdict === 'approve' ? 'Approved' : 'Rejected'
    io.out(`${done}: ${workflow.id}, ${workflow.proposal.summary}\n  hash ${hold.hash}\n`)
    return 0
  })
}
