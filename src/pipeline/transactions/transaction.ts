import {
  encodeFunctionData,
  erc20Abi,
  type Hex,
  hexToBytes,
  keccak256,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializableEIP1559,
} from 'viem'
import { invariant } from '../../errors.ts'
import { isSignedBy } from '../../sign/signature.ts'
import type { Attempt, AttemptPurpose, Payload, Slot } from '../../workflow/slot.ts'
import type { StandingAllowance } from '../../workflow/workflow.ts'
import type { Fees } from './fees.ts'
import { type Carried, NOOP_GAS, payloadOf } from './reservation.ts'

const transaction = (
  slot: Pick<Slot, 'payload' | 'signer' | 'chainId' | 'nonce'>,
  attempt: Carried & Fees,
): TransactionSerializableEIP1559 => {
  const payload = payloadOf(slot, attempt)
  return {
    type: 'eip1559',
    chainId: slot.chainId,
    nonce: slot.nonce,
    to: payload.to,
    data: payload.data,
    value: payload.valueWei,
    gas: payload.gasLimit,
    maxFeePerGas: attempt.maxFeePerGasWei,
    maxPriorityFeePerGas: attempt.maxPriorityFeePerGasWei,
  }
}

/** Order an attempt: the unsigned EIP-1559 bytes and the digest that the KMS will be asked for. Pure. */
export function orderAttempt(
  slot: Pick<Slot, 'payload' | 'signer' | 'chainId' | 'nonce'>,
  purpose: AttemptPurpose,
  fees: Fees,
  nowMs: number,
  noopGas = NOOP_GAS,
): Attempt {
  const carried = { purpose, ...fees, ...(purpose === 'noop' && noopGas !== NOOP_GAS ? { noopGas } : {}) }
  const unsigned = serializeTransaction(transaction(slot, carried))
  return { ...carried, unsigned, digest: keccak256(unsigned), state: 'ordered', orderedAtMs: nowMs }
}

/**
 * Prove, before a key sees its digest, that an attempt is what its slot is for: the digest is of these bytes, the bytes are
 * of this payload, and what takes an approval back does nothing else. Throws BrokenInvariant when a record was changed.
 */
export function proveOrdered(slot: Slot, attempt: Attempt): void {
  invariant(isOf(slot, attempt), `slot ${slot.nonce}: what is to be signed is not what was ordered`)
  const isAllowed = slot.kind === 'intent' || attempt.purpose === 'noop' || isRevocation(slot.payload)
  invariant(isAllowed, `slot ${slot.nonce}: its revocation is none`)
}

/** Whether an attempt's digest is of its bytes, and these are of its slot's payload. Pure. */
const isOf = (slot: Slot, attempt: Attempt): boolean =>
  keccak256(attempt.unsigned) === attempt.digest &&
  serializeTransaction(transaction(slot, attempt)) === attempt.unsigned

/** Whether the slot's key has signed an attempt, by its raw bytes: that it was sent can be written of anything. Pure. */
export function wasSigned(slot: Slot, attempt: Attempt): boolean {
  const { raw, digest } = attempt
  if (raw === undefined || !isOf(slot, attempt)) return false
  try {
    const { r, s, yParity } = parseTransaction(raw)
    if (!r || !s || yParity === undefined) return false
    return isSignedBy(hexToBytes(digest), BigInt(r), BigInt(s), yParity, slot.signer)
  } catch {
    // No transaction at all.
    return false
  }
}

/** Sum the native coin that payloads send, wei. Pure. */
export const sentBy = (payloads: readonly Pick<Slot, 'payload'>[]): bigint =>
  payloads.reduce((sum, { payload }) => sum + payload.valueWei, 0n)

/**
 * Join an ordered attempt and its signature to raw bytes, and prove that they are what was ordered: the raw
 * transaction, parsed again, has the ordered fields, and its signature recovers to the slot's signer.
 * Throws BrokenInvariant when not.
 */
export async function assembleRaw(
  slot: Slot,
  attempt: Attempt,
  signature: { readonly r: Hex; readonly s: Hex; readonly yParity: 0 | 1 },
): Promise<{ readonly raw: Hex; readonly hash: Hex }> {
  const raw = serializeTransaction(transaction(slot, attempt), signature)
  const { r, s, v, yParity, ...rest } = parseTransaction(raw)
  invariant(r && s && yParity !== undefined, `slot ${slot.nonce}: the raw transaction carries no signature`)
  invariant(
    serializeTransaction({ ...rest, type: 'eip1559' } as TransactionSerializableEIP1559) === attempt.unsigned,
    `slot ${slot.nonce}: the raw transaction is not what was ordered`,
  )
  invariant(
    isSignedBy(hexToBytes(attempt.digest), BigInt(r), BigInt(s), yParity, slot.signer),
    `slot ${slot.nonce}: the signature is not the signer's`,
  )
  return { raw, hash: keccak256(raw) }
}

/** `approve` of any spender, and nothing but zeros. */
const REVOCATION = /^0x095ea7b30{24}[0-9a-f]{40}0{64}$/i

/** Most gas that taking an approval back may use: a token clears one slot and logs it. */
const REVOCATION_GAS = 100_000n

const isRevocation = ({ data, valueWei, gasLimit }: Payload): boolean =>
  valueWei === 0n && gasLimit <= REVOCATION_GAS && REVOCATION.test(data)

/**
 * Build the payload that takes a standing approval back. Built by us alone: nobody prepares it, and it can only lower
 * what others may take. Pure. Source: EIP-20, approve.
 */
export const revocationPayload = (allowance: StandingAllowance): Payload => ({
  to: allowance.token,
  data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [allowance.spender, 0n] }),
  valueWei: 0n,
  gasLimit: REVOCATION_GAS,
})
