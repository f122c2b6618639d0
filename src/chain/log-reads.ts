import { type Address, pad, toEventSelector } from 'viem'
import type { Clock } from '../clock.ts'
import { NARROW_MS } from './batches.ts'
import { badAnswer, type Endpoint, isTooWide, quantity } from './endpoint.ts'
import { read } from './node-reads.ts'
import type { LogsOf, MinedLog, Transfer, TransfersOf } from './nodes.ts'
import { wireMinedLogs, wireTransfers } from './wire.ts'

/** Logs of a range of blocks, as one node shows them. Source: execution-apis, eth_getLogs. */
export type LogReads = {
  /** Read the transfers of tokens to and from an account, oldest first. */
  readonly transfers: (node: Endpoint, of: TransfersOf) => Promise<readonly Transfer[]>
  /** Read what contracts logged under a topic, oldest first. */
  readonly logs: (node: Endpoint, of: LogsOf) => Promise<readonly MinedLog[]>
}

type Range = { readonly fromBlock: bigint; readonly toBlock: bigint }
type Placed = { readonly blockNumber: bigint; readonly index: number }

const METHOD = 'eth_getLogs'
/** Source: EIP-20. */
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

/** Create the reads; what each node was seen to take at once is kept. */
export function createLogReads(clock: Pick<Clock, 'monotonicMs'>): LogReads {
  const inParts = createParts(clock)
  return {
    transfers: async (node, of) => {
      const own = pad(of.account)
      const found = await Promise.all(
        [
          [TRANSFER, own],
          [TRANSFER, null, own],
        ].map((topics) =>
          inParts(node, of, (range) =>
            read(node, METHOD, [{ ...filterOf(of.tokens, range), topics }], wireTransfers),
          ),
        ),
      )
      const byPlace = new Map(found.flat().map((each) => [`${each.blockNumber}:${each.index}`, each]))
      const all = [...byPlace.values()].toSorted(byBlock)
      const isOurs = ({ token, from, to, blockNumber }: Transfer) =>
        isAmong(of.tokens, token) && [from, to].includes(lower(of.account)) && isIn(of, blockNumber)
      if (!all.every(isOurs)) throw badAnswer(node.name, METHOD)
      return all
    },
    logs: async (node, of) => {
      const found = await inParts(node, of, (range) =>
        read(node, METHOD, [{ ...filterOf(of.addresses, range), topics: [of.topic] }], wireMinedLogs),
      )
      const isAsked = ({ address, topics, blockNumber }: MinedLog) =>
        isAmong(of.addresses, address) && topics[0] === of.topic && isIn(of, blockNumber)
      if (!found.every(isAsked)) throw badAnswer(node.name, METHOD)
      return found.toSorted(byBlock)
    },
  }
}

const filterOf = (address: readonly Address[], { fromBlock, toBlock }: Range) => ({
  address,
  fromBlock: quantity(fromBlock),
  toBlock: quantity(toBlock),
})
const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`
const isAmong = (asked: readonly Address[], address: Address) => asked.some((each) => lower(each) === address)
const isIn = ({ fromBlock, toBlock }: Range, number: bigint) => number >= fromBlock && number <= toBlock
const byBlock = (one: Placed, other: Placed) =>
  Number(one.blockNumber - other.blockNumber) || one.index - other.index

/**
 * Read a range in parts that a node takes: halved where it refuses, as nodes limit the blocks or the logs of one answer, or
 * where the answer is too large; what refuses a single block is its refusal.
 */
function createParts({ monotonicMs }: Pick<Clock, 'monotonicMs'>) {
  const limits = new WeakMap<Endpoint, { readonly blocks: bigint; readonly untilMs: number }>()
  return async <T>(
    node: Endpoint,
    { fromBlock, toBlock }: Range,
    part: (range: Range) => Promise<readonly T[]>,
  ): Promise<readonly T[]> => {
    const found: T[] = []
    const limit = limits.get(node)
    let blocks =
      limit !== undefined && monotonicMs() < limit.untilMs ? limit.blocks : toBlock - fromBlock + 1n
    let wasRefused = false
    for (let from = fromBlock; from <= toBlock; ) {
      const to = from + blocks <= toBlock ? from + blocks - 1n : toBlock
      try {
        found.push(...(await part({ fromBlock: from, toBlock: to })))
        from = to + 1n
        // Only what it did take after a refusal says where its limit is.
        if (wasRefused) limits.set(node, { blocks, untilMs: monotonicMs() + NARROW_MS })
      } catch (error) {
        if (from === to || !isTooWide(error)) throw error
        wasRefused = true
        blocks = (to - from + 1n) / 2n
      }
    }
    return found
  }
}
