import type { Nodes } from '../../chain/nodes.ts'
import { type Checked, invariant, refuse } from '../../errors.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { Clearance, FrozenAnswer } from '../../workflow/workflow.ts'
import type { ClearedCall } from '../calls/call.ts'
import { checkReads } from '../policy/deployment.ts'
import type { Subject } from '../policy/references.ts'
import { askPins } from '../reads/pins.ts'
import { createReads } from '../reads/views.ts'
import type { Ruleset } from '../ruleset.ts'
import { contractsOf } from './bundle-reads.ts'
import { type BoundWorkflow, checkPrepared } from './check-prepared.ts'
import { checkHeadAge } from './freshness.ts'
import { simulateAgreed } from './simulate-agreed.ts'

/**
 * Look once more right before the first send: the rules are those it was cleared by, age and expiry still hold, our
 * head is recent, and every revalidation of the workflow's type is true on the chain now, whether or not the service
 * asked for it. One call a node; it runs beside the KMS call.
 * Throws RolekeeperError `node.*` when too few nodes answer.
 */
export async function recheck(
  options: {
    readonly workflow: BoundWorkflow & { readonly prepared?: FrozenAnswer; readonly clearance?: Clearance }
    readonly ruleset: Ruleset
    readonly nowMs: number
  },
  { nodes }: { readonly nodes: Pick<Nodes, 'simulate'> },
): Promise<Checked<unknown>> {
  const { workflow, ruleset, nowMs } = options
  const { prepared: frozen, clearance } = workflow
  if (frozen === undefined || clearance === undefined) {
    return refuse('not_cleared', 'The workflow was never cleared.')
  }
  if (clearance.rulesetHash !== ruleset.hash) {
    return refuse('ruleset_changed', 'The rules changed after this workflow was cleared.')
  }
  const prepared = checkPrepared({ workflow, frozen, ruleset, nowMs })
  if (!prepared.ok) return prepared
  return lookNow({ ...prepared, proposal: workflow.proposal, ruleset, nowMs }, { nodes })
}

/**
 * Look at the chain as it is now: the code of every contract involved is what is pinned, our head is recent, and the world is as the proposal needs it in the next block. One
 * call a node. Throws RolekeeperError `node.*` when too few nodes answer.
 */
export async function lookNow(
  options: {
    readonly subject: Subject
    readonly calls: readonly ClearedCall[]
    readonly proposal: Proposal
    readonly ruleset: Ruleset
    readonly nowMs: number
  },
  { nodes }: { readonly nodes: Pick<Nodes, 'simulate'> },
): Promise<Checked<unknown>> {
  const { subject, calls, proposal, ruleset, nowMs } = options
  const sanity = ruleset.sanity.get(proposal.workflowType)
  const effects = ruleset.effects.get(proposal.workflowType)
  invariant(
    sanity !== undefined && effects !== undefined,
    `the rules allow ${proposal.workflowType}, and judge it`,
  )
  const reads = createReads()
  const judgement = sanity.judge({ subject, proposal, calls, before: reads, after: createReads() })
  const unpinned = checkReads(reads.calls, subject.deployment)
  if (unpinned !== null) return unpinned
  const pins = askPins(contractsOf(calls, effects, subject, reads.calls), reads)
  const { codeAt, slots } = pins
  const looked = await simulateAgreed(
    nodes.simulate({ pending: [], before: reads.calls, bundle: [], after: [], codeAt, slots }),
  )
  if (!looked.ok) return looked
  const { block, timestampS, before } = looked.result
  reads.fill(before)
  const aged = checkHeadAge(block.timestampS, ruleset.freshness, nowMs)
  return pins.check(looked.result) ?? aged ?? judgement.checkState(timestampS) ?? { ok: true }
}
