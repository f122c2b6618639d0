import { invariant } from '../../errors.ts'
import { type Attempt, type AttemptPurpose, type Slot, withNewAttempt } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import {
  bumpFees,
  type FeePolicy,
  type Fees,
  gasOf,
  type OfferTerms,
  payloadCapWei,
  quoteFees,
  shareOf,
} from './fees.ts'
import { orderAttempt, sentBy } from './transaction.ts'

/** The chain, as far as fees and replacements depend on it. */
export type ReplaceView = {
  readonly nowMs: number
  readonly headNumber: bigint
  readonly headTimestampS: number
  readonly baseFeePerGasWei: bigint
  /** Transactions of the signer counted at the head: the nonce that is mined next. */
  readonly chainNonce: number
}

/** What replacements are held to. */
export type ReplaceTerms = {
  readonly fees: FeePolicy
  readonly rulesetHash: string
  /** What the gas of one workflow may cost, wei. */
  readonly gasWeiMax: bigint
  /** What others tip of late, wei for one unit of gas; null where no node says. */
  readonly tipWei: bigint | null
  /** What a no-op of this signer needs now. */
  readonly noopGas: bigint
  /** What urgent payloads of this signer offer, by their nonces: it is in vain until what comes before them lands. */
  readonly urgent: readonly { readonly nonce: number; readonly fees: Fees }[]
}

/**
 * The time that ends what no node has: ours or the chain's, whichever is later, as a clock may have been put back. Unix
 * milliseconds. Pure.
 */
export const latestMs = ({ nowMs, headTimestampS }: Pick<ReplaceView, 'nowMs' | 'headTimestampS'>): number =>
  Math.max(nowMs, headTimestampS * 1_000)

/** Whether a node may have any form of this slot. Pure. */
export const isPublic = (slot: Slot): boolean => slot.attempts.some((attempt) => attempt.state === 'sent')

/** Whether a slot ended, or will end, without its payload's effect. What was mined outweighs what was wanted. Pure. */
export const hasFailed = (slot: Slot): boolean => {
  const { inclusion } = slot
  if (inclusion !== undefined) return inclusion.status === 'reverted' || inclusion.purpose === 'noop'
  return slot.closing !== undefined || slot.consumedByOther === true
}

/** Why a slot's payload must not run any more, or undefined. Pure. */
function closingReason(
  slot: Slot,
  workflow: Workflow,
  view: ReplaceView,
  rulesetHash: string,
): string | undefined {
  if (slot.closing !== undefined || slot.kind === 'revoke') return slot.closing
  if (workflow.slots.some((earlier) => earlier.index < slot.index && hasFailed(earlier)))
    return 'earlier_slot_failed'
  const { clearance } = workflow
  invariant(clearance !== undefined, `workflow ${workflow.id} is in flight without clearance`)
  // By our own end of it: the service may say 2099. What is public may still land until the chain itself is past it.
  const clockMs = isPublic(slot) ? view.headTimestampS * 1_000 : latestMs(view)
  if (clockMs >= clearance.notAfterMs) return 'expired'
  return !isPublic(slot) && clearance.rulesetHash !== rulesetHash ? 'ruleset_changed' : undefined
}

/**
 * What an attempt may offer. A no-op and a revocation close what is open, and may take all that the policy allows; a
 * payload stops where its no-op still fits, and where it is worth no more. Pure.
 */
function capOf(
  slot: Slot,
  purpose: AttemptPurpose,
  { proposal, slots, clearance }: Workflow,
  terms: ReplaceTerms,
): bigint {
  if (purpose === 'noop' || slot.kind === 'revoke') return terms.fees.maxFeePerGasWei
  const payloads = slots.filter(({ kind }) => kind === 'intent')
  const weiMax = terms.gasWeiMax - sentBy(payloads)
  return payloadCapWei(terms.fees, proposal, { ...gasOf(payloads), weiMax, ...shareOf(clearance) })
}

/**
 * Whether a no-op or a revocation that no key has signed offers more than the policy allows: the policy may be another by now,
 * and who writes records could give all that we have to who mines them. Pure.
 */
export function isAboveCap({ kind, attempts }: Slot, { maxFeePerGasWei }: FeePolicy): boolean {
  const last = attempts.at(-1)
  if (last?.state !== 'ordered' || (kind === 'intent' && last.purpose === 'payload')) return false
  return last.maxFeePerGasWei > maxFeePerGasWei
}

