import { type Address, type Hex, keccak256 } from 'viem'
import { type Block, CHAIN_ID, type Chain, type MinedTx, type Tx, txOf } from './chain.ts'
import { CODE, callContract, copyOf, type State } from './contracts.ts'

/** What a node says: a result, or an error of JSON-RPC. */
export type Said = { readonly result: unknown } | { readonly error: { code: number; message: string } }

/** A node's own look at the chain. */
export type View = {
  readonly chain: Chain
  readonly tip: Block
  /** Whether raw bytes reach the others. */
  readonly passesOn: boolean
  /** What a lying node makes of the state before it answers from it; absent, it is honest. */
  readonly bend?: (state: State) => State
}

const hex = (value: bigint | number): Hex => `0x${value.toString(16)}`
const failure = (code: number, message: string): Said => ({ error: { code, message } })
const ok = (result: unknown): Said => ({ result })

const header = ({ number, hash, parent, timestampS, baseFee, gasUsed, gasLimit }: Block) => ({
  number: hex(number),
  hash,
  parentHash: parent?.hash ?? `0x${'00'.repeat(32)}`,
  timestamp: hex(timestampS),
  baseFeePerGas: hex(baseFee),
  gasUsed: hex(gasUsed),
  gasLimit: hex(gasLimit),
  miner: `0x${'fe'.repeat(20)}`,
})

const transaction = (tx: Tx, block: Block | null, index: number, priceWei: bigint) => ({
  type: '0x2',
  chainId: hex(CHAIN_ID),
  hash: tx.hash,
  from: tx.from,
  to: tx.to,
  nonce: hex(tx.nonce),
  input: tx.data,
  value: hex(tx.valueWei),
  gas: hex(tx.gasLimit),
  gasPrice: hex(priceWei),
  maxFeePerGas: hex(tx.maxFee),
  maxPriorityFeePerGas: hex(tx.maxTip),
  accessList: [],
  r: tx.signature.r,
  s: tx.signature.s,
  v: hex(tx.signature.yParity),
  yParity: hex(tx.signature.yParity),
  blockHash: block?.hash ?? null,
  blockNumber: block === null ? null : hex(block.number),
  transactionIndex: block === null ? null : hex(index),
})

const receipt = (block: Block, { tx, index, ok, gasUsed, priceWei, logs }: MinedTx) => ({
  type: '0x2',
  transactionHash: tx.hash,
  transactionIndex: hex(index),
  from: tx.from,
  to: tx.to,
  contractAddress: null,
  blockNumber: hex(block.number),
  blockHash: block.hash,
  status: ok ? '0x1' : '0x0',
  gasUsed: hex(gasUsed),
  cumulativeGasUsed: hex(gasUsed),
  effectiveGasPrice: hex(priceWei),
  logsBloom: '0x',
  logs: logs.map((log, logIndex) => ({
    ...log,
    blockNumber: hex(block.number),
    blockHash: block.hash,
    transactionHash: tx.hash,
    transactionIndex: hex(index),
    logIndex: hex(logIndex),
    removed: false,
  })),
})

const fullBlock = (block: Block, full: boolean) => ({
  ...header(block),
  transactions: block.transactions.map(({ tx, index, priceWei }) =>
    full ? transaction(tx, block, index, priceWei) : tx.hash,
  ),
})

type LogsFilter = {
  readonly address: readonly Address[]
  readonly fromBlock: Hex
  readonly toBlock: Hex
  readonly topics: readonly (Hex | null)[]
}

type BlockId =
  | string
  | { readonly blockHash?: Hex; readonly blockNumber?: Hex; readonly requireCanonical?: boolean }

/** The block that a parameter names, as this node sees the chain. */
function blockAt({ chain, tip }: View, id: unknown): Block | null {
  const named = id as BlockId
  if (typeof named === 'object' && named !== null) {
    return named.blockHash === undefined
      ? numbered(chain, tip, named.blockNumber)
      : byHash(chain, tip, named.blockHash)
  }
  if (named === 'latest' || named === 'pending') return tip
  if (named === 'finalized' || named === 'safe') return chain.finalized(tip)
  if (named === 'earliest') return chain.genesis
  return named.length === 66 ? byHash(chain, tip, named) : numbered(chain, tip, named)
}
const numbered = (chain: Chain, tip: Block, number: unknown) => chain.at(tip, Number(number))
/** A node has what came up to its own tip: of what is beyond it has not heard yet. */
const byHash = (chain: Chain, tip: Block, hash: unknown) => {
  const block = chain.blocks.get(String(hash).toLowerCase() as Hex)
  return block === undefined || block.bornAtMs > tip.bornAtMs ? null : block
}

