import { type Address, type Hex, keccak256 } from 'viem'
import type { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { badAnswer, type Endpoint, isLeftAlone, quantity, refused } from './endpoint.ts'
import type { RpcAnswer } from './json-rpc.ts'
import { classifySend, classifySimulation, isCallFailure } from './node-errors.ts'
import { type Call, LEFT_ALONE, type SendOutcome, type SimulationResult, type StorageSlot } from './nodes.ts'
import type { SimulationOrder } from './simulation.ts'
import {
  type Header,
  wireCount,
  wireFeeHistory,
  wireHeader,
  wireHex,
  wireSimulation,
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

/** Ask a node, and read its answer. Throws RolekeeperError `node.*`. */
export async function read<T>(
  node: Endpoint,
  method: string,
  params: readonly unknown[],
  schema: z.ZodType<T>,
): Promise<T> {
  return parsed(node.name, method, schema, await node.read(method, params))
}

const wireHeaderOrNone = wireHeader.nullable()

/** Read the header at a height or tag; null where there is none. Throws `node.no_base_fee` on a chain without EIP-1559. */
export async function headerAt(node: Endpoint, at: bigint | 'latest' | 'finalized'): Promise<Header | null> {
  const method = 'eth_getBlockByNumber'
  const answer = await node.read(method, [typeof at === 'bigint' ? quantity(at) : at, false])
  if (answer.ok && isWithoutBaseFee(answer.result)) throw noBaseFee(node.name)
  return parsed(node.name, method, wireHeaderOrNone, answer)
}

const isWithoutBaseFee = (block: unknown): boolean =>
  typeof block === 'object' && block !== null && 'hash' in block && !('baseFeePerGas' in block)

const noBaseFee = (node: string) =>
  new RolekeeperError('node.no_base_fee', `Node ${node} shows a block without a base fee.`, {
    fix: 'work on a chain with EIP-1559: fees are offered, and limits counted, by its base fee.',
    facts: { node },
    retry: 'later',
  })

/** Read the newest block that a node calls final; null where it has none, which some say with an error after a start. */
export async function finalizedOn(node: Endpoint): Promise<Header | null> {
  const method = 'eth_getBlockByNumber'
  const answer = await node.read(method, ['finalized', false])
  return answer.ok ? parsed(node.name, method, wireHeaderOrNone, answer) : null
}

/** Read a node's newest header. */
export async function newestHeader(node: Endpoint): Promise<Header> {
  const header = await headerAt(node, 'latest')
  if (header === null) throw badAnswer(node.name, 'eth_getBlockByNumber')
  return header
}

/** Read a balance, wei. */
export const balanceOn = (node: Endpoint, address: Address, at: StateAt): Promise<bigint> =>
  read(node, 'eth_getBalance', [address, stateParam(at)], wireUint)

/** Count the transactions that an address has sent. */
export const countOn = (node: Endpoint, address: Address, at: StateAt): Promise<number> =>
  read(node, 'eth_getTransactionCount', [address, stateParam(at)], wireCount)

/** Read the median tip of each of the last 10 blocks up to a height, wei; 0 where the node names none. */
export const priorityFeesOn = (node: Endpoint, height: bigint): Promise<readonly bigint[]> =>
  read(node, 'eth_feeHistory', ['0xa', quantity(height), [50]], wireFeeHistory)

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

/** Send raw bytes once, now or not at all. */
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
    if (isLeftAlone(error)) return { node: node.name, outcome: 'rejected', detail: LEFT_ALONE }
    return { node: node.name, outcome: 'unknown', detail: error.code.slice('node.'.length) }
  }
}
