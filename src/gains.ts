import type { Done, Gain } from './agent.ts'
import type { Journal } from './journal/journal.ts'
import type { Workflow } from './workflow/workflow.ts'

const claimKey = (workflow: Workflow, claimId: string) =>
  `claim:${workflow.chainId}:${workflow.proposal.input.marketAddress}:${claimId}`

const doneOf = ({ proposal, realized }: Workflow): Done | null =>
  realized === undefined ? null : { proposal, realized }

/**
 * Say what a workflow that succeeded brought. A liquidation pays now and receives when its claim is settled: it is
 * remembered by its claim, and both are assessed together at the settlement.
 * @returns null where there is nothing to say (yet).
 */
export async function assessGain(
  workflow: Workflow,
  journal: Pick<Journal, 'get' | 'getValue' | 'setValue'>,
  assess: (done: readonly Done[]) => Gain | null,
): Promise<Gain | null> {
  const opened = workflow.realized?.claimId
  if (opened !== undefined) {
    await journal.setValue(claimKey(workflow, String(opened)), workflow.id)
    return null
  }
  const { claimId } = workflow.proposal.input
  if (claimId === undefined) return null
  const earlierId = await journal.getValue(claimKey(workflow, claimId))
  const earlier = earlierId === null ? null : await journal.get(earlierId)
  const done = [earlier === null ? null : doneOf(earlier), doneOf(workflow)].filter((each) => each !== null)
  return done.length === 2 ? assess(done) : null
}
