import { type Hex, keccak256, toHex } from 'viem'
import type { BlockOf, Head, MinedTransaction, Nodes } from '../../src/chain/nodes.ts'

type Sent = Pick<MinedTransaction, 'from' | 'nonce'> &
  Partial<Pick<MinedTransaction, 'digest' | 'hash' | 'maxFeePerGasWei'>> & {
    readonly status?: 'success' | 'reverted'
    readonly logs?: MinedTransaction['receipt']['logs']
  }
type ModelNodes = Pick<
  Nodes,
  'head' | 'onHead' | 'block' | 'blockOf' | 'finalized' | 'transaction' | 'transactionCount'
>

/** A chain that mines and reorgs as a test asks, with the nodes that read it, all of one mind, and a count of their calls. */
export function createModelChain({ confirmations = 4n }: { readonly confirmations?: bigint } = {}) {
  let seed = 0
  const hashOf = (text: string): Hex => keccak256(toHex(text))
  const genesis: BlockOf = {
    head: { number: 0n, hash: hashOf('0'), parentHash: hashOf(''), timestampS: 0, baseFeePerGasWei: 1n },
    transactions: [],
  }
  let blocks: BlockOf[] = [genesis]
  const known = new Map<Hex, BlockOf>([[genesis.head.hash, genesis]])
  const listeners = new Set<(head: Head) => void>()
  const calls: string[] = []
  let failure: Error | null = null
  let hidden: bigint | null = null
  const asked = <T>(method: string, answer: () => T): Promise<T> => {
    calls.push(method)
    return failure === null ? Promise.resolve(answer()) : Promise.reject(failure)
  }
  const top = () => blocks.at(-1) ?? genesis
  const all = () => blocks.flatMap(({ transactions }) => transactions)

  const mined = (head: Head, sent: Sent): MinedTransaction => {
    const hash = sent.hash ?? hashOf(`${sent.from} ${sent.nonce} ${head.hash}`)
    return {
      hash,
      from: sent.from,
      nonce: sent.nonce,
      digest: sent.digest ?? hashOf(`digest ${hash}`),
      maxFeePerGasWei: sent.maxFeePerGasWei ?? 1n,
      maxPriorityFeePerGasWei: 1n,
      receipt: {
        hash,
        from: sent.from,
        blockNumber: head.number,
        blockHash: head.hash,
        status: sent.status ?? 'success',
        gasUsed: 21_000n,
        effectiveGasPriceWei: 1n,
        logs: sent.logs ?? [],
      },
    }
  }
  const mineOne = (sent: readonly Sent[]) => {
    const parent = top().head
    seed += 1
    const head: Head = {
      number: parent.number + 1n,
      hash: hashOf(`${parent.hash} ${seed}`),
      parentHash: parent.hash,
      timestampS: parent.timestampS + 12,
      baseFeePerGasWei: 1n,
    }
    const block = { head, transactions: sent.map((each) => mined(head, each)) }
    blocks.push(block)
    known.set(head.hash, block)
  }
  const announce = () => {
    for (const listener of listeners) listener(top().head)
  }

  const replace = (depth: number, sent: readonly (readonly Sent[])[]) => {
    blocks = blocks.slice(0, blocks.length - depth)
    for (const each of sent) mineOne(each)
  }

  const nodes: ModelNodes = {
    head: () => asked('head', () => top().head),
    onHead: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    block: (number) =>
      asked('block', () => (number === hidden ? null : (blocks[Number(number)]?.head ?? null))),
    blockOf: (hash, senders) =>
      asked('blockOf', () => {
        const block = known.get(hash)
        if (block === undefined) return null
        return { ...block, transactions: block.transactions.filter(({ from }) => senders.includes(from)) }
      }),
    finalized: () =>
      asked('finalized', () => {
        const number = top().head.number - confirmations
        return (blocks[number < 0n ? 0 : Number(number)] ?? genesis).head
      }),
    transaction: (hash) => asked('transaction', () => all().find((each) => each.hash === hash) ?? null),
    transactionCount: (address, at) =>
      asked('transactionCount', () => {
        const final = top().head.number - confirmations
        const number =
          typeof at === 'bigint'
            ? at
            : at === 'finalized'
              ? final
              : at === 'pending'
                ? top().head.number
                : (known.get(at)?.head.number ?? 0n)
        return blocks
          .filter(({ head }) => head.number <= number)
          .flatMap(({ transactions }) => transactions)
          .filter(({ from }) => from === address).length
      }),
  }
  return {
    nodes,
    calls,
    head: () => top().head,
    at: (number: bigint) => blocks[Number(number)]?.head,
    /** Mine blocks, each with what was sent, and announce the last. */
    mine: (...sent: readonly (readonly Sent[])[]) => {
      for (const each of sent) mineOne(each)
      announce()
    },
    /** Take so many blocks back and put these in their place. */
    reorg: (depth: number, ...sent: readonly (readonly Sent[])[]) => {
      replace(depth, sent)
      announce()
    },
    /** As `reorg`, before anybody hears of the new head. */
    reorgUnheard: replace,
    announce,
    /** Show no block at this height by its height; null for showing them all. */
    hide: (number: bigint | null) => {
      hidden = number
    },
    fail: (error: Error | null) => {
      failure = error
    },
  }
}