const missing = () => failure(-32_001, 'header not found')
const stateOf = ({ bend }: View, block: Block): State =>
  bend === undefined ? block.state : bend(block.state)

const METHODS: Readonly<Record<string, (view: View, params: readonly unknown[]) => Said>> = {
  eth_chainId: () => ok(hex(CHAIN_ID)),
  eth_blockNumber: ({ tip }) => ok(hex(tip.number)),
  eth_getBlockByNumber: (view, [id, full]) => {
    const block = blockAt(view, id)
    return ok(block === null ? null : fullBlock(block, full === true))
  },
  eth_getBlockByHash: (view, [id, full]) => {
    const block = byHash(view.chain, view.tip, id)
    return ok(block === null ? null : fullBlock(block, full === true))
  },
  eth_getTransactionByBlockHashAndIndex: (view, [id, at]) => {
    const block = byHash(view.chain, view.tip, id)
    const mined = block?.transactions[Number(at)]
    return ok(
      block == null || mined === undefined ? null : transaction(mined.tx, block, mined.index, mined.priceWei),
    )
  },
  eth_getLogs: (view, [filter]) => {
    const { address, fromBlock, toBlock, topics } = filter as LogsFilter
    const logs: unknown[] = []
    for (let at = BigInt(fromBlock); at <= BigInt(toBlock); at += 1n) {
      const block = blockAt(view, hex(at))
      const all = block?.transactions.flatMap((mined) => receipt(block, mined).logs) ?? []
      for (const [index, log] of all.entries()) {
        const isOf = topics.every((topic, place) => topic === null || topic === log.topics[place])
        if (isOf && address.includes(log.address)) logs.push({ ...log, logIndex: hex(index) })
      }
    }
    return ok(logs)
  },
  eth_getTransactionByHash: ({ chain, tip }, [hash]) => {
    const found = chain.find(tip, hash as Hex)
    if (found !== null) {
      return ok(transaction(found.mined.tx, found.block, found.mined.index, found.mined.priceWei))
    }
    const waiting = [...chain.pool.values()].find((tx) => tx.hash === hash)
    return ok(waiting === undefined ? null : transaction(waiting, null, 0, waiting.maxFee))
  },
  eth_getTransactionReceipt: ({ chain, tip }, [hash]) => {
    const found = chain.find(tip, hash as Hex)
    return ok(found === null ? null : receipt(found.block, found.mined))
  },
  eth_getTransactionCount: (view, [owner, id]) => {
    const from = String(owner).toLowerCase() as Address
    const block = blockAt(view, id)
    if (block === null) return missing()
    let count = block.state.nonces.get(from) ?? 0
    if (id === 'pending') while (view.chain.pool.has(`${from}:${count}`)) count += 1
    return ok(hex(count))
  },
  eth_getBalance: (view, [owner, id]) => {
    const block = blockAt(view, id)
    return block === null
      ? missing()
      : ok(hex(block.state.wei.get(String(owner).toLowerCase() as Address) ?? 0n))
  },
  eth_getCode: (_view, [at]) => ok(CODE.get(String(at).toLowerCase() as Address) ?? '0x'),
  eth_getStorageAt: () => ok(`0x${'0'.repeat(64)}`),
  eth_call: (view, [call, id]) => {
    const block = blockAt(view, id)
    if (block === null) return missing()
    const { to, data, input } = call as { to: Address; data?: Hex; input?: Hex }
    // What holds no code answers nothing.
    if (!CODE.has(to.toLowerCase() as Address)) return ok('0x')
    const from = `0x${'00'.repeat(20)}` as const
    const ran = callContract(stateOf(view, block), {
      from,
      to: to.toLowerCase() as Address,
      data: data ?? input ?? '0x',
      timestampS: block.timestampS,
    })
    return ran.ok ? ok(ran.data) : failure(3, 'execution reverted')
  },
  eth_feeHistory: ({ tip, chain }, [count, , percentiles]) => {
    const blocks = Array.from({ length: Number(count) }, (_, index) =>
      chain.below(tip, Number(count) - 1 - index),
    )
    const rewards = (percentiles as readonly number[] | undefined)?.map(() => hex(1_000_000_000n))
    return ok({
      oldestBlock: hex(blocks[0]?.number ?? 0),
      baseFeePerGas: [...blocks, tip].map(({ baseFee }) => hex(baseFee)),
      gasUsedRatio: blocks.map(() => 0.5),
      reward: blocks.map(() => rewards ?? []),
    })
  },
  eth_maxPriorityFeePerGas: () => ok(hex(1_000_000_000n)),
  eth_estimateGas: ({ chain }) => ok(hex(chain.transferGas)),
  eth_sendRawTransaction: ({ chain, tip, passesOn }, [raw]) => {
    let tx: Tx
    try {
      tx = txOf(raw as Hex)
    } catch {
      return failure(-32_000, 'rlp: failed to decode')
    }
    const refusal = passesOn ? chain.submit(tx, tip) : null
    return refusal === null ? ok(tx.hash) : failure(-32_000, refusal)
  },
  eth_simulateV1: simulate,
}

