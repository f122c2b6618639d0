import type { Nodes, SimulatedTransaction } from '../../chain/nodes.ts'
import { type Checked, invariant, refuse } from '../../errors.ts'
import { amountText } from '../../units.ts'
import type { TokenChange } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { Subject } from '../policy/references.ts'
import type { Ruleset } from '../ruleset.ts'
import { checkPrepared } from './check-prepared.ts'
import { loggedChanges } from './effects.ts'
import { lookNow } from './recheck.ts'

/**
 * Look again at what is public, before more is offered for it: by the rules of now, our own reads of now, and a
 * simulation of what is left of it on top of what comes before. The answer's age was judged when it was cleared; its end
 * is judged by the chain's clock.
 * Throws RolekeeperError `node.*` when too few nodes answer.
 */
export async function recheckPublic(
  options: {
    readonly workflow: Workflow
    readonly ruleset: Ruleset
    /** What the signer has on its way before the first open slot of this workflow, in nonce order. */
    readonly pending: readonly SimulatedTransaction[]
    readonly nowMs: number
  },
  { nodes }: { readonly nodes: Pick<Nodes, 'simulate'> },
): Promise<Checked<unknown>> {
  const { workflow, ruleset, pending, nowMs } = options
  const { prepared: frozen, clearance, proposal } = workflow
  if (frozen === undefined || clearance === undefined) {
    return refuse('not_cleared', 'The workflow was never cleared.')
  }
  const prepared = checkPrepared({ workflow, frozen, ruleset, nowMs: clearance.atMs })
  if (!prepared.ok) return prepared
  const looked = await lookNow({ ...prepared, proposal, ruleset, nowMs }, { nodes })
  return looked.ok ? simulateLeft(workflow, prepared.subject, pending, nodes) : looked
}

/** Run what is left of a workflow: it succeeds, and no more leaves than was cleared. */
async function simulateLeft(
  { signer, slots }: Workflow,
  { self, deployment }: Subject,
  pending: readonly SimulatedTransaction[],
  nodes: Pick<Nodes, 'simulate'>,
): Promise<Checked<unknown>> {
  const left = slots.filter(({ kind, state }) => kind === 'intent' && state === 'open')
  // All at the highest fee that one of them offers: what it does is asked, not whether its turn comes now.
  const fees = left
    .flatMap(({ attempts }) => attempts)
    .toSorted((one, other) => Number(other.maxFeePerGasWei - one.maxFeePerGasWei))[0]
  invariant(fees !== undefined, 'what is raised has an attempt')
  const { maxFeePerGasWei, maxPriorityFeePerGasWei } = fees
  const bundle = left.map(({ payload, nonce }) => ({
    from: signer,
    ...payload,
    nonce,
    maxFeePerGasWei,
    maxPriorityFeePerGasWei,
  }))
  const ran = (await nodes.simulate({ pending, before: [], bundle, after: [] })).bundle
  const failed = left.find((_slot, index) => ran[index]?.status !== 'success')
  if (failed !== undefined) {
    return refuse('no_longer_runs', `The payload at nonce ${failed.nonce} would revert now.`)
  }
  const predicted = left.flatMap((slot) => slot.predicted.tokens)
  const leaving = loggedChanges(
    ran.flatMap(({ logs }) => logs),
    self,
  ).find(({ token, assets }) => assets < 0n && assets < sumOf(token, predicted))
  if (leaving === undefined) return { ok: true }
  const say = (assets: bigint) => amountText(assets, leaving.token, deployment)
  return refuse(
    'more_would_leave',
    `${say(-leaving.assets)} would leave us now; ${say(-sumOf(leaving.token, predicted))} were cleared.`,
  )
}

const sumOf = (token: string, changes: readonly TokenChange[]) =>
  changes.reduce((sum, change) => (change.token === token ? sum + change.assets : sum), 0n)
