import type { Address, Hex } from 'viem'
import { invariant } from '../errors.ts'

/** What a transaction does, without nonce and fees: the part that the guard cleared. */
export type Payload = {
  /** Null where it creates a contract. */
  readonly to: Address | null
  readonly data: Hex
  readonly valueWei: bigint
  readonly gasLimit: bigint
}

/** `payload` carries the slot's own payload; `noop` closes its nonce with an empty transfer to ourselves. */
export type AttemptPurpose = 'payload' | 'noop'

/**
 * One signed form of a slot: `ordered` (digest recorded, KMS may be asked), `signed` (raw bytes recorded), `sent`
 * (a node may have them). Never back.
 */
export type Attempt = {
  readonly purpose: AttemptPurpose
  readonly maxFeePerGasWei: bigint
  readonly maxPriorityFeePerGasWei: bigint
  /** Of a no-op: what our nodes estimated for it; absent where it is 21,000. */
  readonly noopGas?: bigint
  /** The unsigned EIP-1559 bytes that `digest` is the keccak-256 of. */
  readonly unsigned: Hex
  readonly digest: Hex
  readonly state: 'ordered' | 'signed' | 'sent'
  readonly orderedAtMs: number
  readonly raw?: Hex
  /** The transaction's hash, known once it is signed. */
  readonly hash?: Hex
  readonly sentAtMs?: number
  /** Our node's head when it was first sent: a bump waits for blocks, not for seconds. */
  readonly sentAtBlock?: bigint
}

/** A token that moved to (positive) or from (negative) the signer, base units. */
export type TokenChange = { readonly token: Address; readonly assets: bigint }

/** How a mined attempt ended, with all that concluding needs of its receipt. Wei and gas as the receipt has them. */
export type Inclusion = {
  readonly hash: Hex
  readonly purpose: AttemptPurpose
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly status: 'success' | 'reverted'
  readonly gasUsed: bigint
  readonly effectiveGasPriceWei: bigint
  /** What its bytes cost beside gas, wei; absent where the chain charges nothing for them. */
  readonly dataFeeWei?: bigint
  /** What its logs say moved to and from the signer; a journal of an earlier release lacks it until it is read again. */
  readonly tokens?: readonly TokenChange[]
  /** The liquidation claim that it opened. */
  readonly claimId?: bigint
}

/** What simulation said a payload would do to the signer. */
type PredictedEffects = {
  readonly gasUsed: bigint
  /** What its bytes cost beside gas, by the chain's own oracle then, wei; absent where the chain charges nothing for them. */
  readonly dataFeeWei?: bigint
  readonly tokens: readonly TokenChange[]
}

/**
 * One nonce of one signer and what it carries: a payload, or that payload and then a no-op.
 * `open` (not mined), `mined` (provisional: a reorg opens it again), `final`.
 */
export type Slot = {
  /** Position in the workflow; intents first, then revocations. */
  readonly index: number
  readonly kind: 'intent' | 'revoke'
  readonly chainId: number
  readonly signer: Address
  readonly nonce: number
  readonly payload: Payload
  readonly predicted: PredictedEffects
  readonly state: 'open' | 'mined' | 'final'
  readonly attempts: readonly Attempt[]
  readonly inclusion?: Inclusion
  /** Set when the payload must not run any more: the next attempt is a no-op at the same nonce. */
  readonly closing?: string
  /** Nonce consumed by a transaction that is none of this slot's (final). */
  readonly consumedByOther?: true
}

/** Find the slot that holds a nonce of a signer, in the workflow that does. Pure. */
export const slotAt = (
  holder: { readonly slots: readonly Slot[] } | null,
  signer: Address,
  nonce: number,
): Slot | undefined => holder?.slots.find((slot) => slot.nonce === nonce && slot.signer === signer)

/** Open a slot again whose transaction, or that of another at its nonce, is gone. Pure. */
export const reopened = (slot: Slot): Slot => {
  const { inclusion: _gone, consumedByOther: _lost, ...rest } = slot
  return { ...rest, state: 'open' }
}

/** What was paid for a transaction, wei: its gas, and its bytes where the chain charges for them. Pure. */
export const paidWei = (of: Pick<Inclusion, 'gasUsed' | 'effectiveGasPriceWei' | 'dataFeeWei'>): bigint =>
  of.gasUsed * of.effectiveGasPriceWei + (of.dataFeeWei ?? 0n)

/** How often what is reserved holds what was expected: the fee moves with another chain's, between a look and a block. */
const RESERVED_TIMES = 2n

/** What is reserved for bytes, by what they were expected to cost, wei. Pure. */
export const dataFeeAtMostWei = (expectedWei: bigint | undefined): bigint =>
  (expectedWei ?? 0n) * RESERVED_TIMES

const ATTEMPT_RANK = { ordered: 0, signed: 1, sent: 2 } as const

/** Replace the last attempt. Throws BrokenInvariant when it would go back or change what is signed. Pure. */
export function withLastAttempt(slot: Slot, next: Attempt): Slot {
  const last = slot.attempts.at(-1)
  invariant(last !== undefined, `slot ${slot.nonce} has no attempt to advance`)
  invariant(last.digest === next.digest, `slot ${slot.nonce}: an attempt keeps its digest for life`)
  invariant(
    ATTEMPT_RANK[next.state] >= ATTEMPT_RANK[last.state],
    `slot ${slot.nonce}: attempt ${last.state} → ${next.state} goes back`,
  )
  invariant(last.raw === undefined || last.raw === next.raw, `slot ${slot.nonce}: raw bytes never change`)
  return { ...slot, attempts: [...slot.attempts.slice(0, -1), next] }
}

/** Add an attempt: a fee bump, or the no-op that closes the nonce. Pure. */
export function withNewAttempt(slot: Slot, next: Attempt): Slot {
  const last = slot.attempts.at(-1)
  invariant(slot.state === 'open', `slot ${slot.nonce} is ${slot.state}; only an open slot takes an attempt`)
  invariant(
    last === undefined || last.purpose === 'payload' || next.purpose === 'noop',
    `slot ${slot.nonce}: after a no-op only a no-op may follow`,
  )
  invariant(next.state === 'ordered', `slot ${slot.nonce}: an attempt begins ordered`)
  return { ...slot, attempts: [...slot.attempts, next] }
}
