import { type Address, type Hex, hexToBytes, keccak256, parseTransaction, serializeTransaction } from 'viem'
import { recoverAddress } from '../../../src/sign/signature.ts'
import { callContract, copyOf, type ModelLog, type State } from './contracts.ts'
import { isSigned, SIGNER } from './kms.ts'
import type { Random } from './random.ts'

export const CHAIN_ID = 31_337
const GAS_LIMIT = 30_000_000n

/** A signed transaction, taken apart. */
export type Tx = {
  readonly hash: Hex
  /** What its key was asked to sign. */
  readonly digest: Hex
  readonly raw: Hex
  readonly from: Address
  readonly nonce: number
  readonly to: Address | null
  readonly data: Hex
  readonly valueWei: bigint
  readonly gasLimit: bigint
  readonly maxFee: bigint
  readonly maxTip: bigint
  readonly signature: { readonly r: Hex; readonly s: Hex; readonly yParity: number }
}

export type MinedTx = {
  readonly tx: Tx
  readonly index: number
  readonly ok: boolean
  readonly gasUsed: bigint
  readonly priceWei: bigint
  readonly logs: readonly ModelLog[]
}

export type Block = {
  readonly number: number
  readonly hash: Hex
  readonly parent: Block | null
  readonly timestampS: number
  readonly baseFee: bigint
  readonly gasUsed: bigint
  readonly gasLimit: bigint
  readonly transactions: readonly MinedTx[]
  readonly state: State
  /** Unix milliseconds at which the network had it. */
  readonly bornAtMs: number
}

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

const parsed = new Map<Hex, Tx>()

/** Take raw bytes apart, and find out who signed them. Throws on bytes that are no signed EIP-1559 transaction. */
export function txOf(raw: Hex): Tx {
  const known = parsed.get(raw)
  if (known !== undefined) return known
  const { r, s, v: _v, yParity, ...rest } = parseTransaction(raw)
  if (r === undefined || s === undefined || yParity === undefined || rest.type !== 'eip1559') {
    throw new Error('not a signed EIP-1559 transaction')
  }
  const digest = keccak256(serializeTransaction({ ...rest, type: 'eip1559' }))
  const from = isSigned(digest, { r, s })
    ? SIGNER
    : recoverAddress(hexToBytes(digest), BigInt(r), BigInt(s), yParity)
  if (from === undefined) throw new Error('nobody signed it')
  const tx: Tx = {
    hash: keccak256(raw),
    digest,
    raw,
    from: lower(from),
    nonce: rest.nonce ?? 0,
    to: rest.to === undefined || rest.to === null ? null : lower(rest.to),
    data: rest.data ?? '0x',
    valueWei: rest.value ?? 0n,
    gasLimit: rest.gas ?? 0n,
    maxFee: rest.maxFeePerGas ?? 0n,
    maxTip: rest.maxPriorityFeePerGas ?? 0n,
    signature: { r, s, yParity },
  }
  if (parsed.size > 2_000) parsed.clear()
  parsed.set(raw, tx)
  return tx
}

const min = (a: bigint, b: bigint) => (a < b ? a : b)

/** The one true network: blocks, forks, and the transactions that wait. */
export class Chain {
  readonly genesis: Block
  /** The tip that honest nodes come to. */
  tip: Block
  /** Every block that ever was, by hash. */
  readonly blocks = new Map<Hex, Block>()
  /** Blocks that hold a transaction, by its hash: one a fork. */
  readonly mined = new Map<Hex, Block[]>()
  /** What waits, by sender and nonce. */
  readonly pool = new Map<string, Tx>()
  readonly finalityBlocks: number
  /** What an empty transfer costs here. */
  readonly transferGas: bigint
  /** The next block's, until set otherwise. */
  baseFee: bigint
  readonly #random: Random
  readonly #nowMs: () => number
  #count = 0

  constructor(options: {
    readonly state: State
    readonly nowMs: () => number
    readonly finalityBlocks: number
    readonly transferGas: bigint
    readonly baseFee: bigint
    readonly random: Random
    /** How many there are to begin with, one a second. */
    readonly blocks: number
  }) {
    this.finalityBlocks = options.finalityBlocks
    this.transferGas = options.transferGas
    this.baseFee = options.baseFee
    this.#random = options.random
    this.#nowMs = options.nowMs
    this.genesis = this.#block(null, options.state, [], Math.floor(options.nowMs() / 1_000) - options.blocks)
    this.tip = this.genesis
    for (let left = options.blocks - 1; left >= 0; left -= 1) this.mine(this.tip, undefined, left)
  }

