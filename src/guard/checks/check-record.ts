import { type Checked, type Refusal, refuse } from '../../errors.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { Clearance, FrozenAnswer } from '../../workflow/workflow.ts'
import type { Ruleset } from '../ruleset.ts'
import { type BoundWorkflow, checkPrepared } from './check-prepared.ts'

/** What a record says of a workflow that has nonces. */
type RecordedWorkflow = BoundWorkflow & {
  readonly prepared?: FrozenAnswer
  readonly clearance?: Clearance
  readonly slots: readonly Slot[]
}

/**
 * Judge by the rules of now that each payload of a record is a call which they allow, before a key is asked: a record lies in
 * a file or in Redis, where others may write, and what it calls cleared need not be. How old it is was judged by then. Pure.
 */
export function checkRecord(workflow: RecordedWorkflow, ruleset: Ruleset): Checked<unknown> {
  const { prepared: frozen, clearance, slots } = workflow
  if (frozen === undefined || clearance === undefined) return notCleared('It was never cleared.')
  const prepared = checkPrepared({ workflow, frozen, ruleset, nowMs: clearance.atMs })
  if (!prepared.ok) return prepared
  for (const { index, kind, nonce, payload, chainId, signer } of slots) {
    if (kind !== 'intent') continue
    const call = prepared.calls[index]
    const isCall =
      call !== undefined &&
      payload.to === call.to &&
      payload.data === call.data &&
      payload.valueWei === call.valueWei &&
      payload.gasLimit <= call.rule.gasMax
    if (!isCall)
      return notCleared(`The payload at nonce ${nonce} is none of the calls that the rules allow it.`)
    if (chainId !== workflow.chainId || signer !== workflow.signer)
      return notCleared(`Nonce ${nonce} is of another chain or key than the workflow.`)
  }
  return { ok: true }
}

const notCleared = (message: string): Refusal => refuse('record_not_cleared', message)
