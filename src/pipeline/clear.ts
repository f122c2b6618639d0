import type { Nodes, SimulatedTransaction } from '../chain/nodes.ts'
import { checkFinal } from '../guard/check-final.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { move, type StandingAllowance, type Workflow } from '../workflow/workflow.ts'
import { type FeePolicy, quoteFees } from './transactions/fees.ts'
import type { ReplaceView } from './transactions/replace.ts'

/** What clearing needs: no key, so that a shadow is cleared alike. */
type ClearDeps = {
  readonly nowMs: () => number
  readonly nodes: Pick<Nodes, 'chainId' | 'simulate'>
  readonly ruleset: Ruleset
  readonly fees: FeePolicy
}

/** The view of the chain follows a new head within this. */
const HEAD_MOVED_MS = 50

/** What of a signer's is on its way: it comes first in a simulation, and its allowances count as exposure. */
export type SignerState = {
  /** The block that `pending` is counted at. */
  readonly headNumber: bigint
  /** The height that is final now. */
  readonly finalizedNumber: bigint
  readonly nextNonce: number
  readonly pending: readonly SimulatedTransaction[]
  readonly standing: readonly StandingAllowance[]
}

/** Judge the final bundle on fresh reads and by simulation, on top of what the signer has on its way. */
export async function clear(
  workflow: Workflow,
  signer: SignerState,
  view: () => Pick<ReplaceView, 'headNumber' | 'baseFeePerGasWei'>,
  deps: ClearDeps,
): Promise<Step> {
  const { ruleset, nodes, nowMs } = deps
  const { finalizedNumber } = signer
  const expiresAtMs = Date.parse(workflow.prepared?.answer.expiresAt ?? '')
  if (!(nowMs() < expiresAtMs)) {
    const message = `The service's answer expired before the guard could clear it.`
    return moved(move(workflow, 'expired', nowMs(), { note: { check: 'expired', message } }))
  }
  const quoted = quoteFees(view().baseFeePerGasWei, deps.fees)
  if (!quoted.ok) return moved(move(workflow, 'refused', nowMs(), { note: quoted }))
  const verdict = await checkFinal(
    { workflow, ruleset, signer: { ...signer, ...quoted.fees }, nowMs: nowMs() },
    { nodes },
  )
  // Simulated on another block than ours in flight were counted at: one of them may have run twice, or not at all.
  const simulatedOn = verdict.ok ? verdict.clearance.blockNumber : view().headNumber
  if (signer.pending.length > 0 && simulatedOn !== signer.headNumber) return wait(HEAD_MOVED_MS)
  return moved(
    verdict.ok
      ? move(workflow, 'cleared', nowMs(), { clearance: { ...verdict.clearance, finalizedNumber } })
      : move(workflow, 'refused', nowMs(), { note: verdict }),
  )
}
