import type { Address, Hex } from 'viem'
import type { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { badAnswer, type Endpoint, isTooLarge, isTooWide, quantity } from './endpoint.ts'
import { countOn, headerAt, read } from './node-reads.ts'
import { type BlockOf, type MinedTransaction, NO_TRANSACTION } from './nodes.ts'
import {
  type Header,
  wireBlockOfHashes,
  wireReceipt,
  wireRow,
  wireRows,
  wireTransaction,
  wireTransactions,
} from './wire.ts'

/** A transaction in a block, without its receipt. */
type Sent = Omit<MinedTransaction, 'receipt'>
type WireReceipt = z.output<typeof wireReceipt>

const wireReceiptOrNone = wireReceipt.nullable()
const wireTransactionOrNone = wireTransaction.nullable()
const wireBlockOrNone = wireBlockOfHashes.nullable()

const RECEIPT = 'eth_getTransactionReceipt'
const receiptOn = (node: Endpoint, hash: Hex): Promise<WireReceipt | null> =>
  read(node, RECEIPT, [hash], wireReceiptOrNone)

async function receiptIn(node: Endpoint, block: Hex, hash: Hex): Promise<WireReceipt> {
  const receipt = await receiptOn(node, hash)
  if (receipt?.blockHash !== block.toLowerCase()) throw notShown(node.name, hash)
  if (receipt.hash !== hash) throw badAnswer(node.name, RECEIPT)
  return receipt
}

/** A transaction with its receipt; what it paid is worked out where the node leaves that out. Source: EIP-1559. */
async function mined(
  node: Endpoint,
  sent: Sent,
  { effectiveGasPriceWei, ...receipt }: WireReceipt,
  within?: Header,
): Promise<MinedTransaction> {
  if (receipt.hash !== sent.hash || receipt.from !== sent.from) throw badAnswer(node.name, RECEIPT)
  if (effectiveGasPriceWei !== null) return { ...sent, receipt: { ...receipt, effectiveGasPriceWei } }
  const header = within ?? (await headerAt(node, receipt.blockNumber))
  if (header === null) throw badAnswer(node.name, RECEIPT)
  const offered = header.baseFeePerGasWei + sent.maxPriorityFeePerGasWei
  const paid = offered < sent.maxFeePerGasWei ? offered : sent.maxFeePerGasWei
  return { ...sent, receipt: { ...receipt, effectiveGasPriceWei: paid } }
}

/** Read a mined transaction with its receipt; null where the node has it in no block. */
export async function transactionOn(node: Endpoint, hash: Hex): Promise<MinedTransaction | null> {
  const method = 'eth_getTransactionByHash'
  const [sent, receipt] = await Promise.all([
    read(node, method, [hash], wireTransactionOrNone),
    receiptOn(node, hash),
  ])
  if (sent === null || receipt === null) return null
  if (sent.hash !== hash.toLowerCase()) throw badAnswer(node.name, method)
  return mined(node, sent, receipt)
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
  const { header, hashes, sizeBytes } = shown.value
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
  const readSent = (sizeBytes ?? 0) > WHOLE_BYTES_MAX ? sentByReceipts : sentIn
  const sent = active.length === 0 ? [] : await readSent(node, hash, hashes, active)
  const transactions = await Promise.all(
    nonces.flat().map(async ({ sender, nonce }): Promise<MinedTransaction> => {
      const own = sent.find((each) => each.nonce === nonce && each.from === sender.toLowerCase())
      if (own === undefined) return takenWithout(sender, nonce, header)
      return mined(node, own, await receiptIn(node, header.hash, own.hash), header)
    }),
  )
  return { head: header, transactions }
}

/** More nonces of one sender than a block can pay for are a fault of the node. */
const TAKEN_MAX = 100_000

/** As JSON a block is at least twice its size, and a node makes all of it before it sends any. */
const WHOLE_BYTES_MAX = 1_000_000

/** What 420 M gas pay for: of more transactions no block is read by its parts, which goes on for as long as its node likes. */
export const PARTS_MAX = 20_000

/** Transactions that are asked for at once where a block is too large to be read whole. */
const AT_ONCE = 100

/** Read what `senders` have among the transactions of a block. */
async function sentIn(
  node: Endpoint,
  hash: Hex,
  hashes: readonly Hex[],
  senders: readonly Address[],
): Promise<readonly Sent[]> {
  try {
    const all = await read(node, 'eth_getBlockByHash', [hash, true], wireRows)
    return sentAmong(node, all, hashes, senders)
  } catch (error) {
    if (!isTooWide(error)) throw error
  }
  return sentByReceipts(node, hash, hashes, senders)
}

/** The same of a block that is too large to be read whole: receipts are as small however large their transactions are. */
async function sentByReceipts(
  node: Endpoint,
  hash: Hex,
  hashes: readonly Hex[],
  senders: readonly Address[],
): Promise<readonly Sent[]> {
  if (hashes.length > PARTS_MAX) throw badAnswer(node.name, 'eth_getBlockByHash')
  const found: Sent[] = []
  for (let from = 0; from < hashes.length; from += AT_ONCE) {
    const some = hashes.slice(from, from + AT_ONCE)
    const froms = await Promise.all(some.map((each, index) => senderOf(node, hash, from + index, each)))
    const own = [...some.entries()].filter(([index]) => isAmong(senders, froms[index]))
    const rows = await Promise.all(own.map(([index]) => ownRowAt(node, hash, from + index)))
    const ownHashes = own.map(([, each]) => each)
    found.push(...sentAmong(node, rows, ownHashes, senders))
  }
  return found
}

type Row = z.output<typeof wireRow>

/** Take what `senders` sent of transactions that have to be these: one that a node leaves out would pass for none. */
function sentAmong(
  node: Endpoint,
  rows: readonly Row[],
  hashes: readonly Hex[],
  senders: readonly Address[],
): readonly Sent[] {
  const own = wireTransactions.safeParse(rows.filter((row) => isAmong(senders, row.from)))
  const isOther = rows.some((row, index) => row.hash !== hashes[index])
  if (isOther || rows.length !== hashes.length || !own.success)
    throw badAnswer(node.name, 'eth_getBlockByHash')
  return own.data
}

const isAmong = (senders: readonly Address[], from: Address | undefined): boolean =>
  senders.some((sender) => sender.toLowerCase() === from)

const rowAt = (node: Endpoint, block: Hex, index: number): Promise<Row> =>
  read(node, 'eth_getTransactionByBlockHashAndIndex', [block, quantity(index)], wireRow)

/** Read one of ours, none of which is larger than an answer may be. */
const ownRowAt = async (node: Endpoint, block: Hex, index: number): Promise<Row> => {
  try {
    return await rowAt(node, block, index)
  } catch (error) {
    throw isTooLarge(error) ? badAnswer(node.name, 'eth_getTransactionByBlockHashAndIndex') : error
  }
}

/** Read who sent a transaction: its receipt says so, however large it is; with logs that are too large, it does itself. */
async function senderOf(node: Endpoint, block: Hex, index: number, hash: Hex): Promise<Address> {
  try {
    return (await receiptIn(node, block, hash)).from
  } catch (error) {
    if (!isTooLarge(error)) throw error
  }
  return (await rowAt(node, block, index)).from
}

/** A nonce that the block counts and no transaction of its sender has. Pure. */
const takenWithout = (from: Address, nonce: number, { number, hash }: Header): MinedTransaction => ({
  hash: NO_TRANSACTION,
  from,
  nonce,
  digest: null,
  maxFeePerGasWei: 0n,
  maxPriorityFeePerGasWei: 0n,
  receipt: {
    hash: NO_TRANSACTION,
    from,
    blockNumber: number,
    blockHash: hash,
    status: 'success',
    logs: [],
    gasUsed: 0n,
    effectiveGasPriceWei: 0n,
  },
})

/** Make the error of a receipt that a node does not show yet: it is late, and no liar. Pure. */
const notShown = (node: string, hash: Hex) =>
  new RolekeeperError('node.not_shown', `Node ${node} has ${hash} in a block, and no receipt of it yet.`, {
    fix: 'nothing, when it passes by itself; else use another node in `chain.nodes`.',
    facts: { node, hash },
    retry: 'now',
  })
