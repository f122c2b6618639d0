import type { Address } from 'viem'
import { type Checked, invariant, type Refusal } from '../errors.ts'
import type { Journal, Reservation } from '../journal/journal.ts'
import { span } from '../readable.js'
import type { Slot } from '../workflow/slot.ts'
import { moved, type Step } from '../workflow/step.ts'
import { move, type Workflow } from '../workflow/workflow.ts'
import { type Fees, gasOf } from './transactions/fees.ts'
import { reservationOf } from './transactions/reservation.ts'
import { orderAttempt } from './transactions/transaction.ts'

/** What claiming needs. */
export type ClaimDeps = {
  readonly nowMs: () => number
  readonly rulesetHash: string
  /** Why the signer is SAFE, or null. */
  readonly safe: () => Refusal | null
  /** The first offer for its payloads. */
  readonly fees: (gas: ReturnType<typeof gasOf>) => Checked<{ readonly fees: Fees }>
  readonly nextNonce: (signer: Address) => Promise<number>
  /** Judge by the budgets as of a revision. */
  readonly checkBudget: (reservation: Reservation) => Promise<Checked<{ readonly revision: string }>>
  /** One compare-and-set: nonces, unsigned bytes, digests and the reservation. */
  readonly claim: Journal['claimWithin']
}

/** A clearance is about the chain of its moment: one that waited longer, over a restart say, is made anew. */
const CLEARANCE_AGE_MS_MAX = 2_000

/**
 * Claim nonces for what the guard cleared, with the unsigned bytes and digests in the same durable step: a nonce is
 * never claimed without its payload. A lost race goes back to be cleared on fresh reads; where another took of the budget
 * meanwhile, it is judged again.
 */
export async function claim(workflow: Workflow, deps: ClaimDeps): Promise<Step> {
  const { clearance } = workflow
  invariant(clearance !== undefined, `workflow ${workflow.id} is cleared without a clearance`)
  const nowMs = deps.nowMs()
  if (nowMs >= clearance.notAfterMs) {
    const message = `The clearance ended ${span(nowMs - clearance.notAfterMs)} ago; nothing was claimed.`
    return moved(move(workflow, 'expired', nowMs, { note: { check: 'clearance_expired', message } }))
  }
  // Either way: by a clock that was put back, every clearance is young.
  const isOld =
    Math.abs(nowMs - clearance.atMs) > CLEARANCE_AGE_MS_MAX || clearance.rulesetHash !== deps.rulesetHash
  if (isOld) return moved(move(workflow, 'attested', nowMs))
  const safe = deps.safe()
  if (safe !== null) return moved(move(workflow, 'refused', nowMs, { note: safe }))
  const quoted = deps.fees(gasOf(clearance.payloads))
  if (!quoted.ok) return moved(move(workflow, 'refused', nowMs, { note: quoted }))
  const firstNonce = await deps.nextNonce(workflow.signer)
  const slots = clearance.payloads.map(({ payload, predicted }, index): Slot => {
    const slot = {
      index,
      kind: 'intent' as const,
      chainId: workflow.chainId,
      signer: workflow.signer,
      nonce: firstNonce + index,
      payload,
      predicted,
      state: 'open' as const,
    }
    return { ...slot, attempts: [orderAttempt(slot, 'payload', quoted.fees, nowMs)] }
  })
  const inFlight = move(workflow, 'in_flight', nowMs, { slots })
  const reservation = reservationOf(inFlight, nowMs)
  const affordable = await deps.checkBudget(reservation)
  if (!affordable.ok) return moved(move(workflow, 'refused', nowMs, { note: affordable }))
  const claimed = await deps.claim(inFlight, reservation, affordable.revision)
  // At once: who goes to the back of its line meets others there again, until its clearance is too old.
  if (claimed === 'outdated') return claim(workflow, deps)
  return claimed === 'lost'
    ? moved(move(workflow, 'attested', nowMs))
    : { type: 'written', workflow: claimed }
}
