import type { z } from 'zod'
import { type Checked, refuse } from '../../errors.ts'
import { native } from '../../readable.js'
import { blocks, bps, positiveUsdMicros, settings, wei } from '../../service/contract/yaml-scalars.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import { dataFeeAtMostWei, type Slot } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** Larger is a slip of the pen. */
const FIGURE_MAX = 999_999
/** As many digits as a fee has at most. */
const fee = wei().refine((value) => value < 10n ** 30n, { error: 'allowed: less than 10^30 wei' })

/** `fees` of a policy: what we pay, chosen by us and never by the service. */
export const feePolicy = settings({
  /** Never offer more for one unit of gas; a payload stays so far below it that a no-op can still replace it. */
  maxFeePerGasWei: fee,
  /** Tip at least this, and what others tip of late, but at most that. */
  priorityFeePerGasWei: fee,
  priorityFeePerGasWeiMax: fee,
  /** The share of what a workflow is worth, by its agent's word, that its gas may cost. */
  gainShareBps: bps(1, 10_000).transform(BigInt),
  /** What one whole native coin counts as, at most, in that. */
  nativePriceUsdMicros: positiveUsdMicros(),
  /** The first offer covers this much of the head's base fee: 20000 is twice. */
  baseFeeBps: bps(0, FIGURE_MAX).transform(BigInt),
  /** Each replacement raises both fees by this much; nodes demand 10 %. */
  bumpBps: bps(0, FIGURE_MAX).transform(BigInt),
  /** Replace when the chain has produced this many blocks without the transaction. */
  bumpAfterBlocks: blocks(0, FIGURE_MAX).transform(BigInt),
})
  .refine((fees) => fees.priorityFeePerGasWei <= fees.priorityFeePerGasWeiMax, {
    path: ['priorityFeePerGas'],
    message: 'is above priorityFeePerGasMax; lower it',
  })
  .refine((fees) => fees.priorityFeePerGasWeiMax <= fees.maxFeePerGasWei, {
    path: ['priorityFeePerGasMax'],
    message: 'is above maxFeePerGas; lower it',
  })
  .refine((fees) => fees.priorityFeePerGasWei > 0n, {
    path: ['priorityFeePerGas'],
    message: 'is 0 wei, which nodes refuse as underpriced; raise it to 1 wei or more',
  })
  .refine((fees) => payloadRoomWei(fees) > 0n, {
    path: ['maxFeePerGas'],
    message: 'leaves no payload room below what its no-op may have to offer; raise it',
  })
  .refine((fees) => fees.bumpBps >= 1_000n, {
    path: ['bump'],
    message: 'is below 10 %, which nodes refuse as underpriced; raise it',
  })
  .refine((fees) => fees.baseFeeBps >= 10_000n, {
    path: ['baseFee'],
    message: 'is below 100 %, the base fee itself, so that nothing would land; raise it',
  })
export type FeePolicy = z.infer<typeof feePolicy>

/** Fees of one EIP-1559 transaction, wei for one unit of gas. */
export type Fees = { readonly maxFeePerGasWei: bigint; readonly maxPriorityFeePerGasWei: bigint }

const min = (a: bigint, b: bigint) => (a < b ? a : b)
const max = (a: bigint, b: bigint) => (a > b ? a : b)

type Capped = { readonly maxFeePerGasWei: bigint; readonly bumpBps: bigint }

/**
 * The most that a payload of this policy may offer: the no-op that may have to replace it must still fit below the
 * policy's cap. Pure.
 */
function payloadRoomWei({ maxFeePerGasWei, bumpBps }: Capped): bigint {
  return (maxFeePerGasWei * 10_000n) / (10_000n + bumpBps)
}

/** A figure no cap reaches. */
const UNLIMITED = 10n ** 40n

/** What the payloads of one workflow need of gas, and what that may cost. */
export type GasNeeds = {
  /** Expected, by simulation. */
  readonly used: bigint
  /** What they may use. */
  readonly limit: bigint
  /** What their bytes cost beside gas, expected, wei; absent: nothing. */
  readonly dataFeeWei?: bigint
  /** What they may cost at most, by `limits.perWorkflow`. */
  readonly weiMax: bigint
  /** And by the guard's own sum of what they bring; absent where it makes none. */
  readonly shareWeiMax?: bigint
}

/** Sum the gas that payloads are expected to use, and may use, and what their bytes cost. Pure. */
export const gasOf = (payloads: readonly Pick<Slot, 'payload' | 'predicted'>[]) => ({
  used: payloads.reduce((sum, { predicted }) => sum + predicted.gasUsed, 0n),
  limit: payloads.reduce((sum, { payload }) => sum + payload.gasLimit, 0n),
  dataFeeWei: payloads.reduce((sum, { predicted }) => sum + (predicted.dataFeeWei ?? 0n), 0n),
})

/** What the guard lets gas cost by its own sum of what a workflow brings. Pure. */
export const shareOf = (clearance: Workflow['clearance']): Pick<GasNeeds, 'shareWeiMax'> =>
  clearance?.gasWeiMax === undefined ? {} : { shareWeiMax: clearance.gasWeiMax }

/**
 * The most that one unit of gas of a workflow's payloads may cost, wei: below the policy's cap, within the share of what
 * the workflow brings, and within its limit of gas, each less what its bytes cost. Pure.
 */
