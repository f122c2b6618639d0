import type { Address } from 'viem'
import type { Reservation } from '../../journal/journal.ts'
import { type Attempt, dataFeeAtMostWei, type Payload, type Slot } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** Gas of an empty transfer: what a no-op costs at least. Source: Ethereum yellow paper, G_transaction. */
export const NOOP_GAS = 21_000n

/** The payload that closes a nonce: nothing, sent to ourselves. Built here, never prepared by anyone. Pure. */
const noopPayload = (signer: Address, gasLimit: bigint): Payload => ({
  to: signer,
  data: '0x',
  valueWei: 0n,
  gasLimit,
})

/** What an attempt carries, without its fees. */
export type Carried = Pick<Attempt, 'purpose' | 'noopGas'>

/** The payload that one attempt of a slot carries. Pure. */
export const payloadOf = (
  slot: Pick<Slot, 'payload' | 'signer'>,
  { purpose, noopGas = NOOP_GAS }: Carried,
): Payload => (purpose === 'noop' ? noopPayload(slot.signer, noopGas) : slot.payload)

/**
 * The most native coin that a workflow's slots can cost, wei, what they send, their gas and their bytes: of each slot the
 * dearest of its attempts, because only one of them is ever mined. Pure.
 */
export const nativeAtMostWei = (
  slots: readonly Pick<Slot, 'payload' | 'signer' | 'attempts' | 'predicted'>[],
): bigint =>
  slots.reduce((sum, slot) => {
    const costs = slot.attempts.map((attempt) => {
      const { gasLimit, valueWei } = payloadOf(slot, attempt)
      return gasLimit * attempt.maxFeePerGasWei + valueWei
    })
    const dearest = costs.reduce((most, cost) => (cost > most ? cost : most), 0n)
    return sum + dearest + dataFeeAtMostWei(slot.predicted.dataFeeWei)
  }, 0n)

/** What a workflow's slots may cost by now: every attempt that it ever ordered counts, until the end says what it was. Pure. */
export const reservationOf = (workflow: Workflow, nowMs: number): Reservation => ({
  workflowId: workflow.id,
  role: workflow.role,
  workflowType: workflow.proposal.workflowType,
  signer: workflow.signer,
  atMs: nowMs,
  usdMicros: workflow.proposal.exposure.usdMicros,
  ...(workflow.clearance?.uses === undefined ? {} : { uses: workflow.clearance.uses }),
  ...outOf(workflow),
  ...(workflow.hold?.approvedAtMs === undefined ? {} : { approved: true }),
  gasWei: nativeAtMostWei(workflow.slots),
  reverted: workflow.slots.some(({ inclusion }) => inclusion?.status === 'reverted'),
})

function outOf({ proposal: { exposure } }: Workflow): Pick<Reservation, 'out'> {
  const { token, assets } = exposure
  if (token === null || assets === 0n) return {}
  return { out: { token: `0x${token.slice(2).toLowerCase()}`, assets } }
}
