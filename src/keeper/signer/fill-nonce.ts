import type { Address } from 'viem'
import { type Checked, refuse } from '../../errors.ts'
import type { Journal } from '../../journal/journal.ts'
import { bumpFees, type FeePolicy, type Fees, quoteFees } from '../../pipeline/transactions/fees.ts'
import { NOOP_GAS } from '../../pipeline/transactions/reservation.ts'
import { orderAttempt } from '../../pipeline/transactions/transaction.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import { idempotencyKey, opportunityKey } from '../../workflow/keys.ts'
import { isTerminal, type Note, type Workflow } from '../../workflow/workflow.ts'

/** Who pays for filling a nonce: a live role of its signer. */
export type Filler = {
  readonly role: Role
  /** One that the role may propose: a record has a type, also where nothing of it is done. */
  readonly workflowType: WorkflowType
  readonly fees: FeePolicy
}

/**
 * Why a nonce is filled, and what was offered there already, which nodes may still have; `instead` is the id of the ended
 * workflow whose transaction there the chain has lost.
 */
export type Filling = { readonly note: Note; readonly over?: Fees; readonly instead?: string }

/** What filling a nonce needs. */
type FillDeps = {
  readonly nowMs: () => number
  readonly chainId: number
  readonly journal: Pick<Journal, 'open' | 'claim' | 'byOpportunity' | 'get'>
  readonly baseFeePerGasWei: () => bigint
  readonly noopGas: (signer: Address) => bigint
  readonly fillerOf: (signer: Address) => Filler | undefined
  /** It is to be carried from now on. */
  readonly onFilled: (workflow: Workflow) => void
}

const NOTHING = { usdMicros: 0n, assets: 0n } as const

/**
 * Close a nonce that nobody holds, or only what has ended: a workflow of its own whose one slot is closed from the beginning, so that it is signed,
 * sent, bumped and followed like any other no-op. It tips as much as the policy allows: others may have something pending
 * there. Again, it is the same one.
 * @param filling its note's check is what the slot is closed for.
 */
export async function fillNonce(
  signer: Address,
  nonce: number,
  { note, over, instead }: Filling,
  deps: FillDeps,
): Promise<Checked<{ readonly workflow: Workflow }>> {
  const { chainId, journal, fillerOf } = deps
  const filler = fillerOf(signer)
  if (filler === undefined) return refuse('signer_unstaffed', `No live role signs with ${signer}.`)
  const { maxFeePerGasWei: capWei, priorityFeePerGasWeiMax: tipWei } = filler.fees
  const baseFeeWei = deps.baseFeePerGasWei()
  const quoted = quoteFees(baseFeeWei, filler.fees, { capWei, tipWei })
  if (!quoted.ok) return quoted
  const raised = over === undefined ? null : bumpFees(over, baseFeeWei, filler.fees, { capWei, tipWei })
  const { role, workflowType } = filler
  const named = { kind: 'fill', subject: `nonce:${signer.toLowerCase()}`, occurrence: String(nonce) }
  const opportunity = opportunityKey({ chainId, role, workflowType, ...named, shadow: false })
  const last = await journal.byOpportunity(opportunity)
  const begun = last === null || isTerminal(last.state) ? null : await journal.get(last.id)
  // One that has no nonce was begun by a process that died, or lost its claim.
  if (begun !== null && begun.slots.length > 0) return { ok: true, workflow: begun }
  const round = begun?.round ?? (last === null ? 0 : last.round + 1)
  const nowMs = deps.nowMs()
  const payload = { to: signer, data: '0x', valueWei: 0n, gasLimit: NOOP_GAS } as const
  const bare = { index: 0, kind: 'intent', chainId, signer, nonce, payload, state: 'open' } as const
  const noop = orderAttempt(bare, 'noop', raised ?? quoted.fees, nowMs, deps.noopGas(signer))
  const workflow: Workflow = {
    id: idempotencyKey(opportunity, round),
    role,
    chainId,
    signer,
    opportunity,
    round,
    proposal: {
      workflowType,
      ...named,
      summary: note.message,
      reason: {},
      input: instead === undefined ? {} : { instead },
      exposure: { token: signer, ...NOTHING },
    },
    state: 'cleared',
    version: begun?.version ?? 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    strikes: 0,
    slots: [],
  }
  await journal.open(workflow)
  const slot = {
    ...bare,
    predicted: { gasUsed: 0n, tokens: [] },
    closing: note.check,
    attempts: [noop],
  }
  const claimed = await journal.claim({ ...workflow, state: 'in_flight', slots: [slot], note }, null)
  if (claimed === 'lost')
    return refuse('nonce_held', `Nonce ${nonce} of ${signer} is held, or not yet claimed.`)
  deps.onFilled(claimed)
  return { ok: true, workflow: claimed }
}