  #block(parent: Block | null, state: State, transactions: readonly MinedTx[], timestampS: number): Block {
    const count = ++this.#count
    const block: Block = {
      number: parent === null ? 100 : parent.number + 1,
      hash: `0xb10c${count.toString(16).padStart(60, '0')}`,
      parent,
      timestampS,
      baseFee: this.baseFee,
      // At the target the base fee stays as it is: it moves only where a schedule says so.
      gasUsed: GAS_LIMIT / 2n,
      gasLimit: GAS_LIMIT,
      transactions,
      state,
      bornAtMs: this.#nowMs(),
    }
    this.blocks.set(block.hash, block)
    for (const { tx } of transactions) this.mined.set(tx.hash, [...(this.mined.get(tx.hash) ?? []), block])
    return block
  }

  /** Mine a block on the tip (or another block) with what waits and may go in, `ageS` seconds ago. */
  mine(on: Block = this.tip, takes: (tx: Tx) => boolean = () => true, ageS = 0): Block {
    const state = copyOf(on.state)
    const nowS = Math.max(on.timestampS + 1, Math.floor(this.#nowMs() / 1_000) - ageS)
    const transactions: MinedTx[] = []
    for (const from of new Set([...this.pool.values()].map((tx) => tx.from))) {
      for (;;) {
        const tx = this.pool.get(`${from}:${state.nonces.get(from) ?? 0}`)
        if (tx === undefined || tx.maxFee < this.baseFee || !takes(tx)) break
        transactions.push(this.execute(state, tx, this.baseFee, nowS, transactions.length))
      }
    }
    const block = this.#block(on, state, transactions, nowS)
    if (on === this.tip) this.#moveTo(block)
    return block
  }

  /** Change what the chain holds by something that is not a transaction of ours, in a block of its own. */
  change(change: (state: State) => void): void {
    const state = copyOf(this.tip.state)
    change(state)
    const nowS = Math.max(this.tip.timestampS + 1, Math.floor(this.#nowMs() / 1_000))
    this.#moveTo(this.#block(this.tip, state, [], nowS))
  }

  execute(state: State, tx: Tx, baseFee: bigint, timestampS: number, index: number): MinedTx {
    const priceWei = min(tx.maxFee, baseFee + tx.maxTip)
    state.nonces.set(tx.from, tx.nonce + 1)
    const ran =
      tx.to === null || tx.data === '0x'
        ? { ok: true, gas: this.transferGas, data: '0x' as const, logs: [] }
        : callContract(state, { from: tx.from, to: tx.to, data: tx.data, timestampS })
    const ok = ran.ok && ran.gas <= tx.gasLimit
    const gasUsed = min(ran.gas, tx.gasLimit)
    state.wei.set(tx.from, (state.wei.get(tx.from) ?? 0n) - gasUsed * priceWei)
    return { tx, index, ok, gasUsed, priceWei, logs: ok ? ran.logs : [] }
  }

  /** Take back the newest blocks; `depth + 1` others come in their place. Some of what they held waits again, some is lost. */
  reorg(depth: number, forgets: number): void {
    let base = this.tip
    for (let left = depth; left > 0 && base.parent !== null; left -= 1) {
      for (const { tx } of base.transactions) {
        if (!this.#random.chance(forgets)) this.pool.set(`${tx.from}:${tx.nonce}`, tx)
      }
      base = base.parent
    }
    // The chain's own changes stay: a position that went does not come back.
    const { positions, paused } = this.tip.state
    let next = base
    for (let index = 0; index <= depth; index += 1) {
      next = this.mine(next, () => this.#random.chance(0.5), depth - index)
      next.state.paused = paused
      for (const [borrower, position] of positions) next.state.positions.set(borrower, position)
    }
    this.#moveTo(next)
  }

  #moveTo(block: Block): void {
    this.tip = block
    for (const [key, tx] of this.pool) {
      if (tx.nonce < (block.state.nonces.get(tx.from) ?? 0)) this.pool.delete(key)
    }
  }

  /** The block `depth` below another, or the first. */
  below(block: Block, depth: number): Block {
    let at = block
    for (let left = depth; left > 0 && at.parent !== null; left -= 1) at = at.parent
    return at
  }

  at(tip: Block, number: number): Block | null {
    return number > tip.number || number < this.genesis.number ? null : this.below(tip, tip.number - number)
  }

  isIn(tip: Block, block: Block): boolean {
    return this.at(tip, block.number) === block
  }

  finalized(tip: Block = this.tip): Block {
    return this.below(tip, this.finalityBlocks)
  }

  /** Where a tip's chain has a transaction. */
  find(tip: Block, hash: Hex): { readonly block: Block; readonly mined: MinedTx } | null {
    for (const block of this.mined.get(hash) ?? []) {
      if (!this.isIn(tip, block)) continue
      const mined = block.transactions.find(({ tx }) => tx.hash === hash)
      if (mined !== undefined) return { block, mined }
    }
    return null
  }

  /** Take a transaction into the pool. @returns what a node would say against it, or null. */
  submit(tx: Tx, view: Block): string | null {
    if (tx.nonce < (view.state.nonces.get(tx.from) ?? 0)) return 'nonce too low'
    if (tx.gasLimit < this.transferGas) return 'intrinsic gas too low'
    if (tx.maxTip > tx.maxFee) return 'max priority fee per gas higher than max fee per gas'
    const cost = tx.gasLimit * tx.maxFee + tx.valueWei
    if (cost > (view.state.wei.get(tx.from) ?? 0n)) return 'insufficient funds for gas * price + value'
    const key = `${tx.from}:${tx.nonce}`
    const other = this.pool.get(key)
    if (other?.hash === tx.hash) return 'already known'
    const isDearer =
      other === undefined || (tx.maxFee * 10n >= other.maxFee * 11n && tx.maxTip * 10n >= other.maxTip * 11n)
    if (!isDearer) return 'replacement transaction underpriced'
    this.pool.set(key, tx)
    return null
  }
}
