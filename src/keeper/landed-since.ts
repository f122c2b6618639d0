import type { Address } from 'viem'
import type { Nodes } from '../chain/nodes.ts'
import { isReopened } from '../decide/open.ts'
import { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { isApproval } from '../pipeline/conclude.ts'
import type { ChainView } from '../pipeline/transactions/nonces.ts'
import { idempotencyKey } from '../workflow/keys.ts'
import { inputText } from '../workflow/proposal.ts'
import { type Slot, slotAt } from '../workflow/slot.ts'
import { isTerminal, type Workflow } from '../workflow/workflow.ts'

/** What finding and keeping what landed since its workflow ended needs. */
type LandedDeps = {
  readonly nodes: Pick<Nodes, 'chainId' | 'transaction'>
  readonly journal: Pick<Journal, 'byNonce' | 'byOpportunity' | 'get' | 'nextNonce' | 'open' | 'write'>
  readonly chain: Pick<ChainView, 'facts'>
  readonly onChanged: (before: Workflow, after: Workflow) => void
  readonly nowMs: () => number
}

/** A workflow that ended without its effect, and the nonce at which its payload has landed all the same. */
type Landed = { readonly workflow: Workflow; readonly nonce: number }

/** Nonces that are looked through. */
const SPAN_MAX = 2_000

/**
 * Find the workflows of some signers that ended without their effect and have it since: on another fork, past finality, what
 * had reverted or was replaced may go through. What one key has done, another of its role would do again. Throws what the
 * nodes throw.
 */
export async function landedSince(signers: readonly Address[], deps: LandedDeps): Promise<readonly Landed[]> {
  return (await Promise.all(signers.map((signer) => landedOf(signer, deps)))).flat()
}

async function landedOf(signer: Address, deps: LandedDeps): Promise<readonly Landed[]> {
  const { forkedFrom } = deps.chain.facts(signer)
  if (forkedFrom === null) return []
  const next = (await deps.journal.nextNonce(deps.nodes.chainId, signer)) ?? 0
  const found = new Map<string, Landed>()
  for (let nonce = next - 1; nonce >= Math.max(0, next - SPAN_MAX); nonce -= 1) {
    const holders = await holdersOf(nonce, signer, deps)
    const inclusion = slotAt(holders[0] ?? null, signer, nonce)?.inclusion
    if (inclusion !== undefined && inclusion.blockNumber < forkedFrom) break
    for (const workflow of holders) {
      const slot = slotAt(workflow, signer, nonce)
      const isDue = slot?.kind === 'intent' && isReopened(workflow.state) && !isApproval(slot, workflow)
      if (isDue && (await hasLanded(slot, deps))) found.set(workflow.id, { workflow, nonce })
    }
  }
  return [...found.values()]
}

/** The workflow that holds a nonce, and those in whose place a person had it filled: what they had may land after all. */
async function holdersOf(
  nonce: number,
  signer: Address,
  { nodes, journal }: LandedDeps,
): Promise<readonly Workflow[]> {
  const holders: Workflow[] = []
  let holder = await journal.byNonce(nodes.chainId, signer, nonce)
  while (holder !== null) {
    holders.push(holder)
    const { kind, input } = holder.proposal
    const instead = kind === 'fill' ? inputText(input, 'instead') : undefined
    holder = instead === undefined ? null : await journal.get(instead)
  }
  return holders
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
  const end = { state: 'partial' as const, updatedAtMs: deps.nowMs(), note }
  try {
    deps.onChanged(newest, await deps.journal.write({ ...newest, ...end }))
  } catch (error) {
    const isConflict = error instanceof RolekeeperError && error.code === 'journal.conflict'
    if (!isConflict || !isTerminal(newest.state)) throw error
    // It has left for the archive, where nothing is written: one more round says it.
    const round = newest.round + 1
    const id = idempotencyKey(newest.opportunity, round)
    const again: Workflow = { ...newest, id, round, slots: [], state: 'discovered', version: 0 }
    if ((await deps.journal.open(again)) === 'exists') throw error
    deps.onChanged(again, await deps.journal.write({ ...again, ...end }))
  }
}
