import { type Address, type Hex, keccak256 } from 'viem'
import type { z } from 'zod'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { createEndpoint, type Endpoint, quantity, type RpcAnswer } from './endpoint.ts'
import { watchHeads } from './heads.ts'
import { classifySend, classifySimulation } from './node-errors.ts'
import type { Call, Nodes, Receipt, SendOutcome, SimulationRequest, SimulationResult } from './nodes.ts'
import { nextTimestampS, simulationParams, simulationResult } from './simulation.ts'
import { type Header, wireCount, wireHeader, wireHex, wireReceipt, wireSimulation, wireUint } from './wire.ts'

/** How to reach one chain. Addresses of nodes are secrets: they may hold a key. */
export type NodesOptions = {
  readonly chainId: number
  /** At least one. The first is preferred among equals. */
  readonly read: readonly string[]
  /** At least one; a public node or a private endpoint. */
  readonly send: readonly string[]
  /** Whether the chain has a `finalized` tag, or how many blocks deep is deep enough. */
  readonly finality: 'finalized' | { readonly confirmations: bigint }
  readonly timeoutMs: number
  /** How often each reading node is asked for its head while somebody listens. */
  readonly pollMs: number
  readonly clock: Clock
}

const badAnswer = (node: string, method: string) =>
  new RolekeeperError('node.bad_answer', `Node ${node} gave an answer to ${method} that cannot be read.`, {
    fix: 'use another node in `chain.nodes`; this one is broken or not an Ethereum node.',
    facts: { node, method },
    retry: 'later',
  })

const refused = (node: string, method: string, code: number) =>
  new RolekeeperError('node.refused', `Node ${node} refused ${method} with code ${code}.`, {
    fix:
      method === 'eth_simulateV1'
        ? 'use a node that supports eth_simulateV1 and holds the newest state.'
        : 'check what the node supports, or use another one in `chain.nodes`.',
    facts: { node, method, code },
    retry: 'later',
  })

function parsed<T>(node: string, method: string, schema: z.ZodType<T>, answer: RpcAnswer): T {
  if (!answer.ok) throw refused(node, method, answer.failure.code)
  const checked = schema.safeParse(answer.result)
  if (!checked.success) throw badAnswer(node, method)
  return checked.data
}

/**
 * Connect to the nodes of one chain. A node that cannot be reached now is asked again later; one on another chain, or
 * no reading or no sending node at all, stops the start.
 * Throws RolekeeperError `node.wrong_chain`, or what the first node failed with.
 */
export async function createNodes(options: NodesOptions): Promise<Nodes> {
  const { chainId, timeoutMs, clock, finality } = options
  const connect = (kind: string, urls: readonly string[]) =>
    urls.map((url, index) => createEndpoint({ name: `${kind}-${index + 1}`, url, chainId, timeoutMs }))
  const readers = connect('read', options.read)
  const senders = connect('send', options.send)
  await Promise.all([proveChain(readers), proveChain(senders)])

  const codeHash = createCodeHasher()
  const heads = watchHeads({ nodes: readers, fetchHead: newestHeader, pollMs: options.pollMs, clock })
  const { fromBest, fromAll } = createReaders(readers, heads.order)
  const finalizedNumber = async (): Promise<bigint> => {
    const heights = await fromAll((node) => finalizedOn(node, finality))
    return heights.reduce((lowest, height) => (height < lowest ? height : lowest))
  }
  const countAt = (address: Address, tag: Hex) => fromAll((node) => countOn(node, address, tag))

  return {
    chainId,
    head: heads.newest,
    block: (number) => fromBest((node) => headerAt(node, quantity(number))),
    blockOnAll: (number) => fromAll((node) => headerAt(node, quantity(number))),
    calls: (calls, blockNumber) => {
      const tag = blockNumber === undefined ? 'latest' : quantity(blockNumber)
      return fromBest((node) => Promise.all(calls.map((call) => viewCall(node, call, tag))))
    },
    codeHashes: (addresses) =>
      fromBest((node) => Promise.all(addresses.map((address) => codeHash(node, address)))),
    balanceWei: (address) => fromBest((node) => balanceOn(node, address)),
    transactionCount: async (address, at) => {
      if (at !== 'finalized') return Math.max(...(await countAt(address, quantity(at))))
      return Math.min(...(await countAt(address, quantity(await finalizedNumber()))))
    },
    receipt: async (hash) => {
      const found = await fromAll((node) => receiptOn(node, hash))
      return found.find((receipt) => receipt !== null) ?? null
    },
    finalizedNumber,
    simulate: async (request) => {
      const parent = await heads.recent()
      return fromBest((node) => simulateOn(node, request, parent, chainId, clock.nowMs()))
    },
    send: (raw) => Promise.all(senders.map((node) => sendTo(node, raw))),
    onHead: heads.listen,
    close: heads.close,
  }
}

/** The two ways to ask the reading nodes of one chain. */
type Readers = {
  /** Ask the node that is furthest ahead, then the others; throw what the first one failed with. */
  readonly fromBest: <T>(ask: (node: Endpoint) => Promise<T>) => Promise<T>
  /** Ask every node at once, and keep the answers of those that gave one; throw when none did. */
  readonly fromAll: <T>(ask: (node: Endpoint) => Promise<T>) => Promise<readonly T[]>
}

