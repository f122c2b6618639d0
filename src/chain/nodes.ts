import type { Address, Hex } from 'viem'
import type { RolekeeperError } from '../errors.ts'

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

/** A log in a block; `hash` is its transaction's, `index` the log's in its block. */
export type MinedLog = Log & {
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly hash: Hex
  readonly index: number
}

export type Receipt = {
  readonly hash: Hex
  readonly from: Address
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly status: 'success' | 'reverted'
  readonly gasUsed: bigint
  readonly effectiveGasPriceWei: bigint
  /** What it paid for its bytes beside gas, wei; absent where the chain charges nothing for them. */
  readonly dataFeeWei?: bigint
  readonly logs: readonly Log[]
}

/** A token that moved, as its contract logged it; assets in base units. */
export type Transfer = {
  readonly token: Address
  readonly from: Address
  readonly to: Address
  readonly assets: bigint
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** Of the transaction. */
  readonly hash: Hex
  /** Of the log, in its block. */
  readonly index: number
}

/** What to look for transfers of: both ends of the range count. */
export type TransfersOf = {
  readonly tokens: readonly Address[]
  readonly account: Address
  readonly fromBlock: bigint
  readonly toBlock: bigint
}

/** What to look for logs of, by their first topic: both ends of the range count. */
export type LogsOf = {
  readonly addresses: readonly Address[]
  readonly topic: Hex
  readonly fromBlock: bigint
  readonly toBlock: bigint
}

/** What took a nonce without a transaction: an authorization by its key (EIP-7702), or its own code, which created a contract. */
export const NO_TRANSACTION: Hex = '0x'

/** A transaction that is in a block, with its receipt. */
export type MinedTransaction = {
  /** `NO_TRANSACTION` where its sender sent none; the receipt then says no more than the block. */
  readonly hash: Hex
  readonly from: Address
  readonly nonce: number
  /**
   * The keccak-256 of its unsigned EIP-1559 bytes, recomputed from its fields: what its key was asked to sign. Null for
   * a transaction of any other type, which ours never are.
   */
  readonly digest: Hex | null
  /** The gas price of a transaction without EIP-1559 fees. */
  readonly maxFeePerGasWei: bigint
  readonly maxPriorityFeePerGasWei: bigint
  readonly receipt: Receipt
}

/** A block, and what took nonces of certain senders in it, by sender and nonce. */
export type BlockOf = { readonly head: Head; readonly transactions: readonly MinedTransaction[] }

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

/** A word of a contract's storage, by its 32-byte slot. */
export type StorageSlot = { readonly of: Address; readonly slot: Hex }

/**
 * A bundle, and the reads that frame it (balances, allowances, health); the code of `codeAt` is hashed before the bundle,
 * and `slots` are read at the block that it runs on.
 */
export type Frame = {
  readonly before: readonly Call[]
  readonly bundle: readonly SimulatedTransaction[]
  readonly after: readonly Call[]
  readonly codeAt?: readonly Address[]
  readonly slots?: readonly StorageSlot[]
}

/** A simulation on top of an agreed block: our own in-flight transactions first, then a frame, then those that follow it. */
export type SimulationRequest = Frame & {
  readonly pending: readonly SimulatedTransaction[]
  /** Each runs on top of what all before it left. */
  readonly following?: readonly Frame[]
  /** An agreed head that stands still; absent: the newest. */
  readonly at?: Head
}

/** What a frame showed; a revert's data is its `returnData`, and a read that failed is null. */
export type FrameResult = {
  readonly before: readonly (Hex | null)[]
  readonly bundle: readonly {
    readonly status: 'success' | 'reverted'
    readonly gasUsed: bigint
    readonly returnData: Hex
    readonly logs: readonly Log[]
  }[]
  readonly after: readonly (Hex | null)[]
  /** keccak-256 of the code at each address of `codeAt`; null where there is none. */
  readonly codeHashes: readonly (Hex | null)[]
  /** What is in each of `slots`. */
  readonly words: readonly bigint[]
}

