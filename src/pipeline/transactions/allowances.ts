/** What a workflow allowed, and what of it is left and is its own. */
import type { Address } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import { allowanceView } from '../../guard/views.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { StandingAllowance, Workflow } from '../../workflow/workflow.ts'
import { revocationPayload } from './transaction.ts'

/** The selector of `approve`. Source: EIP-20. */
const APPROVE = '0x095ea7b3'
/** Of calldata in hex: `0x`, the selector, and the spender as a word of 32 bytes. */
const APPROVE_SPENDER_CHARS = 2 + 8 + 64

export const hasLanded = ({ inclusion }: Slot): boolean =>
  inclusion?.purpose === 'payload' && inclusion.status === 'success'

/** Whether all that a payload does is to let others take what a later one of its workflow is about. Pure. */
export const isApproval = (
  { payload }: Pick<Slot, 'payload'>,
  { clearance }: Pick<Workflow, 'clearance'>,
): boolean =>
  payload.data.startsWith(APPROVE) && clearance?.allowances.some(({ token }) => token === payload.to) === true

/** What the chain says is left of an allowance; null where it cannot be read. */
export type AllowanceLeft = { readonly allowance: StandingAllowance; readonly assets: bigint | null }

export async function allowancesLeft(
  allowances: readonly StandingAllowance[],
  signer: Address,
  { nodes }: { readonly nodes: Pick<Nodes, 'calls'> },
): Promise<readonly AllowanceLeft[]> {
  if (allowances.length === 0) return []
  const views = allowances.map(({ token, spender }) => allowanceView(token, signer, spender))
  const values = await nodes.calls(views.map(({ call }) => call))
  return allowances.map((allowance, at) => ({ allowance, assets: views[at]?.decode(values[at]) ?? null }))
}

/**
 * What a workflow allowed, without what a later approval of the same signer replaced: that is for the other workflow to use up
 * or to take back. Null while it is not final whether such a one landed.
 */
export async function ownAllowances(
  workflow: Workflow,
  { journal }: { readonly journal: Pick<Journal, 'byNonce' | 'nextNonce'> },
): Promise<readonly StandingAllowance[] | null> {
  const { chainId, signer, slots, clearance } = workflow
  const landed = slots.filter(hasLanded)
  if (landed.length === 0) return []
  const approvals = landed.filter((slot) => slot.kind === 'revoke' || isApproval(slot, workflow))
  // What its approvals, or a revocation of its own, set last.
  const from = Math.max(...(approvals.length === 0 ? landed : approvals).map(({ nonce }) => nonce))
  const next = (await journal.nextNonce(chainId, signer)) ?? 0
  let own = clearance?.allowances ?? []
  for (let nonce = from + 1; nonce < next && own.length > 0; nonce += 1) {
    const holder = await journal.byNonce(chainId, signer, nonce)
    if (holder === null || holder === 'archived' || holder.id === workflow.id) continue
    const slot = holder.slots.find((each) => each.nonce === nonce)
    const kept = own.filter((allowance) => slot === undefined || !replaces(slot, allowance))
    if (slot === undefined || kept.length === own.length) continue
    if (slot.state !== 'final') return null
    if (hasLanded(slot)) own = kept
  }
  return own
}

/** Whether a payload sets what this allowance set, to whatever amount: the selector and the spender are the same. Pure. */
const replaces = ({ payload }: Slot, allowance: StandingAllowance): boolean => {
  const { to, data } = revocationPayload(allowance)
  return (
    payload.to === to && payload.data.slice(0, APPROVE_SPENDER_CHARS) === data.slice(0, APPROVE_SPENDER_CHARS)
  )
}
