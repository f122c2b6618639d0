import type { Done, Gain } from '../../agents/agent.ts'
import type { Journal } from '../journal/journal.ts'
import { inputText } from '../workflow/proposal.ts'
import type { Workflow } from '../workflow/workflow.ts'

const claimKey = (workflow: Workflow, claimId: string) =>
  `claim:${workflow.chainId}:${workflow.proposal.input.marketAddress}:${claimId}`

const doneOf = ({ proposal, realized }: Workflow): Done | null =>
  realized === undefined ? null : { proposal, realized }

/** Remember a confirmed liquidation by the claim that it opened: it pays now and receives when that is settled. */
export async function rememberClaim(workflow: Workflow, journal: Pick<Journal, 'setValue'>): Promise<void> {
  const opened = workflow.realized?.claimId
  if (opened !== undefined) await journal.setValue(claimKey(workflow, String(opened)), workflow.id)
}

/**
 * Say what a settlement that succeeded brought, together with the liquidation that opened its claim; once, as the claim is
 * forgotten with it.
 * @returns null where there is nothing to say.
 */
export async function assessGain(
  workflow: Workflow,
  journal: Pick<Journal, 'get' | 'getValue' | 'setValue'>,
  assess: (done: readonly Done[]) => Gain | null,
): Promise<Gain | null> {
  const claimId = inputText(workflow.proposal.input, 'claimId')
  if (claimId === undefined) return null
  const key = claimKey(workflow, claimId)
  const earlierId = await journal.getValue(key)
  if (earlierId === null) return null
  await journal.setValue(key, null)
  const earlier = await journal.get(earlierId)
  const done = [earlier === null ? null : doneOf(earlier), doneOf(workflow)].filter((each) => each !== null)
  return done.length === 2 ? assess(done) : null
}
