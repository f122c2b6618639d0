import { type Hex, keccak256 } from 'viem'
import { z } from 'zod'

/** One JSON-RPC call on its way to the node. */
export type RpcCall = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly id?: string | number | null
}

/** A node's answer to one call. */
export type RpcReply =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }

/** How a node sees the chain; each is consistent with itself over all methods, as a real node that is so would be. */
export type View =
  | { readonly kind: 'honest' }
  /** Always so many blocks behind. */
  | { readonly kind: 'lag'; readonly blocks: bigint }
  /** Stands still at a height, and answers. */
  | { readonly kind: 'still'; readonly at: bigint }
  /** Claims blocks that nobody else has, and answers for them with the newest state. */
  | { readonly kind: 'ahead'; readonly blocks: bigint }
  /** On a fork of its own above a height: other hashes, and nobody's transactions. */
  | { readonly kind: 'fork'; readonly above: bigint }
  | { readonly kind: 'other_chain'; readonly chainId: number }

type Ask = (call: RpcCall) => Promise<RpcReply>

const quantity = (value: bigint): Hex => `0x${value.toString(16)}`
const block = z.looseObject({ number: z.string(), hash: z.string(), parentHash: z.string() })
const placed = z.looseObject({ blockNumber: z.string() })
const byHash = z.looseObject({ blockHash: z.string() })

/** Where each method takes its block. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_simulateV1: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_feeHistory: 1,
  eth_getStorageAt: 2,
  eth_getBlockByNumber: 0,
  eth_getBlockByHash: 0,
  eth_getBlockReceipts: 0,
}
const OF_TRANSACTION = ['eth_getTransactionReceipt', 'eth_getTransactionByHash']
const NOT_FOUND: RpcReply = { error: { code: -32_001, message: 'header not found' } }

/** Create what answers as a node with this view does, out of an honest node's answers. */
export function createView(view: View, ask: Ask): Ask {
  if (view.kind === 'honest') return ask
  if (view.kind === 'other_chain') {
    return async (call) =>
      call.method === 'eth_chainId' ? { result: quantity(BigInt(view.chainId)) } : ask(call)
  }
  if (view.kind === 'ahead') return createAhead(view.blocks, ask)
  if (view.kind === 'fork') return createFork(view.above, ask)
  return createBehind(view, ask)
}

const numberOf = async (ask: Ask, tag: string): Promise<bigint> => {
  const reply = await ask({ method: 'eth_getBlockByNumber', params: [tag, false] })
  return 'result' in reply ? BigInt(block.parse(reply.result).number) : 0n
}

/** A node that has nothing above a height. */
function createBehind(view: { kind: 'lag'; blocks: bigint } | { kind: 'still'; at: bigint }, ask: Ask): Ask {
  const ends = async () => {
    const [head, final] = await Promise.all([numberOf(ask, 'latest'), numberOf(ask, 'finalized')])
    const own = view.kind === 'lag' ? head - view.blocks : view.at
    const behind = head > own ? head - own : 0n
    const floor = (value: bigint) => (value > 0n ? value : 0n)
    return { head: floor(head - behind), final: floor(final - behind) }
  }
  const known = async (hash: unknown, head: bigint) => {
    const reply = await ask({ method: 'eth_getBlockByHash', params: [hash, false] })
    const found = block.nullish().parse('result' in reply ? reply.result : null)
    return found != null && BigInt(found.number) <= head
  }
  return async (call) => {
    const { head, final } = await ends()
    if (call.method === 'eth_blockNumber') return { result: quantity(head) }
    if (OF_TRANSACTION.includes(call.method)) {
      const reply = await ask(call)
      const found = placed.nullish().safeParse('result' in reply ? reply.result : null).data
      return found != null && BigInt(found.blockNumber) > head ? { result: null } : reply
    }
    const at = BLOCK_AT[call.method]
    if (at === undefined) return ask(call)
    const tag = call.params[at] ?? 'latest'
    const absent: RpcReply = call.method.startsWith('eth_getBlock') ? { result: null } : NOT_FOUND
    const hash = hashOf(call.method, tag)
    if (hash !== undefined) return (await known(hash, head)) ? ask(call) : absent
    const height =
      tag === 'finalized' || tag === 'safe'
        ? final
        : tag === 'latest' || tag === 'pending'
          ? head
          : BigInt(String(tag))
    return height > head ? absent : ask(withBlock(call, at, quantity(height)))
  }
}