const createReaders = (nodes: readonly Endpoint[], order: () => readonly Endpoint[]): Readers => ({
  fromBest: async (ask) => {
    let failure: unknown
    for (const node of order()) {
      try {
        return await ask(node)
      } catch (error) {
        if (!(error instanceof RolekeeperError) || error.code === 'node.simulation_rejected') throw error
        failure ??= error
      }
    }
    throw failure
  },
  fromAll: async (ask) => {
    const settled = await Promise.allSettled(nodes.map(ask))
    const answers = settled.flatMap((item) => (item.status === 'fulfilled' ? [item.value] : []))
    if (answers.length === 0) throw settled.find((item) => item.status === 'rejected')?.reason
    return answers
  },
})

async function headerAt(node: Endpoint, tag: Hex | 'latest' | 'finalized'): Promise<Header | null> {
  const method = 'eth_getBlockByNumber'
  return parsed(node.name, method, wireHeader.nullable(), await node.read(method, [tag, false]))
}

async function newestHeader(node: Endpoint): Promise<Header> {
  const header = await headerAt(node, 'latest')
  if (header === null) throw badAnswer(node.name, 'eth_getBlockByNumber')
  return header
}

async function finalizedOn(node: Endpoint, finality: NodesOptions['finality']): Promise<bigint> {
  const header = await headerAt(node, finality === 'finalized' ? 'finalized' : 'latest')
  if (header === null) return 0n
  if (finality === 'finalized') return header.number
  return header.number > finality.confirmations ? header.number - finality.confirmations : 0n
}

async function balanceOn(node: Endpoint, address: Address): Promise<bigint> {
  const method = 'eth_getBalance'
  return parsed(node.name, method, wireUint, await node.read(method, [address, 'latest']))
}

async function countOn(node: Endpoint, address: Address, tag: Hex): Promise<number> {
  const method = 'eth_getTransactionCount'
  return parsed(node.name, method, wireCount, await node.read(method, [address, tag]))
}

async function receiptOn(node: Endpoint, hash: Hex): Promise<Receipt | null> {
  const method = 'eth_getTransactionReceipt'
  const receipt = parsed(node.name, method, wireReceipt.nullable(), await node.read(method, [hash]))
  if (receipt !== null && receipt.hash !== hash.toLowerCase()) throw badAnswer(node.name, method)
  return receipt
}

/** Demand that no node is on another chain and that one answers. */
async function proveChain(nodes: readonly Endpoint[]): Promise<void> {
  const failures = (await Promise.allSettled(nodes.map((node) => node.checkChain()))).flatMap((item) =>
    item.status === 'rejected' ? [item.reason] : [],
  )
  const wrong = failures.find(
    (error) => error instanceof RolekeeperError && error.code === 'node.wrong_chain',
  )
  if (wrong !== undefined) throw wrong
  if (failures.length === nodes.length) throw failures[0]
}

/** Codes and texts of a call that ran and reverted; anything else is the node's own trouble. */
const isRevert = (failure: { code: number; message: string }) =>
  failure.code === 3 || /revert|invalid opcode|out of gas|stack underflow/i.test(failure.message)

async function viewCall(node: Endpoint, call: Call, tag: Hex | 'latest'): Promise<Hex | null> {
  const answer = await node.read('eth_call', [{ to: call.to, data: call.data }, tag])
  if (!answer.ok && isRevert(answer.failure)) return null
  return parsed(node.name, 'eth_call', wireHex, answer)
}

/** Hash the code at addresses, each code once: a contract's thousands of bytes cost a millisecond or two. */
function createCodeHasher() {
  const known = new Map<Address, { readonly code: Hex; readonly hash: Hex }>()
  return async (node: Endpoint, address: Address): Promise<Hex | null> => {
    const method = 'eth_getCode'
    const code = parsed(node.name, method, wireHex, await node.read(method, [address, 'latest']))
    if (code === '0x') return null
    const last = known.get(address)
    if (last?.code === code) return last.hash
    const hash = keccak256(code)
    known.set(address, { code, hash })
    return hash
  }
}

async function simulateOn(
  node: Endpoint,
  request: SimulationRequest,
  parent: Header,
  chainId: number,
  nowMs: number,
): Promise<SimulationResult> {
  const method = 'eth_simulateV1'
  const timestampS = nextTimestampS(parent, nowMs)
  const answer = await node.read(method, simulationParams(request, parent, chainId, timestampS))
  const reason = answer.ok ? null : classifySimulation(answer.failure)
  if (reason !== null) {
    throw new RolekeeperError(
      'node.simulation_rejected',
      `Node ${node.name} would not simulate: ${reason}.`,
      {
        fix: 'nothing, when it passes by itself; else check the signer: its balance, its nonce and the fee cap.',
        facts: { node: node.name, reason },
        retry: 'now',
      },
    )
  }
  const result = simulationResult(
    request,
    parent,
    timestampS,
    parsed(node.name, method, wireSimulation, answer),
  )
  if (result === null) throw badAnswer(node.name, method)
  return result
}

async function sendTo(node: Endpoint, raw: Hex): Promise<SendOutcome> {
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