function nextFees(
  last: Attempt,
  slot: Slot,
  purpose: AttemptPurpose,
  offer: OfferTerms,
  { baseFeePerGasWei }: ReplaceView,
  { fees }: ReplaceTerms,
): Fees | null {
  // Bytes that exist may be public: a process that died between a send and its record does not know.
  const signed = slot.attempts.findLast(({ raw }) => raw !== undefined)
  const isOver = isAboveCap(slot, fees)
  const raised = signed === undefined ? null : bumpFees(isOver ? signed : last, baseFeePerGasWei, fees, offer)
  // Where the cap leaves no room, a nonce is still closed: nodes that dropped the payload take the no-op as new.
  if (raised !== null || (signed !== undefined && purpose === last.purpose && !isOver)) return raised
  const quoted = quoteFees(baseFeePerGasWei, fees, offer)
  return quoted.ok ? quoted.fees : null
}

/** What a block would take of an offer beyond its base fee; negative where it takes it not at all. Pure. */
const effectiveTip = ({ maxFeePerGasWei, maxPriorityFeePerGasWei }: Fees, baseFeeWei: bigint): bigint =>
  maxFeePerGasWei - baseFeeWei < maxPriorityFeePerGasWei
    ? maxFeePerGasWei - baseFeeWei
    : maxPriorityFeePerGasWei

/**
 * The fees that what is urgent behind a slot offers, as far as the slot's own cap goes; null where the slot is worth as
 * much to a block, or its cap leaves it no better. Pure.
 */
function overtakenBy(
  slot: Slot,
  last: Fees,
  capWei: bigint,
  { baseFeePerGasWei, chainNonce }: ReplaceView,
  { urgent }: ReplaceTerms,
): Fees | null {
  const behind = urgent.filter(({ nonce }) => slot.nonce >= chainNonce && nonce > slot.nonce)
  const best = behind.toSorted((one, other) =>
    effectiveTip(one.fees, baseFeePerGasWei) > effectiveTip(other.fees, baseFeePerGasWei) ? -1 : 1,
  )[0]
  if (best === undefined) return null
  const maxFeePerGasWei = best.fees.maxFeePerGasWei < capWei ? best.fees.maxFeePerGasWei : capWei
  const { maxPriorityFeePerGasWei } = best.fees
  const wanted = { maxFeePerGasWei, maxPriorityFeePerGasWei }
  return effectiveTip(last, baseFeePerGasWei) < effectiveTip(wanted, baseFeePerGasWei) ? wanted : null
}

function withReplacement(slot: Slot, workflow: Workflow, view: ReplaceView, terms: ReplaceTerms): Slot {
  const last = slot.attempts.at(-1)
  invariant(last !== undefined, `slot ${slot.nonce} has no attempt`)
  const mustClose = slot.closing !== undefined && last.purpose === 'payload'
  const isStuck =
    last.state === 'sent' &&
    view.chainNonce === slot.nonce &&
    view.headNumber >= (last.sentAtBlock ?? 0n) + terms.fees.bumpAfterBlocks
  const purpose = mustClose ? 'noop' : last.purpose
  const capWei = capOf(slot, purpose, workflow, terms)
  const atLeast = last.state === 'sent' ? overtakenBy(slot, last, capWei, view, terms) : null
  if (!mustClose && !isStuck && atLeast === null && !isAboveCap(slot, terms.fees)) return slot
  const ownTipWei = purpose === 'payload' ? workflow.proposal.offer?.tipWei : undefined
  const offer = { capWei, tipWei: terms.tipWei, ownTipWei, ...(atLeast === null ? {} : { atLeast }) }
  const fees = nextFees(last, slot, purpose, offer, view, terms)
  if (fees === null) return slot
  return withNewAttempt(slot, orderAttempt(slot, purpose, fees, view.nowMs, terms.noopGas))
}

/**
 * Order the replacements that are due: a no-op where the payload must not run any more, higher fees where the chain
 * went on without a slot whose turn it is. A slot whose cap leaves no room stays as it is. Pure.
 * @returns the same object when nothing is due.
 */
export function orderReplacements(workflow: Workflow, view: ReplaceView, terms: ReplaceTerms): Workflow {
  let changed = false
  let next = workflow
  for (const slot of workflow.slots) {
    if (slot.state !== 'open') continue
    const closing = closingReason(slot, next, view, terms.rulesetHash)
    const closed = closing === undefined || closing === slot.closing ? slot : { ...slot, closing }
    const replaced = withReplacement(closed, next, view, terms)
    if (replaced === slot) continue
    changed = true
    next = { ...next, slots: next.slots.map((other) => (other.index === slot.index ? replaced : other)) }
  }
  return changed ? next : workflow
}