const withBlock = (call: RpcCall, at: number, tag: unknown): RpcCall => ({
  ...call,
  params: Array.from({ length: Math.max(call.params.length, at + 1) }, (_, index) =>
    index === at ? tag : call.params[index],
  ),
})

/** The block hash that a call names, if it names one. */
function hashOf(method: string, tag: unknown): string | undefined {
  if (method === 'eth_getBlockByHash') return String(tag)
  if (typeof tag === 'string' && tag.length === 66) return tag
  return byHash.safeParse(tag).data?.blockHash
}

const madeUp = (number: bigint): Hex => keccak256(`0x${number.toString(16).padStart(64, '0')}`)

/** A node that claims blocks on top of the real head. */
function createAhead(blocks: bigint, ask: Ask): Ask {
  return async (call) => {
    const head = await numberOf(ask, 'latest')
    const claimed = head + blocks
    if (call.method === 'eth_blockNumber') return { result: quantity(claimed) }
    const at = BLOCK_AT[call.method]
    if (at === undefined) return ask(call)
    const tag = call.params[at] ?? 'latest'
    const hash = hashOf(call.method, tag)
    const heights = Array.from({ length: Number(blocks) }, (_, index) => head + BigInt(index) + 1n)
    const named =
      hash !== undefined
        ? heights.find((height) => madeUp(height) === hash)
        : tag === 'latest' || tag === 'pending'
          ? claimed
          : tag === 'finalized' || tag === 'safe'
            ? (await numberOf(ask, 'finalized')) + blocks
            : BigInt(String(tag))
    if (named === undefined || named <= head)
      return ask(named === undefined ? call : withBlock(call, at, quantity(named)))
    if (!call.method.startsWith('eth_getBlock')) return ask(withBlock(call, at, 'latest'))
    if (named > claimed) return { result: null }
    if (call.method === 'eth_getBlockReceipts') return { result: [] }
    const reply = await ask({ method: 'eth_getBlockByNumber', params: ['latest', false] })
    const top = block.parse('result' in reply ? reply.result : null)
    const parentHash = named === head + 1n ? top.hash : madeUp(named - 1n)
    return { result: { ...top, number: quantity(named), hash: madeUp(named), parentHash, transactions: [] } }
  }
}

/** A node whose blocks above a height are its own; their state is the real one's. */
function createFork(above: bigint, ask: Ask): Ask {
  const real = new Map<string, string>()
  const own = (hash: string): Hex => {
    const forged = keccak256(keccak256(z.templateLiteral(['0x', z.string()]).parse(hash)))
    real.set(forged, hash)
    return forged
  }
  return async (call) => {
    const at = BLOCK_AT[call.method]
    const tag = at === undefined ? undefined : call.params[at]
    const hash = at === undefined ? undefined : hashOf(call.method, tag)
    const known = hash === undefined ? undefined : real.get(hash)
    const asked =
      at === undefined || known === undefined
        ? call
        : withBlock(call, at, typeof tag === 'string' ? known : { ...Object(tag), blockHash: known })
    // A block of the others above the fork is not on this node's chain.
    if (hash !== undefined && known === undefined && !(await isShared(ask, hash, above))) {
      return call.method.startsWith('eth_getBlock') ? { result: null } : NOT_FOUND
    }
    const reply = await ask(asked)
    if (!('result' in reply)) return reply
    if (OF_TRANSACTION.includes(call.method)) {
      const found = placed.nullish().safeParse(reply.result).data
      return found != null && BigInt(found.blockNumber) > above ? { result: null } : reply
    }
    if (call.method === 'eth_getBlockReceipts') {
      const rows = z.array(placed).nullish().parse(reply.result) ?? []
      return { result: rows.filter(({ blockNumber }) => BigInt(blockNumber) <= above) }
    }
    const found = block.nullish().safeParse(reply.result).data
    if (!call.method.startsWith('eth_getBlock') || found == null || BigInt(found.number) <= above)
      return reply
    const parentHash = BigInt(found.number) - 1n > above ? own(found.parentHash) : found.parentHash
    return { result: { ...found, hash: own(found.hash), parentHash, transactions: [] } }
  }
}

async function isShared(ask: Ask, hash: string, above: bigint): Promise<boolean> {
  const reply = await ask({ method: 'eth_getBlockByHash', params: [hash, false] })
  const found = block.nullish().parse('result' in reply ? reply.result : null)
  return found != null && BigInt(found.number) <= above
}