/** What a simulation showed. */
export type SimulationResult = FrameResult & {
  /** The block that it ran on top of. */
  readonly block: Head
  /** The time that the simulated block had, Unix seconds. */
  readonly timestampS: number
  readonly pending: readonly ('success' | 'reverted')[]
  readonly following: readonly FrameResult[]
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

/** What is said of a node that got no bytes, as it is to be left alone for a while. */
export const LEFT_ALONE = 'left_alone'

/**
 * How a reading node stands beside the others: `behind` their agreed head, `slow` to answer, `down`, on `other_fork`, or
 * lately `alone` with an answer, also one that cannot be read. Each but `ok` is asked last, and comes back by itself.
 */
export type NodeHealth = {
  readonly node: string
  readonly state: 'ok' | 'behind' | 'slow' | 'down' | 'other_fork' | 'alone'
  /** Since when it is `ok`, or is not, milliseconds of the monotonic clock. */
  readonly sinceMs: number
  /** Null until it has shown a head. */
  readonly blocksBehind: number | null
  /** The newest block that it has shown; null until then. */
  readonly headNumber: bigint | null
  readonly lastErrorCode: string | null
  /** How often it did not answer, or not so that it could be read, since the start. */
  readonly errors: number
  /** How often it stood alone since the start. */
  readonly disagreements: number
}

/** A method that too few nodes answer, or answer alike. */
export type UnansweredMethod = {
  readonly method: string
  /** When it was first asked for in vain since its last answer, milliseconds of the monotonic clock. */
  readonly sinceMs: number
  /** What it failed with the last time. */
  readonly error: RolekeeperError
}

/** Since when the chain cannot be followed past a block, milliseconds of the monotonic clock, and why. */
export type UnreadBlock = { readonly sinceMs: number; readonly error: unknown }

/**
 * Our EVM nodes: one chain, some to read and some to send to. What is read counts when `agree` nodes say the same.
 * Every method throws RolekeeperError `node.*` (retry later): `node.disagreement` when all were asked and too few say the
 * same, `node.quorum_missing` when too few answer in time. None of its errors carries a URL.
 */
export type Nodes = {
  readonly chainId: number
  /** How many nodes must say the same. */
  readonly agree: number
  /** Ask for the newest block that `agree` reading nodes have. */
  readonly head: () => Promise<Head>
  /** The agreed head as it is known, without asking while somebody listens; else as `head`. */
  readonly recent: () => Promise<Head>
  /** The block at a height, or null when it is not there (yet, or any more). */
  readonly block: (number: bigint) => Promise<Head | null>
  /** Reads at one block, the recent agreed head by default, in one round trip; a reverting call is null. */
  readonly calls: (calls: readonly Call[], at?: Head | bigint) => Promise<readonly (Hex | null)[]>
  /** keccak-256 of the code at each address at the recent agreed head; null where there is none. */
  readonly codeHashes: (addresses: readonly Address[]) => Promise<readonly (Hex | null)[]>
  /** At a block, the recent agreed head by default. */
  readonly balanceWei: (address: Address, at?: Head) => Promise<bigint>
  /** What moved to and from an account, oldest first. */
  readonly transfers: (of: TransfersOf) => Promise<readonly Transfer[]>
  /** What contracts logged under one topic, oldest first. */
  readonly logs: (of: LogsOf) => Promise<readonly MinedLog[]>
  /**
   * Transactions of an address counted at a block (by hash or height), or at the agreed finalized one. At `pending` nodes
   * cannot agree, as each has a pool of its own: it is the highest count but those of as many nodes as need not agree, where
   * one that is silent is taken to have the highest. So nobody hides what another has seen, and one
   * of three adds nothing while the others answer within two seconds.
   */
  readonly transactionCount: (address: Address, at: Hex | bigint | 'finalized' | 'pending') => Promise<number>
  /** The newest block that `agree` nodes call final: by the finalized tag, or head less N. */
  readonly finalized: () => Promise<Head>
  /**
   * A block by its hash with all that took a nonce of `senders` in it; null when no such block is known. `before` is what each
   * of them had sent by the block before; where it is not given, it is asked for.
   */
  readonly blockOf: (
    hash: Hex,
    senders: readonly Address[],
    before?: readonly number[],
  ) => Promise<BlockOf | null>
  /** A transaction that `agree` nodes have in the same block, or null: which says only that too few have it now. */
  readonly transaction: (hash: Hex) => Promise<MinedTransaction | null>
  /** The median tip of each of the last 10 blocks up to the agreed head, wei, oldest first. */
  readonly feeHistory: () => Promise<{ readonly tipsWei: readonly bigint[] }>
  /** What an empty transfer of an address to itself costs in gas: the highest estimate of `agree` nodes. */
  readonly estimateNoopGas: (signer: Address) => Promise<bigint>
  /**
   * Run a bundle without sending it, in one request a node. Throws `node.simulation_rejected` with the reason in `facts`
   * (insufficient_funds, nonce_mismatch, fee_below_base_fee, gas_limit) when the nodes would not begin it.
   */
  readonly simulate: (request: SimulationRequest) => Promise<SimulationResult>
  /** Send the same raw bytes to every sending node; never retried inside. */
  readonly send: (raw: Hex) => Promise<readonly SendOutcome[]>
  /** Call `listener` at each new agreed head until the returned function is called. */
  readonly onHead: (listener: (head: Head) => void) => () => void
  readonly health: () => readonly NodeHealth[]
  /**
   * Since when too few nodes are there, or those that are show blocks of which too few agree on any: milliseconds of the
   * monotonic clock at the first such look, null while enough agree. Looked at now: what nobody asked about meanwhile is not known.
   */
  readonly quorumMissingSinceMs: () => number | null
  /** What was asked for more than once in vain, also of late, and not answered since; the longest first. */
  readonly unanswered: () => readonly UnansweredMethod[]
  /** Ask no more, and give up what is under way. */
  readonly close: () => Promise<void>
}
