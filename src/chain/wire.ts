import type { Address, Hex } from 'viem'
import { z } from 'zod'
import type { Head, Log, Receipt } from './nodes.ts'

const hex = z
  .string()
  .regex(/^0x[0-9a-fA-F]*$/)
  .transform((text): Hex => `0x${text.slice(2).toLowerCase()}`)
const hash = hex.refine((text) => text.length === 66)
const address = hex.refine((text) => text.length === 42).transform((text): Address => text)
const uint = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text))
const safeInt = uint.refine((value) => value <= BigInt(Number.MAX_SAFE_INTEGER)).transform(Number)

/** A block's header with what the next block's look is worked out from. */
export type Header = Head & {
  readonly gasUsed: bigint
  readonly gasLimit: bigint
  readonly feeRecipient: Address
}

/** Source: execution-apis, eth_getBlockByNumber. */
export const wireHeader = z
  .object({
    number: uint,
    hash,
    parentHash: hash,
    timestamp: safeInt,
    baseFeePerGas: uint,
    gasUsed: uint,
    gasLimit: uint,
    miner: address,
  })
  .transform(
    (block): Header => ({
      number: block.number,
      hash: block.hash,
      parentHash: block.parentHash,
      timestampS: block.timestamp,
      baseFeePerGasWei: block.baseFeePerGas,
      gasUsed: block.gasUsed,
      gasLimit: block.gasLimit,
      feeRecipient: block.miner,
    }),
  )

/** More logs than one block can pay for are a fault of the node. */
const LOGS_MAX = 100_000

const wireLogs: z.ZodType<Log[]> = z
  .array(z.object({ address, topics: z.array(hash).max(4), data: hex }))
  .max(LOGS_MAX)
const wireStatus = z.enum(['0x0', '0x1']).transform((status) => (status === '0x1' ? 'success' : 'reverted'))

/** Source: execution-apis, eth_getTransactionReceipt. */
export const wireReceipt = z
  .object({
    transactionHash: hash,
    from: address,
    blockNumber: uint,
    blockHash: hash,
    status: wireStatus,
    gasUsed: uint,
    effectiveGasPrice: uint,
    logs: wireLogs,
  })
  .transform(
    (receipt): Receipt => ({
      hash: receipt.transactionHash,
      from: receipt.from,
      blockNumber: receipt.blockNumber,
      blockHash: receipt.blockHash,
      status: receipt.status,
      gasUsed: receipt.gasUsed,
      effectiveGasPriceWei: receipt.effectiveGasPrice,
      logs: receipt.logs,
    }),
  )

/** Source: execution-apis, eth_simulateV1: one simulated block, with the calls that ran in it. */
export const wireSimulation = z
  .array(
    z.object({
      calls: z.array(
        z.object({
          status: wireStatus,
          gasUsed: uint,
          returnData: hex,
          logs: wireLogs.nullish().transform((logs) => logs ?? []),
        }),
      ),
    }),
  )
  .length(1)

export const wireHex = hex
export const wireUint = uint
export const wireCount = safeInt
