import { type Refusal, refuse } from '../../errors.ts'
import type { Approval } from '../../guard/approval/approval.ts'
import { checkRecord } from '../../guard/checks/check-record.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import type { FeePolicy } from '../../pipeline/transactions/fees.ts'
import { wasSigned } from '../../pipeline/transactions/transaction.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { refusalOfApproval } from './approval-hold.ts'

type ProofDeps = {
  readonly ruleset: Ruleset
  readonly approval: Approval
  readonly fees: Pick<FeePolicy, 'maxFeePerGasWei'>
}

/**
 * Judge a record again before a key is asked for what it orders, by nothing but our own rules: its payloads, what one
 * workflow may move, what they offer, and before anything of it is public, that enough people approved it. Budgets of an hour and a
 * day were judged when it was claimed; what whoever writes records makes of those is bounded by this.
 */
export const createRecordProof =
  ({ ruleset, approval, fees }: ProofDeps) =>
  (workflow: Workflow): Refusal | null => {
    const recorded = checkRecord(workflow, ruleset)
    if (!recorded.ok) return recorded
    const payloads = workflow.slots
      .flatMap(({ attempts }) => attempts)
      .filter(({ purpose }) => purpose === 'payload')
    if (payloads.some(({ maxFeePerGasWei }) => maxFeePerGasWei > fees.maxFeePerGasWei))
      return refuse('record_not_cleared', 'A payload of it offers more than fees.maxFeePerGas.')
    if (workflow.slots.some(isForged))
      return refuse(
        'record_not_cleared',
        'It calls sent what its key never signed, or a payload is behind a no-op.',
      )
    return workflow.slots.some(isSent) ? null : refusalOfApproval(workflow, { ruleset, approval })
  }

/** Whether a node may have a payload that is a call. A no-op and a revocation are signed without anybody's approval. */
const isSent = ({ kind, attempts }: Slot): boolean =>
  kind === 'intent' && attempts.some(({ state, purpose }) => state === 'sent' && purpose === 'payload')

/**
 * Whether attempts of a slot are none that we could have made. What is public needs neither an approval nor a last look, and is
 * raised while all is paused: that it is so, a record shows by its key's own signature.
 */
const isForged = (slot: Slot): boolean => {
  const noop = slot.attempts.findIndex(({ purpose }) => purpose === 'noop')
  return (
    slot.attempts.some((each) => each.state === 'sent' && !wasSigned(slot, each)) ||
    (noop >= 0 && slot.attempts.slice(noop).some(({ purpose }) => purpose === 'payload'))
  )
}
