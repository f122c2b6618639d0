import {
  type Address,
  type Hex,
  keccak256,
  serializeTransaction,
  type TransactionSerializableEIP1559,
} from 'viem'
import { z } from 'zod'
import type { Head, Log, MinedLog, MinedTransaction, Receipt, Transfer } from './nodes.ts'

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

/**
 * A list that is given up at its first wrong item, and read no further than `max`: of a million wrong ones zod would make
 * a million complaints, which takes half a minute and gigabytes. Pure.
 */
const listOf = <T>(item: z.ZodType<T>, max: number) =>
  z
    .array(z.unknown())
    .max(max)
    .transform((all, context): T[] => {
      const items: T[] = []
      for (const each of all) {
        const read = item.safeParse(each)
        if (!read.success) {
          context.addIssue({ code: 'custom', message: 'expected other items' })
          return z.NEVER
        }
        items.push(read.data)
      }
      return items
    })

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

/** More logs, transactions or calls than one block can pay for are a fault of the node. */
const ITEMS_MAX = 100_000

const wireLog: z.ZodType<Log> = z.object({ address, topics: listOf(hash, 4), data: hex })
const wireLogs = listOf(wireLog, ITEMS_MAX)
const mined = {
  blockNumber: uint,
  blockHash: hash,
  transactionHash: hash,
  logIndex: safeInt,
  removed: z.literal(false).nullish(),
}

/** Source: execution-apis, eth_getLogs. */
export const wireMinedLogs = listOf(
  z.object({ address, topics: listOf(hash, 4), data: hex, ...mined }),
  ITEMS_MAX,
).transform((logs): readonly MinedLog[] =>
  logs.map(({ address: at, topics, data, blockNumber, blockHash, transactionHash, logIndex }) => ({
    address: at,
    topics,
    data,
    blockNumber,
    blockHash,
    hash: transactionHash,
    index: logIndex,
  })),
)
const wireStatus = z.enum(['0x0', '0x1']).transform((status) => (status === '0x1' ? 'success' : 'reverted'))

const asAccount = (topic: Hex | undefined): Address => `0x${topic?.slice(26) ?? ''}`

/** Source: execution-apis, eth_getLogs; of EIP-20's event `Transfer` alone: another with its name has four topics. */
export const wireTransfers = z
  .unknown()
  .transform((found) =>
    Array.isArray(found)
      ? found.filter((log) => !Array.isArray(log?.topics) || log.topics.length === 3)
      : found,
  )
  .pipe(
    listOf(
      z.object({
        address,
        topics: listOf(hash, 3),
        data: uint,
        ...mined,
      }),
      ITEMS_MAX,
    ),
  )
  .transform((logs): readonly Transfer[] =>
    logs.map(({ address: token, topics: [, from, to], data: assets, transactionHash, logIndex, ...at }) => ({
      token,
      from: asAccount(from),
      to: asAccount(to),
      assets,
      blockNumber: at.blockNumber,
      blockHash: at.blockHash,
      hash: transactionHash,
      index: logIndex,
    })),
  )

/** Some nodes leave the price out. Source: execution-apis, eth_getTransactionReceipt. */
export const wireReceipt = z
  .object({
    transactionHash: hash,
    from: address,
    blockNumber: uint,
    blockHash: hash,
    status: wireStatus,
    gasUsed: uint,
    effectiveGasPrice: uint.nullish(),
    /** Of chains of the OP stack alone. */
    l1Fee: uint.nullish(),
    logs: wireLogs,
  })
  .transform((receipt): Omit<Receipt, 'effectiveGasPriceWei'> & { effectiveGasPriceWei: bigint | null } => ({
    hash: receipt.transactionHash,
    from: receipt.from,
    blockNumber: receipt.blockNumber,
    blockHash: receipt.blockHash,
    status: receipt.status,
    gasUsed: receipt.gasUsed,
    effectiveGasPriceWei: receipt.effectiveGasPrice ?? null,
    ...(receipt.l1Fee == null ? {} : { dataFeeWei: receipt.l1Fee }),
    logs: receipt.logs,
  }))

