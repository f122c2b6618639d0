import { type Address, encodeFunctionData, type Hex, hexToBigInt, parseAbi, size } from 'viem'
import type { Call } from './nodes.ts'

/** Where a chain of the OP stack says what it charges for the bytes of a transaction. Source: OP stack, predeploys. */
export const DATA_FEE_ORACLE: Address = '0x420000000000000000000000000000000000000f'

const DATA_FEE_ABI = parseAbi(['function getL1Fee(bytes unsignedTransaction) view returns (uint256)'])

/** How often what is reserved holds what the oracle said: the fee moves with another chain's, between a look and a block. */
const RESERVED_TIMES = 2n

/** Ask what a transaction of these unsigned bytes pays for them beside its gas. Pure. */
export const dataFeeCall = (unsigned: Hex): Call => ({
  to: DATA_FEE_ORACLE,
  data: encodeFunctionData({ abi: DATA_FEE_ABI, args: [unsigned] }),
})

/** Read the answer, wei: nothing where no oracle is, as the chain then charges none; null where it does not say. Pure. */
export function dataFeeWei(answer: Hex | null | undefined): bigint | null {
  if (answer === '0x') return 0n
  return answer != null && size(answer) === 32 ? hexToBigInt(answer) : null
}

/** What is reserved for a data fee that the oracle says now, wei. Pure. */
export const dataFeeAtMostWei = (feeWei: bigint | undefined): bigint => (feeWei ?? 0n) * RESERVED_TIMES

/** What was paid for a transaction, wei: its gas, and its bytes where the chain charges for them. Pure. */
export const paidWei = (of: {
  readonly gasUsed: bigint
  readonly effectiveGasPriceWei: bigint
  readonly dataFeeWei?: bigint
}): bigint => of.gasUsed * of.effectiveGasPriceWei + (of.dataFeeWei ?? 0n)
