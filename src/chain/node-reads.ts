import { type Address, type Hex, keccak256, pad, toEventSelector } from 'viem'
import type { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { badAnswer, type Endpoint, quantity, refused } from './endpoint.ts'
import type { RpcAnswer } from './json-rpc.ts'
import { classifySend, classifySimulation, isCallFailure } from './node-errors.ts'
import type {
  BlockOf,
  Call,
  LogsOf,
  MinedLog,
  MinedTransaction,
  Receipt,
  SendOutcome,
  SimulationResult,
  StorageSlot,
  Transfer,
  TransfersOf,
} from './nodes.ts'
import type { SimulationOrder } from './simulation.ts'
import {
  type Header,
  wireBlockOf,
  wireCount,
  wireFeeHistory,
  wireHeader,
  wireHex,
  wireMinedLogs,
  wireReceipt,
  wireReceipts,
  wireSimulation,
  wireTransaction,
  wireTransfers,
  wireUint,
} from './wire.ts'

/** A state to read: a block by its hash, on the node's canonical chain; by its height; or by a tag. Source: EIP-1898. */
export type StateAt = Hex | bigint | 'latest' | 'pending'

const HASH_LENGTH = 66

const stateParam = (at: StateAt) =>
  typeof at === 'bigint'
    ? quantity(at)
    : at.length === HASH_LENGTH
      ? { blockHash: at, requireCanonical: true }
      : at

function parsed<T>(node: string, method: string, schema: z.ZodType<T>, answer: RpcAnswer): T {
  if (!answer.ok) throw refused(node, method, answer.failure.code)
  try {
    return schema.parse(answer.result)
  } catch {
    // Also what a library throws at fields that no transaction has: one node must not end a question to all.
    throw badAnswer(node, method)
  }
}

async function read<T>(
  node: Endpoint,
  method: string,
  params: readonly unknown[],
  schema: z.ZodType<T>,
): Promise<T> {
  return parsed(node.name, method, schema, await node.read(method, params))
}

const wireHeaderOrNone = wireHeader.nullable()
const wireReceiptOrNone = wireReceipt.nullable()
const wireTransactionOrNone = wireTransaction.nullable()

/** Read the header at a height or tag; null where there is none. */
export const headerAt = (node: Endpoint, at: bigint | 'latest' | 'finalized'): Promise<Header | null> =>
  read(node, 'eth_getBlockByNumber', [typeof at === 'bigint' ? quantity(at) : at, false], wireHeaderOrNone)

/** Read a node's newest header. */
export async function newestHeader(node: Endpoint): Promise<Header> {
  const header = await headerAt(node, 'latest')
  if (header === null) throw badAnswer(node.name, 'eth_getBlockByNumber')
  return header
}

/** Read a balance, wei. */
export const balanceOn = (node: Endpoint, address: Address, at: StateAt): Promise<bigint> =>
  read(node, 'eth_getBalance', [address, stateParam(at)], wireUint)

/** Source: EIP-20. */
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

/** Read the transfers of tokens to and from an account, oldest first. */
export async function transfersOn(node: Endpoint, of: TransfersOf): Promise<readonly Transfer[]> {
  const { tokens, account, fromBlock, toBlock } = of
  const method = 'eth_getLogs'
  const range = { address: tokens, fromBlock: quantity(fromBlock), toBlock: quantity(toBlock) }
  const own = pad(account)
  const found = await Promise.all(
    [
      [TRANSFER, own],
      [TRANSFER, null, own],
    ].map((topics) => read(node, method, [{ ...range, topics }], wireTransfers)),
  )
  const byPlace = new Map(found.flat().map((each) => [`${each.blockNumber}:${each.index}`, each]))
  const all = [...byPlace.values()].toSorted(
    (one, other) => Number(one.blockNumber - other.blockNumber) || one.index - other.index,
  )
  const isOurs = ({ token, from, to, blockNumber }: Transfer) =>
    tokens.some((each) => each.toLowerCase() === token) &&
    [from, to].includes(lower(account)) &&
    blockNumber >= fromBlock &&
    blockNumber <= toBlock
  if (!all.every(isOurs)) throw badAnswer(node.name, method)
  return all
}

/** Read what contracts logged under a topic, oldest first. */
export async function logsOn(
  node: Endpoint,
  { addresses, topic, fromBlock, toBlock }: LogsOf,
): Promise<readonly MinedLog[]> {
  const method = 'eth_getLogs'
  const filter = {
    address: addresses,
    topics: [topic],
    fromBlock: quantity(fromBlock),
    toBlock: quantity(toBlock),
  }
  const found = await read(node, method, [filter], wireMinedLogs)
  const isAsked = ({ address, topics, blockNumber }: MinedLog) =>
    addresses.some((each) => lower(each) === address) &&
    topics[0] === topic &&
    blockNumber >= fromBlock &&
    blockNumber <= toBlock
  if (!found.every(isAsked)) throw badAnswer(node.name, method)
  return found.toSorted(
    (one, other) => Number(one.blockNumber - other.blockNumber) || one.index - other.index,
  )
}

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

/** Count the transactions that an address has sent. */
export const countOn = (node: Endpoint, address: Address, at: StateAt): Promise<number> =>
  read(node, 'eth_getTransactionCount', [address, stateParam(at)], wireCount)

async function receiptOn(node: Endpoint, hash: Hex): Promise<Receipt | null> {
  const method = 'eth_getTransactionReceipt'
  const receipt = await read(node, method, [hash], wireReceiptOrNone)
  if (receipt !== null && receipt.hash !== hash.toLowerCase()) throw badAnswer(node.name, method)
  return receipt
}

/** Read a mined transaction with its receipt; null where the node has it in no block. */
export async function transactionOn(node: Endpoint, hash: Hex): Promise<MinedTransaction | null> {
  const method = 'eth_getTransactionByHash'
  const [found, receipt] = await Promise.all([
    read(node, method, [hash], wireTransactionOrNone),
    receiptOn(node, hash),
  ])
  if (found === null || receipt === null) return null
  if (found.hash !== receipt.hash || found.from !== receipt.from) throw badAnswer(node.name, method)
  return { ...found, receipt }
}

/** Read a block with what `senders` have in it: one call, and a second for receipts when there is anything. */
export async function blockOfOn(
  node: Endpoint,
  hash: Hex,
  senders: readonly Address[],
): Promise<BlockOf | null> {
  const method = 'eth_getBlockByHash'
  const block = await read(node, method, [hash, true], wireBlockOf(senders).nullable())
  if (block === null) return null
  const { header, transactions } = block
  if (header.hash !== hash.toLowerCase()) throw badAnswer(node.name, method)
  if (transactions.length === 0) return { head: header, transactions: [] }
  const receipts = await read(node, 'eth_getBlockReceipts', [hash], wireReceipts(senders).nullable())
  const byHash = new Map(receipts?.map((receipt) => [receipt.hash, receipt]))
  return {
    head: header,
    transactions: transactions.map((transaction) => {
      const receipt = byHash.get(transaction.hash)
      if (receipt?.blockHash !== header.hash || receipt.from !== transaction.from)
        throw badAnswer(node.name, 'eth_getBlockReceipts')
      return { ...transaction, receipt }
    }),
  }
}

/** Read the median tip of each of the last 10 blocks up to a height, wei. */
export async function priorityFeesOn(node: Endpoint, height: bigint): Promise<readonly bigint[]> {
  return (await read(node, 'eth_feeHistory', ['0xa', quantity(height), [50]], wireFeeHistory)).reward.map(
    ([tip]) => tip,
  )
}

/** Estimate the gas of an empty transfer of an address to itself. */
export const noopGasOn = (node: Endpoint, signer: Address): Promise<bigint> =>
  read(node, 'eth_estimateGas', [{ from: signer, to: signer }], wireUint)

/** Run a read-only call; null where it reverts. */
export async function viewCallOn(node: Endpoint, call: Call, at: StateAt): Promise<Hex | null> {
  const answer = await node.read('eth_call', [{ to: call.to, data: call.data }, stateParam(at)])
  if (!answer.ok && isCallFailure(answer.failure)) return null
  return parsed(node.name, 'eth_call', wireHex, answer)
}

/** Read the code at an address; `0x` where there is none. */
export const codeOn = (node: Endpoint, address: Address, at: StateAt): Promise<Hex> =>
  read(node, 'eth_getCode', [address, stateParam(at)], wireHex)

/** Hash the code at addresses, each code once: a contract's thousands of bytes cost a millisecond or two. */
export function createCodeHasher() {
  const known = new Map<Address, { readonly code: Hex; readonly hash: Hex }>()
  return async (node: Endpoint, address: Address, at: StateAt): Promise<Hex | null> => {
    const code = await codeOn(node, address, at)
    if (code === '0x') return null
    const last = known.get(address)
    if (last?.code === code) return last.hash
    const hash = keccak256(code)
    known.set(address, { code, hash })
    return hash
  }
}

/** What a simulation showed, or why the node would not begin it. */
export type Simulated = SimulationResult | { readonly rejected: string }

const storageOn = (node: Endpoint, { of, slot }: StorageSlot, at: StateAt): Promise<bigint> =>
  read(node, 'eth_getStorageAt', [of, slot, stateParam(at)], wireUint)

/** Run a simulation, and read its slots beside it. */
export async function simulateOn(node: Endpoint, order: SimulationOrder): Promise<Simulated> {
  const method = 'eth_simulateV1'
  const [answer, words] = await Promise.all([
    node.read(method, order.params),
    Promise.all(order.slots.map((slot) => storageOn(node, slot, order.parentHash))),
  ])
  const rejected = answer.ok ? null : classifySimulation(answer.failure)
  if (rejected !== null) return { rejected }
  const result = order.result({ wire: parsed(node.name, method, wireSimulation, answer), words })
  if (result === null) throw badAnswer(node.name, method)
  return result
}

/** Send raw bytes once. */
export async function sendTo(node: Endpoint, raw: Hex): Promise<SendOutcome> {
  try {
    const answer = await node.once('eth_sendRawTransaction', [raw])
    if (!answer.ok) return { node: node.name, ...classifySend(answer.failure) }
    const hash = wireHex.safeParse(answer.result)
    return hash.success && hash.data === keccak256(raw)
      ? { node: node.name, outcome: 'accepted', detail: 'ok' }
      : { node: node.name, outcome: 'unknown', detail: 'other_hash' }
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    // It was asked for its chain first and never got the bytes.
    if (error.code === 'node.wrong_chain')
      return { node: node.name, outcome: 'rejected', detail: 'wrong_chain' }
    return { node: node.name, outcome: 'unknown', detail: error.code.slice('node.'.length) }
  }
}
