/** What a workflow allowed, and what of it is left. */
import type { Nodes } from '../../chain/nodes.ts'
import { allowanceView } from '../../guard/reads/views.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { StandingAllowance, Workflow } from '../../workflow/workflow.ts'
import type { ChainView } from './chain-view.ts'
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

/** What the chain says is left of an allowance, null where it cannot be read; and what a later approval of the signer is to it. */
export type AllowanceLeft = {
  readonly allowance: StandingAllowance
  readonly assets: bigint | null
  readonly replaced: Replaced
}

/** By no approval that came later; by one of a workflow that is yet to end, which uses it up or takes it back; or of another. */
type Replaced = 'not' | 'by_live' | 'by_ended'

type AllowanceDeps = {
  readonly nodes: Pick<Nodes, 'calls'>
  readonly journal: Pick<Journal, 'byNonce' | 'nextNonce'>
  readonly stands: ChainView['stands']
}

/** What is left of what a workflow allowed, as of the first nonce that nobody had taken then. */
type RemainingAllowances = { readonly nextNonce: number; readonly left: readonly AllowanceLeft[] }

/** Look at what is left of what a workflow allowed; null while it is not final whether a later approval replaced it. */
export async function allowancesLeft(
  workflow: Workflow,
  deps: AllowanceDeps,
): Promise<RemainingAllowances | null> {
  const { chainId, signer, slots, clearance } = workflow
  const allowances = clearance?.allowances ?? []
  if (allowances.length === 0 || !slots.some(hasLanded)) return { nextNonce: 0, left: [] }
  const nextNonce = await deps.journal.nextNonce(chainId, signer)
  if (nextNonce === null) return null
  const found: Replaced[] = []
  for (const allowance of allowances) {
    const replaced = await replacedBy(workflow, allowance, nextNonce, deps)
    if (replaced === null) return null
    found.push(replaced)
  }
  const views = allowances.map(({ token, spender }) => allowanceView(token, signer, spender))
  const values = await deps.nodes.calls(views.map(({ call }) => call))
  const left = found.flatMap((replaced, at) => {
    const allowance = allowances[at]
    return allowance === undefined
      ? []
      : [{ allowance, assets: views[at]?.decode(values[at]) ?? null, replaced }]
  })
  return { nextNonce, left }
}

async function replacedBy(
  { id, chainId, signer, slots }: Workflow,
  allowance: StandingAllowance,
  nextNonce: number,
  { journal, stands }: AllowanceDeps,
): Promise<Replaced | null> {
  const landed = slots.filter(hasLanded)
  const own = landed.filter((slot) => replaces(slot, allowance))
  let found: Replaced = 'not'
  for (
    let nonce = 1 + Math.max(...(own.length === 0 ? landed : own).map((slot) => slot.nonce));
    nonce < nextNonce;
    nonce += 1
  ) {
    const holder = await journal.byNonce(chainId, signer, nonce)
    if (holder === null || holder === 'archived' || holder.id === id) continue
    const slot = holder.slots.find((each) => each.nonce === nonce)
    if (slot === undefined || !replaces(slot, allowance)) continue
    // One that is quarantined may stay as it is for long: then what stands is not left to it.
    const isLive = holder.state === 'in_flight' && holder.quarantined === undefined
    if (slot.state !== 'final') {
      if (isLive) return null
      continue
    }
    const { inclusion } = slot
    if (inclusion === undefined || !hasLanded(slot)) continue
    if (stands({ number: inclusion.blockNumber, hash: inclusion.blockHash }) !== true) return null
    found = isLive ? 'by_live' : 'by_ended'
  }
  return found
}

/** Whether a payload sets what this allowance set, to whatever amount: the selector and the spender are the same. Pure. */
const replaces = ({ payload }: Slot, allowance: StandingAllowance): boolean => {
  const { to, data } = revocationPayload(allowance)
  return (
    payload.to === to && payload.data.slice(0, APPROVE_SPENDER_CHARS) === data.slice(0, APPROVE_SPENDER_CHARS)
  )
}
