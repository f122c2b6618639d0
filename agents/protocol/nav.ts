import { type Abi, type AbiFunction, type Address, type Hex, parseAbi, stringToHex } from 'viem'
import type { Wave } from './reading.ts'

/** What a NAV oracle says of itself and of its newest report of a type. */
export const NAV_ORACLE_VIEWS = parseAbi([
  'function asset() view returns (address)',
  'function decimals() view returns (uint8)',
  'function latest(bytes32 reportType) view returns ((uint256 value, uint64 valuationTime, uint32 revision, uint64 submittedAt, address reporter))',
  'function bounds(bytes32 reportType) view returns (uint256 minValue, uint256 maxValue, uint16 maxMoveBps)',
])

/** Write a report type as an oracle holds it. Pure. */
export const reportTypeWord = (reportType: string): Hex => stringToHex(reportType, { size: 32 })

/**
 * Read a policy's signature of a view that returns one unsigned integer and takes addresses and unsigned integers,
 * as Solidity writes it. Pure.
 * @returns null when it is none.
 */
export function parseUintView(signature: string): AbiFunction | null {
  let abi: Abi
  try {
    abi = parseAbi([signature])
  } catch {
    return null
  }
  const [item] = abi
  if (abi.length !== 1 || item?.type !== 'function' || item.stateMutability !== 'view') return null
  const [output] = item.outputs
  if (item.outputs.length !== 1 || !/^uint\d*$/.test(output?.type ?? '')) return null
  return item.inputs.every(({ type }) => type === 'address' || /^uint\d*$/.test(type)) ? item : null
}

/** Ask a view that {@link parseUintView} read; null when the call failed, or its arguments do not fit. */
export function askUint(
  wave: Wave,
  view: AbiFunction,
  to: Address,
  args: readonly (Address | bigint)[],
): ReturnType<Wave['ask']> {
  const abi: Abi = [view]
  return wave.ask(abi, to, view.name, args)
}
