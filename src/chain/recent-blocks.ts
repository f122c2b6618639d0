import type { Address, Hex } from 'viem'
import { RolekeeperError } from '../errors.ts'
import type { BlockOf, Head, MinedTransaction, Nodes } from './nodes.ts'

/** How many final blocks stay, so that a fork below them is walked down to where it left them. */
const FINAL_BLOCKS_KEPT = 64n

/** A block of the canonical chain, with how many transactions each signer had sent when it ended. */
type Block = { readonly head: Head; readonly counts: ReadonlyMap<Address, number> }

/** The newest blocks of the canonical chain, one upon another, and what the watched signers have in them. */
export type RecentBlocks = {
  readonly head: () => Head
  /** The oldest height that is known by block. */
  readonly floor: () => bigint
  /** The block at a height; undefined below the floor and above the head. */
  readonly at: (number: bigint) => Head | undefined
  readonly count: (signer: Address) => number
  /** What signers had sent by a block that is known; undefined where it is not. */
  readonly counts: (
    block: Pick<Head, 'number' | 'hash'>,
    signers: readonly Address[],
  ) => readonly number[] | undefined
  readonly minedAt: (signer: Address, nonce: number) => MinedTransaction | undefined
  /** Keep a transaction below the floor that was looked for. */
  readonly found: (transaction: MinedTransaction) => void
  /**
   * Cut what is above a height, and put these blocks upon it, lowest first.
   * @returns false, with nothing changed, where a nonce does not follow the one before: the counts are then read anew.
   */
  readonly replace: (above: bigint, blocks: readonly BlockOf[]) => boolean
  /** Let go of what is far below the finalized height. */
  readonly prune: (finalized: bigint) => void
}

/** Key of a signer's maps: nodes write addresses in lower case. */
const keyOf = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

/** Begin with one block, and the transactions that each signer had sent when it ended. */
export function createRecentBlocks(first: Head, counts: ReadonlyMap<Address, number>): RecentBlocks {
  let blocks: readonly Block[] = [
    { head: first, counts: new Map([...counts].map(([signer, count]) => [keyOf(signer), count])) },
  ]
  /** By signer and nonce, what was mined; what was looked for below the floor is among it. */
  const mined = new Map<Address, Map<number, MinedTransaction>>()
  const floor = () => blocks[0]?.head.number ?? first.number
  const top = (list: readonly Block[]): Block => list.at(-1) ?? { head: first, counts: new Map() }
  const indexOf = (number: bigint) => Number(number - floor())
  const minedBy = (signer: Address) => {
    const known = mined.get(keyOf(signer))
    if (known !== undefined) return known
    const fresh = new Map<number, MinedTransaction>()
    mined.set(keyOf(signer), fresh)
    return fresh
  }
  const forget = (isGone: (blockNumber: bigint) => boolean) => {
    for (const bySigner of mined.values())
      for (const [nonce, { receipt }] of bySigner) if (isGone(receipt.blockNumber)) bySigner.delete(nonce)
  }

  return {
    head: () => top(blocks).head,
    floor,
    at: (number) => (number < floor() ? undefined : blocks[indexOf(number)]?.head),
    count: (signer) => top(blocks).counts.get(keyOf(signer)) ?? 0,
    counts: ({ number, hash }, signers) => {
      const block = number < floor() ? undefined : blocks[indexOf(number)]
      return block?.head.hash === hash
        ? signers.map((signer) => block.counts.get(keyOf(signer)) ?? 0)
        : undefined
    },
    minedAt: (signer, nonce) => mined.get(keyOf(signer))?.get(nonce),
    found: (transaction) => {
      minedBy(transaction.from).set(transaction.nonce, transaction)
    },
    replace: (above, added) => {
      const kept = blocks.slice(0, indexOf(above) + 1)
      for (const block of added) {
        const counts = countsAfter(block, top(kept).counts)
        if (counts === null) return false
        kept.push({ head: block.head, counts })
      }
      blocks = kept
      forget((blockNumber) => blockNumber > above)
      for (const each of added.flatMap(({ transactions }) => transactions))
        minedBy(each.from).set(each.nonce, each)
      return true
    },
    prune: (finalized) => {
      const keepFrom = finalized - FINAL_BLOCKS_KEPT
      if (keepFrom <= floor()) return
      blocks = blocks.slice(Math.min(indexOf(keepFrom), blocks.length - 1))
      forget((blockNumber) => blockNumber < keepFrom)
    },
  }
}

/** Count on from the block before; null where a nonce is not the next one. Pure. */
function countsAfter(
  { transactions }: BlockOf,
  before: ReadonlyMap<Address, number>,
): ReadonlyMap<Address, number> | null {
  if (transactions.length === 0) return before
  const counts = new Map(before)
  for (const { from, nonce } of transactions) {
    if (nonce !== counts.get(keyOf(from))) return null
    counts.set(keyOf(from), nonce + 1)
  }
  return counts
}

/** Whether a block is known to be another than this one. Pure. */
export const isOther = (known: Head | null | undefined, hash: Hex): boolean =>
  known !== null && known !== undefined && known.hash !== hash

/**
 * Whether the nodes have left a block that was final before they called another one so. Throws `chain.unsettled` where too
 * few show any block at its height, though what they call final is above.
 */
export async function isGone(
  final: Pick<Head, 'number' | 'hash'>,
  agreed: Head,
  nodes: Pick<Nodes, 'block'>,
): Promise<boolean> {
  // Where nothing is final yet, nothing can be gone.
  if (final.number < 0n) return false
  const block = await nodes.block(final.number)
  if (block === null && final.number < agreed.number) throw unsettled(final.number)
  return isOther(block, final.hash)
}

/**
 * As `isGone`, where what is final now is below a ring: of which fork it is shows only in that the ring stands after it was
 * asked for. Throws `chain.unsettled` where it does not.
 */
export async function isGoneBelow(
  ring: RecentBlocks,
  final: Pick<Head, 'number' | 'hash'>,
  agreed: Head,
  nodes: Pick<Nodes, 'block'>,
): Promise<boolean> {
  const floor = ring.floor()
  const [hasGone, lowest] = await Promise.all([isGone(final, agreed, nodes), nodes.block(floor)])
  if (lowest?.hash !== ring.at(floor)?.hash) throw unsettled(floor)
  return hasGone
}

/** Make the error of a block that is not there any more as it was agreed on. Pure. */
export const unsettled = (number: bigint) =>
  new RolekeeperError(
    'chain.unsettled',
    `The nodes no longer show the block ${number} that they agreed on.`,
    {
      fix: 'nothing, when it passes by itself; else compare the nodes in `chain.nodes`.',
      facts: { number: String(number) },
      retry: 'now',
    },
  )
