import type { Head, Nodes, SimulatedTransaction } from '../chain/nodes.ts'
import { checkFinal, type FinalOptions } from '../guard/checks/check-final.ts'
import type { Ruleset } from '../guard/ruleset.ts'
import { moved, type Step, wait } from '../workflow/step.ts'
import { move, type StandingAllowance, type Workflow } from '../workflow/workflow.ts'
import { type FeePolicy, quoteFees } from './transactions/fees.ts'
import type { GasMarket } from './transactions/gas-market.ts'

/** What clearing needs: no key, so that a shadow is cleared alike. */
type ClearDeps = {
  readonly nowMs: () => number
  /** What a workflow is simulated by. */
  readonly nodesFor: (
    options: FinalOptions & { readonly workflow: Workflow },
  ) => Pick<Nodes, 'chainId' | 'simulate'>
  /** The newest agreed head. */
  readonly newest: () => Promise<Head>
  readonly ruleset: Ruleset
  readonly fees: FeePolicy
  readonly gas: Pick<GasMarket, 'dataFees'>
}

/** The view of the chain follows a new head within this. */
const HEAD_MOVED_MS = 50

/** What of a signer's is on its way: it comes first in a simulation, and its allowances count as exposure. */
export type SignerState = {
  /** The block that `pending` is counted at. */
  readonly head: Head
  /** The height that is final now. */
  readonly finalizedNumber: bigint
  readonly nextNonce: number
  readonly pending: readonly SimulatedTransaction[]
  readonly standing: readonly StandingAllowance[]
  /** Whether more of the signer's is simulated with it. */
  readonly isShared: boolean
}

/** Judge the final bundle on fresh reads and by simulation, on top of what the signer has on its way. */
export async function clear(workflow: Workflow, signer: SignerState, deps: ClearDeps): Promise<Step> {
  const { ruleset, nowMs } = deps
  const { finalizedNumber, head, pending, isShared } = signer
  const expiresAtMs = Date.parse(workflow.prepared?.answer.expiresAt ?? '')
  if (!(nowMs() < expiresAtMs)) {
    const message = `The service's answer expired before the guard could clear it.`
    return moved(move(workflow, 'expired', nowMs(), { note: { check: 'expired', message } }))
  }
  const quoted = quoteFees(head.baseFeePerGasWei, deps.fees, { ownTipWei: workflow.proposal.offer?.tipWei })
  if (!quoted.ok) return moved(move(workflow, 'refused', nowMs(), { note: quoted }))
  // On another block than ours in flight were counted at, one of them would run twice, or not at all.
  const isBound = pending.length > 0 || isShared
  const view = { ...signer, ...quoted.fees, ...(isBound ? { at: head } : {}) }
  const options = { workflow, ruleset, signer: view, nowMs: nowMs() }
  const { chainId, simulate } = deps.nodesFor(options)
  let simulated = false
  const verdict = await checkFinal(options, {
    nodes: {
      chainId,
      simulate: (request) => {
        simulated = true
        return simulate(request)
      },
    },
    dataFees: deps.gas.dataFees(),
  })
  if (verdict.ok) {
    const clearance = { ...verdict.clearance, finalizedNumber }
    return moved(move(workflow, 'cleared', nowMs(), { clearance }))
  }
  // What the newest head brought may be what it needs.
  if (simulated && isBound && (await deps.newest()).hash !== head.hash) return wait(HEAD_MOVED_MS)
  return moved(move(workflow, 'refused', nowMs(), { note: verdict }))
}