type SimulatedCall = Readonly<
  Record<'from' | 'to' | 'input' | 'value' | 'gas' | 'nonce' | 'maxFeePerGas', Hex>
>
type SimulateParams = readonly [
  {
    readonly blockStateCalls: readonly {
      readonly blockOverrides: Readonly<Record<string, Hex>>
      readonly stateOverrides?: Readonly<Record<string, { readonly code?: Hex }>>
      readonly calls: readonly SimulatedCall[]
    }[]
  },
  unknown,
]

/** Run a simulation as a strict node does: nonces, fees and funds count. */
function simulate(view: View, params: readonly unknown[]): Said {
  const [{ blockStateCalls }, id] = params as SimulateParams
  const block = blockAt(view, id)
  if (block === null) return missing()
  if (!view.chain.isIn(view.tip, block)) return failure(-32_000, 'hash is not currently canonical')
  const [only] = blockStateCalls
  if (only === undefined) return failure(-32_602, 'no block')
  const state = copyOf(stateOf(view, block))
  const baseFee = BigInt(only.blockOverrides.baseFeePerGas ?? '0x0')
  const timestampS = Number(only.blockOverrides.time)
  const overridden = new Map(
    Object.entries(only.stateOverrides ?? {}).map(([at, { code }]) => [at.toLowerCase(), code]),
  )
  const calls: unknown[] = []
  for (const call of only.calls) {
    const from = call.from.toLowerCase() as Address
    const maxFee = BigInt(call.maxFeePerGas)
    const nonce = state.nonces.get(from) ?? 0
    if (Number(call.nonce) !== nonce) {
      return failure(Number(call.nonce) < nonce ? -38_010 : -38_011, 'nonce too low or too high')
    }
    if (maxFee < baseFee) return failure(-38_012, 'max fee per gas less than block base fee')
    const funds = overridden.has(from) ? null : (state.wei.get(from) ?? 0n)
    if (funds !== null && funds < BigInt(call.gas) * maxFee) return failure(-38_014, 'insufficient funds')
    state.nonces.set(from, nonce + 1)
    const to = call.to?.toLowerCase() as Address
    if (overridden.get(to) !== undefined) {
      calls.push({ status: '0x1', gasUsed: hex(30_000), returnData: codeHashes(call.input), logs: [] })
      continue
    }
    const ran = callContract(state, { from, to, data: call.input, timestampS })
    calls.push({
      status: ran.ok ? '0x1' : '0x0',
      gasUsed: hex(ran.gas),
      returnData: ran.data,
      logs: ran.ok ? ran.logs : [],
    })
  }
  return ok([{ ...header(block), calls }])
}

/** What code that hashes the code at the addresses in its calldata returns: one word for each. */
function codeHashes(input: Hex): Hex {
  const words = input.slice(2).match(/.{64}/g) ?? []
  const hashes = words.map((each) => {
    const code = CODE.get(`0x${each.slice(24)}`)
    return code === undefined ? '0'.repeat(64) : keccak256(code).slice(2)
  })
  return `0x${hashes.join('')}`
}

/** Answer one call, as a node that sees the chain so. */
export function answer(view: View, method: string, params: readonly unknown[]): Said {
  const run = METHODS[method]
  return run === undefined ? failure(-32_601, `the method ${method} does not exist`) : run(view, params)
}
