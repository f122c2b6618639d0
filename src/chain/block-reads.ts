import type { Address, Hex } from 'viem'
import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { badAnswer, type Endpoint, quantity } from './endpoint.ts'
import { countOn, headerAt, read } from './node-reads.ts'
import { type BlockOf, type MinedTransaction, NO_TRANSACTION, type Receipt } from './nodes.ts'
import {
  type Header,
  wireBlockOfHashes,
  wireReceipt,
  wireSent,
  wireSentInBlock,
  wireTransaction,
} from './wire.ts'

/** A transaction in a block, without its receipt. */
type Sent = Omit<MinedTransaction, 'receipt'>

const wireReceiptOrNone = wireReceipt.nullable()
const wireTransactionOrNone = wireTransaction.nullable()
const wireBlockOrNone = wireBlockOfHashes.nullable()

/** Read the receipt of what a node shows in a block; null where it has none. The price is worked out where it leaves that out. */
async function receiptOf(node: Endpoint, sent: Sent, within?: Header): Promise<Receipt | null> {
  const method = 'eth_getTransactionReceipt'
  const receipt = await read(node, method, [sent.hash], wireReceiptOrNone)
  if (receipt === null) return null
  if (receipt.hash !== sent.hash || receipt.from !== sent.from) throw badAnswer(node.name, method)
  const { effectiveGasPriceWei } = receipt
  if (effectiveGasPriceWei !== null) return { ...receipt, effectiveGasPriceWei }
  const header = within ?? (await headerAt(node, receipt.blockNumber))
  if (header === null) throw badAnswer(node.name, method)
  // Source: EIP-1559.
  const offered = header.baseFeePerGasWei + sent.maxPriorityFeePerGasWei
  return {
    ...receipt,
    effectiveGasPriceWei: offered < sent.maxFeePerGasWei ? offered : sent.maxFeePerGasWei,
  }
}

/** Read a mined transaction with its receipt; null where the node has it in no block. */
export async function transactionOn(node: Endpoint, hash: Hex): Promise<MinedTransaction | null> {
  const method = 'eth_getTransactionByHash'
  const sent = await read(node, method, [hash], wireTransactionOrNone)
  if (sent === null) return null
  if (sent.hash !== hash.toLowerCase()) throw badAnswer(node.name, method)
  const receipt = await receiptOf(node, sent)
  return receipt === null ? null : { ...sent, receipt }
}

/**
 * Read what took nonces of `senders` in a block, by how they are counted before and after it: so a block costs as little
 * as its header where nothing did, and what took a nonce without a transaction of its sender shows.
 */
export async function blockOfOn(
  node: Endpoint,
  hash: Hex,
  senders: readonly Address[],
  known?: readonly number[],
): Promise<BlockOf | null> {
  const method = 'eth_getBlockByHash'
  const countsAt = (block: Hex) => Promise.all(senders.map((sender) => countOn(node, sender, block)))
  const [shown, counted] = await Promise.allSettled([
    read(node, method, [hash, false], wireBlockOrNone),
    countsAt(hash),
  ])
  if (shown.status === 'rejected') throw shown.reason
  if (shown.value === null) return null
  if (counted.status === 'rejected') throw counted.reason
  const { header, size } = shown.value
  if (header.hash !== hash.toLowerCase()) throw badAnswer(node.name, method)
  const before = known ?? (header.number === 0n ? senders.map(() => 0) : await countsAt(header.parentHash))
  const taken = counted.value.map((after, index) => after - (before[index] ?? 0))
  if (taken.some((count) => count < 0 || count > TAKEN_MAX))
    throw badAnswer(node.name, 'eth_getTransactionCount')
  const nonces = senders.map((sender, index) =>
    Array.from({ length: taken[index] ?? 0 }, (_, after) => ({
      sender,
      nonce: (before[index] ?? 0) + after,
    })),
  )
  const active = senders.filter((_, index) => nonces[index]?.length !== 0)
  const sent = active.length === 0 ? [] : await sentIn(node, hash, size, active)
  const transactions = await Promise.all(
    nonces.flat().map(async ({ sender, nonce }): Promise<MinedTransaction> => {
      const own = sent.find((each) => each.nonce === nonce && each.from === sender.toLowerCase())
      if (own === undefined) return takenWithout(sender, nonce, header)
      const receipt = await receiptOf(node, own, header)
      if (receipt?.blockHash !== header.hash) throw notShown(node.name, own.hash)
      return { ...own, receipt }
    }),
  )
  return { head: header, transactions }
}

/** More nonces of one sender than a block can pay for are a fault of the node. */
const TAKEN_MAX = 100_000

/** Transactions that are asked for at once where a block is too large to be read whole. */
const AT_ONCE = 100

/** Read what `senders` have among the transactions of a block. */
async function sentIn(
  node: Endpoint,
  hash: Hex,
  size: number,
  senders: readonly Address[],
): Promise<readonly Sent[]> {
  try {
    return await read(node, 'eth_getBlockByHash', [hash, true], wireSentInBlock(senders))
  } catch (error) {
    if (!isTooLarge(error)) throw error
  }
  const schema = wireSent(senders)
  const found: Sent[] = []
  for (let from = 0; from < size; from += AT_ONCE) {
    const indices = Array.from({ length: Math.min(AT_ONCE, size - from) }, (_, index) => from + index)
    const rows = await Promise.all(indices.map((index) => rowAt(node, hash, index)))
    found.push(...schema.parse(rows))
  }
  return found
}

/** Read one transaction of a block; null where it is too large to be one of ours. */
async function rowAt(node: Endpoint, hash: Hex, index: number): Promise<unknown> {
  const method = 'eth_getTransactionByBlockHashAndIndex'
  try {
    return await read(node, method, [hash, quantity(index)], z.unknown())
  } catch (error) {
    if (isTooLarge(error)) return null
    throw error
  }
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof RolekeeperError && error.code === 'node.answer_too_large'

/** A nonce that the block counts and no transaction of its sender has. Pure. */
const takenWithout = (from: Address, nonce: number, { number, hash }: Header): MinedTransaction => ({
  ...{ hash: NO_TRANSACTION, from, nonce, digest: null, maxFeePerGasWei: 0n, maxPriorityFeePerGasWei: 0n },
  receipt: {
    ...{ hash: NO_TRANSACTION, from, blockNumber: number, blockHash: hash, status: 'success', logs: [] },
    ...{ gasUsed: 0n, effectiveGasPriceWei: 0n },
  },
})

/** Make the error of a receipt that a node does not show yet: it is late, and no liar. Pure. */
const notShown = (node: string, hash: Hex) =>
  new RolekeeperError('node.not_shown', `Node ${node} has ${hash} in a block, and no receipt of it yet.`, {
    fix: 'nothing, when it passes by itself; else use another node in `chain.nodes`.',
    facts: { node, hash },
    retry: 'now',
  })
