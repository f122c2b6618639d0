import type { Address, Hex } from 'viem'

/** A block's header, as far as we use it. */
export type Head = {
  readonly number: bigint
  readonly hash: Hex
  readonly parentHash: Hex
  readonly timestampS: number
  readonly baseFeePerGasWei: bigint
}

/** One read-only call. */
export type Call = { readonly to: Address; readonly data: Hex }

export type Log = { readonly address: Address; readonly topics: readonly Hex[]; readonly data: Hex }

export type Receipt = {
  readonly hash: Hex
  readonly from: Address
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly status: 'success' | 'reverted'
  readonly gasUsed: bigint
  readonly effectiveGasPriceWei: bigint
  readonly logs: readonly Log[]
}

/** A transaction of ours inside a simulation; every fee and nonce is explicit, as a strict node demands. */
export type SimulatedTransaction = {
  readonly from: Address
  /** Null where it creates a contract. */
  readonly to: Address | null
  readonly data: Hex
  readonly valueWei: bigint
  readonly gasLimit: bigint
  readonly nonce: number
  readonly maxFeePerGasWei: bigint
  readonly maxPriorityFeePerGasWei: bigint
}

/**
 * A simulation on our own node on top of its newest head. `before` and `after` are reads that frame the bundle (balances,
 * allowances, health); `pending` are our own in-flight transactions, which run first.
 */
export type SimulationRequest = {
  readonly pending: readonly SimulatedTransaction[]
  readonly before: readonly Call[]
  readonly bundle: readonly SimulatedTransaction[]
  readonly after: readonly Call[]
}

/** What a simulation showed; a revert's data is its `returnData`, and a read that failed is null. */
export type SimulationResult = {
  /** The block that it ran on top of. */
  readonly block: Head
  /** The time that the simulated block had, Unix seconds. */
  readonly timestampS: number
  readonly pending: readonly ('success' | 'reverted')[]
  readonly before: readonly (Hex | null)[]
  readonly bundle: readonly {
    readonly status: 'success' | 'reverted'
    readonly gasUsed: bigint
    readonly returnData: Hex
    readonly logs: readonly Log[]
  }[]
  readonly after: readonly (Hex | null)[]
}

/**
 * What a node said to raw bytes. `accepted` includes "already known"; `unknown` (timeout, reset, unknown text)
 * means the node may have it; `rejected` means this node certainly did not take it, another one may have.
 */
export type SendOutcome = {
  readonly node: string
  readonly outcome:
    | 'accepted'
    | 'unknown'
    | 'nonce_too_low'
    | 'underpriced'
    | 'insufficient_funds'
    | 'rejected'
  /** A stable name of what was said; never the node's own text. */
  readonly detail: string
}

/**
 * Our EVM nodes: one chain, some to read and some to send to. Every method throws RolekeeperError `node.*`
 * (retry later) when no node answers in time; none of its errors carries a URL.
 */
export type Nodes = {
  readonly chainId: number
  /** The head of the reading node that is furthest ahead. */
  readonly head: () => Promise<Head>
  /** The block at a height, or null when it is not there (yet, or any more). */
  readonly block: (number: bigint) => Promise<Head | null>
  /** Reads at one block, in one round trip; a reverting call is null. */
  readonly calls: (calls: readonly Call[], blockNumber?: bigint) => Promise<readonly (Hex | null)[]>
  /** keccak-256 of the code at each address; null where there is none. */
  readonly codeHashes: (addresses: readonly Address[]) => Promise<readonly (Hex | null)[]>
  readonly balanceWei: (address: Address) => Promise<bigint>
  /** Transactions of an address counted at a block (the highest that nodes report) or at the finalized one (the lowest). */
  readonly transactionCount: (address: Address, at: bigint | 'finalized') => Promise<number>
  /** The block at a height as each reading node that answers has it: they must agree before anything counts as final. */
  readonly blockOnAll: (number: bigint) => Promise<readonly (Head | null)[]>
  /** The receipt from any reading node, or null: which says only that those asked have none now. */
  readonly receipt: (hash: Hex) => Promise<Receipt | null>
  /** The height at and below which blocks do not change: the finalized tag, or head less N; the lowest over all nodes. */
  readonly finalizedNumber: () => Promise<bigint>
  /**
   * Run a bundle without sending it, in one request. Throws `node.simulation_rejected` with the reason in `facts`
   * (insufficient_funds, nonce_mismatch, fee_below_base_fee, gas_limit) when a node would not begin it.
   */
  readonly simulate: (request: SimulationRequest) => Promise<SimulationResult>
  /** Send the same raw bytes to every sending node; never retried inside. */
  readonly send: (raw: Hex) => Promise<readonly SendOutcome[]>
  /** Call `listener` at each new head until the returned function is called. */
  readonly onHead: (listener: (head: Head) => void) => () => void
  readonly close: () => Promise<void>
}
