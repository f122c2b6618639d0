import { z } from 'zod'
import { type Checked, refuse } from '../../errors.ts'
import { amount, bps, count } from '../../service/contract/yaml-scalars.ts'

/** Larger is a slip of the pen. */
const FIGURE_MAX = 999_999
/** As many digits as a fee has at most. */
const wei = amount('wei').refine((value) => value < 10n ** 30n, { error: 'allowed: less than 10^30 wei' })

/** `fees` of a policy: what we pay, chosen by us and never by the service. */
export const feePolicy = z
  .strictObject({
    /** Never pay more for one unit of gas. */
    maxFeePerGasWei: wei,
    priorityFeePerGasWei: wei,
    /** The first offer covers this much of the head's base fee: 20000 is twice. */
    baseFeeBps: bps(0, FIGURE_MAX).transform(BigInt),
    /** Each replacement raises both fees by this much; nodes demand 1000. */
    bumpBps: bps(0, FIGURE_MAX).transform(BigInt),
    /** Replace when the chain has produced this many blocks without the transaction. */
    bumpAfterBlocks: count('blocks', 0, FIGURE_MAX).transform(BigInt),
  })
  .refine((fees) => fees.priorityFeePerGasWei <= fees.maxFeePerGasWei, {
    path: ['priorityFeePerGasWei'],
    message: 'is above maxFeePerGasWei; lower it',
  })
  .refine((fees) => fees.bumpBps >= 1_000n, {
    path: ['bumpBps'],
    message: 'is below 1000 (10 %), which nodes refuse as underpriced; raise it',
  })
  .refine((fees) => fees.baseFeeBps >= 10_000n, {
    path: ['baseFeeBps'],
    message: 'is below 10000 (the base fee itself), so that nothing would land; raise it',
  })
export type FeePolicy = z.infer<typeof feePolicy>

/** Fees of one EIP-1559 transaction, wei for one unit of gas. */
export type Fees = { readonly maxFeePerGasWei: bigint; readonly maxPriorityFeePerGasWei: bigint }

const min = (a: bigint, b: bigint) => (a < b ? a : b)
const max = (a: bigint, b: bigint) => (a > b ? a : b)

/** Choose the first offer for a base fee. Refuses when the policy's cap is below the base fee. Pure. */
export function quoteFees(baseFeePerGasWei: bigint, policy: FeePolicy): Checked<{ fees: Fees }> {
  if (policy.maxFeePerGasWei < baseFeePerGasWei) {
    return refuse(
      'fee_cap_below_base_fee',
      `The base fee is ${baseFeePerGasWei} wei; the policy caps fees at ${policy.maxFeePerGasWei} wei. Fix: wait, or raise fees.maxFeePerGasWei.`,
    )
  }
  const wanted = (baseFeePerGasWei * policy.baseFeeBps) / 10_000n + policy.priorityFeePerGasWei
  const maxFeePerGasWei = min(wanted, policy.maxFeePerGasWei)
  return {
    ok: true,
    fees: { maxFeePerGasWei, maxPriorityFeePerGasWei: min(policy.priorityFeePerGasWei, maxFeePerGasWei) },
  }
}

/**
 * Raise the fees of an attempt so that nodes take the replacement; null when the cap leaves no room. Pure.
 * Source: go-ethereum's price bump rule (both fees, at least 10 %).
 */
export function bumpFees(last: Fees, baseFeePerGasWei: bigint, policy: FeePolicy): Fees | null {
  const raised = (wei: bigint) => (wei * (10_000n + policy.bumpBps) + 9_999n) / 10_000n
  const market = (baseFeePerGasWei * policy.baseFeeBps) / 10_000n + policy.priorityFeePerGasWei
  const maxFeePerGasWei = min(max(raised(last.maxFeePerGasWei), market), policy.maxFeePerGasWei)
  const maxPriorityFeePerGasWei = raised(last.maxPriorityFeePerGasWei)
  const enough = maxFeePerGasWei >= raised(last.maxFeePerGasWei) && maxPriorityFeePerGasWei <= maxFeePerGasWei
  return enough ? { maxFeePerGasWei, maxPriorityFeePerGasWei } : null
}