const wireAccessList = listOf(z.object({ address, storageKeys: listOf(hash, ITEMS_MAX) }), ITEMS_MAX)

/** Hash what a key signs; undefined where no transaction has such fields: a schema throws nothing that a node chose. Pure. */
function digestOf(unsigned: TransactionSerializableEIP1559): Hex | undefined {
  try {
    return keccak256(serializeTransaction(unsigned))
  } catch {
    return undefined
  }
}

/** Source: execution-apis, eth_getTransactionByHash; the digest by EIP-1559. */
export const wireTransaction = z
  .object({
    hash,
    from: address,
    nonce: safeInt,
    type: safeInt,
    chainId: safeInt.nullish(),
    to: address.nullable(),
    input: hex,
    value: uint,
    gas: uint,
    gasPrice: uint.nullish(),
    maxFeePerGas: uint.nullish(),
    maxPriorityFeePerGas: uint.nullish(),
    accessList: wireAccessList.nullish(),
  })
  .transform((sent, context): Omit<MinedTransaction, 'receipt'> => {
    const maxFeePerGas = sent.maxFeePerGas ?? sent.gasPrice ?? 0n
    const maxPriorityFeePerGas = sent.maxPriorityFeePerGas ?? maxFeePerGas
    const unsigned = {
      ...sent,
      data: sent.input,
      accessList: sent.accessList ?? [],
      chainId: sent.chainId ?? 0,
    }
    const fees = { type: 'eip1559', gasPrice: undefined, maxFeePerGas, maxPriorityFeePerGas } as const
    const digest = sent.type === 2 ? digestOf({ ...unsigned, ...fees }) : null
    if (digest === undefined) {
      context.addIssue({ code: 'custom', message: 'expected fields that a transaction may have' })
      return z.NEVER
    }
    return {
      hash: sent.hash,
      from: sent.from,
      nonce: sent.nonce,
      digest,
      maxFeePerGasWei: maxFeePerGas,
      maxPriorityFeePerGasWei: maxPriorityFeePerGas,
    }
  })

/** Transactions of ours among those of a block. */
export const wireTransactions = listOf(wireTransaction, ITEMS_MAX)

/** A transaction of a block, as far as all have it: chains have types of their own. */
export const wireRow = z.looseObject({ hash, from: address })

/** All transactions of a block. Source: execution-apis, eth_getBlockByHash with whole transactions. */
export const wireRows = z
  .object({ transactions: listOf(wireRow, ITEMS_MAX) })
  .transform(({ transactions }) => transactions)

const wireHashes = z.object({ transactions: listOf(hash, ITEMS_MAX), size: safeInt.nullish().catch(null) })

/**
 * A block's header, the hashes of its transactions, and its size in bytes where the node says one. Source: execution-apis,
 * eth_getBlockByHash.
 */
export const wireBlockOfHashes = z.unknown().transform((block, context) => {
  const header = wireHeader.safeParse(block)
  const hashes = wireHashes.safeParse(block)
  if (header.success && hashes.success)
    return { header: header.data, hashes: hashes.data.transactions, sizeBytes: hashes.data.size ?? null }
  context.addIssue({ code: 'custom', message: 'expected a block' })
  return z.NEVER
})

const wireReward = z
  .tuple([uint.nullable()])
  .or(z.tuple([]))
  .nullable()
  .transform((reward) => reward?.[0] ?? 0n)

/** The tips of each block, 0 where a node names none. Source: execution-apis, eth_feeHistory with one percentile. */
export const wireFeeHistory = z
  .object({ reward: listOf(wireReward, 1_024).nullish() })
  .transform(({ reward }) => reward ?? [])

const wireSimulated = z.object({
  status: wireStatus,
  gasUsed: uint,
  returnData: hex,
  logs: wireLogs.nullish().transform((logs) => logs ?? []),
})

/** Source: execution-apis, eth_simulateV1: one simulated block, with the calls that ran in it. */
export const wireSimulation = z.array(z.object({ calls: listOf(wireSimulated, ITEMS_MAX) })).length(1)

export const wireHex = hex
export const wireUint = uint
export const wireCount = safeInt
