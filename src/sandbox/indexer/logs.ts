import {
  type AbiEvent,
  type Address,
  type Hex,
  type Log,
  type ParseEventLogsReturnType,
  parseEventLogs,
} from 'viem'
import {
  acquisitionHouseAbi,
  eligibilityRegistryAbi,
  fundFactoryAbi,
  lendingMarketAbi,
  lendingVaultAbi,
  navOracleAbi,
  priceOracleAbi,
  recoveryAuctionAbi,
  recoveryFundAbi,
  rfqDeskAbi,
} from '../contracts/abis.ts'

const abi = [
  ...lendingMarketAbi,
  ...lendingVaultAbi,
  ...priceOracleAbi,
  ...eligibilityRegistryAbi,
  ...acquisitionHouseAbi,
  ...recoveryAuctionAbi,
  ...rfqDeskAbi,
  ...fundFactoryAbi,
  ...recoveryFundAbi,
  ...navOracleAbi,
] as const

/** The events that are asked for. */
export const INDEXED_EVENTS: readonly AbiEvent[] = abi.filter(
  (item) => item.type === 'event' && item.name !== 'Approval',
)

type Decoded = ParseEventLogsReturnType<typeof abi, undefined, true>[number]

/** A decoded event that one of the contracts' interfaces declares, with where it happened; addresses are lower case. */
export type IndexedLog = {
  readonly event: DecodedEvent
  /** The contract that emitted it. */
  readonly address: Address
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly timestampS: number
  readonly txHash: Hex
  readonly logIndex: number
}

type DecodedEvent = Decoded extends infer One
  ? One extends { readonly eventName: infer Name; readonly args: infer Args }
    ? { readonly eventName: Name; readonly args: Args }
    : never
  : never

/** Return an address in the one spelling that ids and keys have: lower case. Pure. */
export const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

/** Decode the events that the contracts' interfaces declare; others are left out. Pure. */
export function decodeLogs(logs: readonly Log<bigint, number, false>[]): readonly IndexedLog[] {
  return parseEventLogs({ abi, logs: [...logs] }).map((log) => ({
    event: log,
    address: lower(log.address),
    blockNumber: log.blockNumber,
    blockHash: log.blockHash,
    timestampS: Number(log.blockTimestamp),
    txHash: log.transactionHash,
    logIndex: log.logIndex,
  }))
}
