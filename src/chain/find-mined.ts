import type { Address, Hex } from 'viem'
import { RolekeeperError } from '../errors.ts'
import type { Head, MinedTransaction, Nodes } from './nodes.ts'

/** A nonce that the chain has passed below the blocks that are known one by one: which transaction took it? */
export type PassedNonce = {
  readonly signer: Address
  readonly nonce: number
  /** What it may be known by; where none of these is mined, the block is searched that took the nonce. */
  readonly hashes: readonly Hex[]
  /** A height at which the nonce was free. */
  readonly sinceBlock: bigint
}

/** What seeking needs of the nodes. */
export type SeekNodes = Pick<Nodes, 'block' | 'blockOf' | 'transaction' | 'transactionCount'>

/**
 * Find the transaction that took a nonce at or below a block: by the hashes that are known, else by the block after which
 * the count is higher, so that it is found whatever its hash is. Null when it took the nonce before `sinceBlock`, or
 * the nodes do not show it. Throws what the nodes throw.
 */
export async function findMined(
  sought: PassedNonce,
  upTo: Head,
  nodes: SeekNodes,
): Promise<MinedTransaction | null> {
  const byHash = await Promise.all(sought.hashes.map((hash) => nodes.transaction(hash)))
  for (const mined of byHash) {
    if (mined === null || mined.nonce !== sought.nonce || mined.receipt.blockNumber > upTo.number) continue
    const block = await nodes.block(mined.receipt.blockNumber)
    if (block?.hash === mined.receipt.blockHash) return mined
  }
  return byNonce(sought, upTo, nodes)
}

async function byNonce(
  { signer, nonce, sinceBlock }: PassedNonce,
  upTo: Head,
  nodes: SeekNodes,
): Promise<MinedTransaction | null> {
  const isTaken = async (number: bigint) => (await nodes.transactionCount(signer, number)) > nonce
  // From the newest block down, in growing strides, and smaller ones where it is too far: nodes keep no state of old blocks
  // for long.
  let [free, taken] = [upTo.number, upTo.number]
  for (let stride = 1n; free === taken; ) {
    if (taken <= sinceBlock || stride === 0n) return null
    const lower = taken - stride > sinceBlock ? taken - stride : sinceBlock
    const wasTaken = await unlessRefused(isTaken(lower))
    if (wasTaken === null) stride /= 2n
    else if (wasTaken) [free, taken, stride] = [lower, lower, stride * 2n]
    else free = lower
  }
  while (taken - free > 1n) {
    const middle = (free + taken) / 2n
    if (await isTaken(middle)) taken = middle
    else free = middle
  }
  const header = await nodes.block(taken)
  const block = header === null ? null : await nodes.blockOf(header.hash, [signer])
  return block?.transactions.find((mined) => mined.nonce === nonce) ?? null
}

/** Null where the nodes fail: who wants to know asks again. */
export async function unlessRefused<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof RolekeeperError) return null
    throw error
  }
}

/** Ask for a block once, however many of what is sought are in it. Answers are kept for good: for one look. */
export const onceEach = (block: SeekNodes['block']): SeekNodes['block'] => {
  const asked = new Map<bigint, ReturnType<SeekNodes['block']>>()
  return (number) => {
    const answer = asked.get(number) ?? block(number)
    asked.set(number, answer)
    return answer
  }
}
