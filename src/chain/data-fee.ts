import { type Address, encodeFunctionData, type Hex, hexToBigInt, parseAbi, size } from 'viem'
import type { Call } from './nodes.ts'

/** Where a chain of the OP stack says what it charges for the bytes of a transaction. Source: OP stack, predeploys. */
export const DATA_FEE_ORACLE: Address = '0x420000000000000000000000000000000000000f'

const DATA_FEE_ABI = parseAbi(['function getL1Fee(bytes unsignedTransaction) view returns (uint256)'])

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