export function payloadCapWei(
  policy: FeePolicy,
  { worthUsdMicros }: Pick<Proposal, 'worthUsdMicros'>,
  { used, limit, dataFeeWei = 0n, weiMax, shareWeiMax }: GasNeeds,
): bigint {
  /** For one unit of so much gas, once the bytes are paid. */
  const each = (wei: bigint | undefined, gas: bigint, bytesWei: bigint) =>
    wei === undefined || gas === 0n ? UNLIMITED : max(wei - bytesWei, 0n) / gas
  const affordable = each(weiMax, limit, dataFeeAtMostWei(dataFeeWei))
  const worthwhile = each(shareWeiMax, used, dataFeeWei)
  const { gainShareBps, nativePriceUsdMicros } = policy
  const shareWei =
    worthUsdMicros === undefined
      ? undefined
      : (max(worthUsdMicros, 0n) * gainShareBps * 10n ** 18n) / (10_000n * nativePriceUsdMicros)
  const share = each(shareWei, used, dataFeeWei)
  return min(payloadRoomWei(policy), min(min(share, worthwhile), affordable))
}

/** What an offer depends on besides the base fee. */
export type OfferTerms = {
  /** The most that one unit of gas may cost; absent: the most that any payload of the policy may. */
  readonly capWei?: bigint
  /** What others tip; absent or null: nobody said. */
  readonly tipWei?: bigint | null
  /** What the workflow itself gives to be first: only the cap bounds it. */
  readonly ownTipWei?: bigint | undefined
  /** A replacement offers no less than this, as far as the cap goes. */
  readonly atLeast?: Fees
}

const tipOf = (
  { priorityFeePerGasWei, priorityFeePerGasWeiMax }: FeePolicy,
  { tipWei, ownTipWei = 0n }: OfferTerms,
) => max(min(max(tipWei ?? 0n, priorityFeePerGasWei), priorityFeePerGasWeiMax), ownTipWei)

/** Choose the first offer for a base fee. Refuses when the cap is below the base fee. Pure. */
export function quoteFees(
  baseFeePerGasWei: bigint,
  policy: FeePolicy,
  terms: OfferTerms = {},
): Checked<{ fees: Fees }> {
  const capWei = terms.capWei ?? payloadRoomWei(policy)
  if (capWei < max(baseFeePerGasWei, 1n)) {
    return refuse(
      'fee_cap_below_base_fee',
      `The base fee is ${native(baseFeePerGasWei)}; the policy caps what this may offer at ${native(capWei)}. Fix: wait, or raise fees.maxFeePerGas, fees.gainShare or limits.perWorkflow.gasMax.`,
    )
  }
  const tipWei = tipOf(policy, terms)
  const maxFeePerGasWei = min((baseFeePerGasWei * policy.baseFeeBps) / 10_000n + tipWei, capWei)
  return { ok: true, fees: { maxFeePerGasWei, maxPriorityFeePerGasWei: min(tipWei, maxFeePerGasWei) } }
}

/** Choose the first offer for the payloads of a workflow, by what they bring and what it gives to be first. Pure. */
export function firstOffer(
  { proposal, clearance }: Pick<Workflow, 'proposal' | 'clearance'>,
  baseFeePerGasWei: bigint,
  policy: FeePolicy,
  gas: GasNeeds,
  tipWei: bigint | null,
): Checked<{ fees: Fees }> {
  const capWei = payloadCapWei(policy, proposal, { ...gas, ...shareOf(clearance) })
  const quoted = quoteFees(baseFeePerGasWei, policy, { capWei, tipWei, ownTipWei: proposal.offer?.tipWei })
  const { dataFeeWei = 0n } = gas
  if (quoted.ok || dataFeeWei === 0n) return quoted
  const bytes = `Its bytes cost ${native(dataFeeWei)} beside gas, which is taken off first.`
  return refuse(quoted.check, `${quoted.message} ${bytes}`)
}

/**
 * Raise the fees of an attempt so that nodes take the replacement; null when the cap leaves no room. Pure.
 * Source: go-ethereum's price bump rule (both fees, at least 10 %).
 */
export function bumpFees(
  last: Fees,
  baseFeePerGasWei: bigint,
  policy: FeePolicy,
  terms: OfferTerms = {},
): Fees | null {
  const raised = (wei: bigint) => (wei * (10_000n + policy.bumpBps) + 9_999n) / 10_000n
  const tipWei = tipOf(policy, terms)
  const market = (baseFeePerGasWei * policy.baseFeeBps) / 10_000n + tipWei
  const capWei = terms.capWei ?? payloadRoomWei(policy)
  const { maxFeePerGasWei: leastFeeWei = 0n, maxPriorityFeePerGasWei: wantedTipWei = 0n } =
    terms.atLeast ?? {}
  const maxFeePerGasWei = min(max(raised(last.maxFeePerGasWei), max(market, leastFeeWei)), capWei)
  const leastTipWei = raised(last.maxPriorityFeePerGasWei)
  const enough = maxFeePerGasWei >= raised(last.maxFeePerGasWei) && leastTipWei <= maxFeePerGasWei
  return enough
    ? {
        maxFeePerGasWei,
        maxPriorityFeePerGasWei: min(max(leastTipWei, max(tipWei, wantedTipWei)), maxFeePerGasWei),
      }
    : null
}
