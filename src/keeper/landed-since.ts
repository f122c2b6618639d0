import type { Address } from 'viem'
import type { Nodes } from '../chain/nodes.ts'
import { isReopened } from '../decide/open.ts'
import type { Journal } from '../journal/journal.ts'
import { isApproval } from '../pipeline/conclude.ts'
import type { ChainView } from '../pipeline/transactions/nonces.ts'
import { type Slot, slotAt } from '../workflow/slot.ts'
import type { Workflow } from '../workflow/workflow.ts'

/** What finding and keeping what landed since its workflow ended needs. */
type LandedDeps = {
  readonly nodes: Pick<Nodes, 'chainId' | 'transaction'>
  readonly journal: Pick<Journal, 'byNonce' | 'byOpportunity' | 'write'>
  readonly chain: Pick<ChainView, 'facts'>
  readonly onChanged: (before: Workflow, after: Workflow) => void
  readonly nowMs: () => number
}

/** A workflow that ended without its effect, and the nonce at which its payload has landed all the same. */
type Landed = { readonly workflow: Workflow; readonly nonce: number }

/** Nonces that are looked through. */
const SPAN_MAX = 2_000

/**
 * Find the workflows of a signer that ended without their effect and have it since: on another fork, past finality, what
 * had reverted or was replaced may go through. Throws what the nodes throw.
 * @param next the signer's next nonce.
 */
export async function landedSince(
  signer: Address,
  next: number,
  deps: LandedDeps,
): Promise<readonly Landed[]> {
  const { forkedFrom } = deps.chain.facts(signer)
  if (forkedFrom === null) return []
  const found = new Map<string, Landed>()
  for (let nonce = next - 1; nonce >= Math.max(0, next - SPAN_MAX); nonce -= 1) {
    const workflow = await deps.journal.byNonce(deps.nodes.chainId, signer, nonce)
    const slot = slotAt(workflow, signer, nonce)
    if (workflow === null || slot === undefined) continue
    if (slot.inclusion !== undefined && slot.inclusion.blockNumber < forkedFrom) break
    const isDue = isReopened(workflow.state) && slot.kind === 'intent' && !isApproval(slot, workflow)
    if (isDue && (await hasLanded(slot, deps))) found.set(workflow.id, { workflow, nonce })
  }
  return [...found.values()]
}

async function hasLanded({ attempts }: Slot, { nodes }: LandedDeps): Promise<boolean> {
  const hashes = attempts.flatMap(({ purpose, hash }) =>
    purpose === 'payload' && hash !== undefined ? [hash] : [],
  )
  const mined = await Promise.all(hashes.map((hash) => nodes.transaction(hash)))
  return mined.some((each) => each?.receipt.status === 'success')
}

/** Say what keeping a workflow from being tried again does, for people. Pure. */
export const saidOfLanded = ({ workflow: { id, state }, nonce }: Landed): string =>
  ` Workflow ${id} ended ${state}, and its payload at nonce ${nonce} has landed since: its opportunity is not tried again.`

/** End the newest round of such a workflow's opportunity as `partial`, so that no other begins. */
export async function keepFromAgain(landed: Landed, deps: LandedDeps): Promise<void> {
  const { workflow } = landed
  const newest = (await deps.journal.byOpportunity(workflow.opportunity)) ?? workflow
  // A round that claimed nonces since has an end of its own.
  if (newest.slots.length > 0 && newest.id !== workflow.id) return
  const note = { check: 'landed_since', message: saidOfLanded(landed).trim() }
  const updatedAtMs = deps.nowMs()
  deps.onChanged(newest, await deps.journal.write({ ...newest, state: 'partial', updatedAtMs, note }))
}
