import {
  type Address,
  type Hex,
  type ParseEventLogsReturnType,
  parseEventLogs,
  type RpcLog,
  toEventSelector,
} from 'viem'
import {
  acquisitionHouseAbi,
  eligibilityRegistryAbi,
  fundFactoryAbi,
  lendingMarketAbi,
  lendingVaultAbi,
  navOracleAbi,
  partnerChannelAbi,
  priceOracleAbi,
  recoveryAuctionAbi,
  recoveryFundAbi,
  rfqDeskAbi,
} from '../contracts/abis.ts'

const abi = [
  ...lendingMarketAbi,
  ...lendingVaultAbi,
  ...partnerChannelAbi,
  ...priceOracleAbi,
  ...eligibilityRegistryAbi,
  ...acquisitionHouseAbi,
  ...recoveryAuctionAbi,
  ...rfqDeskAbi,
  ...fundFactoryAbi,
  ...recoveryFundAbi,
  ...navOracleAbi,
] as const

/** No row follows from these, and interest accrues in every block. */
const UNTOLD: readonly string[] = ['Accrued', 'Approval']

/** The first topics of the events that are asked for. */
export const INDEXED_TOPICS: readonly Hex[] = [
  ...new Set(
    abi.flatMap((item) =>
      item.type === 'event' && !UNTOLD.includes(item.name) ? [toEventSelector(item)] : [],
    ),
  ),
]

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
  /** Of a vault's or a channel's creation: whose transaction it was. Filled where the creation is checked. */
  readonly creator?: Address
}

type DecodedEvent = Decoded extends infer One
  ? One extends { readonly eventName: infer Name; readonly args: infer Args }
    ? { readonly eventName: Name; readonly args: Args }
    : never
  : never

/** Return an address in the one spelling that ids and keys have: lower case. Pure. */
export const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

/** Decode the events that the contracts' interfaces declare; others are left out. Pure. */
export function decodeLogs(logs: readonly RpcLog[]): readonly IndexedLog[] {
  return parseEventLogs({ abi, logs: [...logs] }).map((log) => ({
    event: log,
    address: lower(log.address),
    blockNumber: BigInt(log.blockNumber),
    blockHash: log.blockHash,
    timestampS: Number(log.blockTimestamp),
    txHash: log.transactionHash,
    logIndex: Number(log.logIndex),
  }))
}
