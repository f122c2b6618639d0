import type { Hex } from 'viem'
import { RolekeeperError } from '../../src/errors.ts'
import { type Book, EMPTY_BOOK, type FoldContext, foldLogs } from './book.ts'
import type { BlockHeader, ChainReader } from './chain-reader.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { IndexedLog } from './logs.ts'

/** A block with its logs that the contracts' interfaces declare. */
type IndexedBlock = BlockHeader & { readonly logs: readonly IndexedLog[] }

/** What was followed: the newest blocks one by one, so that they can be taken back, and all before them folded. */
export type Track = {
  /** The logs before `blocks`. */
  readonly base: Book
  /** Linked by parent hash, oldest first, at most {@link ROLLBACK_BLOCKS_MAX}; empty before the first read. */
  readonly blocks: readonly IndexedBlock[]
  /** The logs up to the last of `blocks`. */
  readonly book: Book
}

/** The deepest reorg that is undone in place; a deeper one reads again from the checkpoint, or from the start. */
export const ROLLBACK_BLOCKS_MAX = 120

export const EMPTY_TRACK: Track = { base: EMPTY_BOOK, blocks: [], book: EMPTY_BOOK }

/** What following the chain needs. */
export type FollowDeps = {
  readonly reader: {
    readonly header: ChainReader['header']
    /** The logs in these blocks, both ends included, that the contracts' interfaces declare. */
    readonly logs: (fromBlock: bigint, toBlock: bigint) => Promise<readonly IndexedLog[]>
  }
  readonly context: FoldContext
  /** The first block that can hold a log of the deployment. */
  readonly startBlock: bigint
  /** Where to begin instead, if its block is on the chain. */
  readonly checkpoint: () => Checkpoint | null
  /** The chain has the logs of so many blocks, its newest. */
  readonly blocksKept: bigint
}

/** A track, and the newest block that it has in common with the one before: 0 when it has none. */
type Followed = { readonly track: Track; readonly ancestor: bigint }

/**
 * Follow the chain to `head`: add the blocks since the last one, after taking back those that a reorg replaced.
 * Throws `indexer.chain_moved` when the chain changes between two reads (try again), `indexer.logs_gone` when it has dropped
 * what was not read yet, and `indexer.node`.
 */
export async function follow(track: Track, head: BlockHeader, deps: FollowDeps): Promise<Followed> {
  const kept = await keepCanonical(track.blocks, head, deps.reader)
  const ancestor = kept.at(-1)
  if (ancestor === undefined) return { track: await followFromStart(head, deps), ancestor: 0n }
  const added = await readBlocks(ancestor.number + 1n, head, ancestor.hash, deps.reader)
  const undone = kept.length < track.blocks.length
  const book = undone ? foldLogs(track.base, logsOf(kept), deps.context) : track.book
  const all = [...kept, ...added]
  const excess = all.slice(0, -ROLLBACK_BLOCKS_MAX)
  const followed = {
    base: foldLogs(track.base, logsOf(excess), deps.context),
    blocks: all.slice(excess.length),
    book: foldLogs(book, logsOf(added), deps.context),
  }
  return { track: followed, ancestor: ancestor.number }
}

async function followFromStart(head: BlockHeader, deps: FollowDeps): Promise<Track> {
  const newest = head.number - BigInt(ROLLBACK_BLOCKS_MAX) + 1n
  const checkpoint = await standing(deps.checkpoint(), deps.reader)
  // Never from genesis: it holds no logs, and anvil gives it another hash when it loads a chain again.
  const start = deps.startBlock > 0n ? deps.startBlock : 1n
  const from = checkpoint === null ? start : checkpoint.number + 1n
  if (from <= head.number - deps.blocksKept) throw logsGone(from, head)
  const first = newest > from ? newest : from
  const before = checkpoint?.book ?? EMPTY_BOOK
  const base = foldLogs(before, await deps.reader.logs(from, first - 1n), deps.context)
  const blocks = await readBlocks(first, head, null, deps.reader)
  return { base, blocks, book: foldLogs(base, logsOf(blocks), deps.context) }
}

async function standing(
  checkpoint: Checkpoint | null,
  reader: FollowDeps['reader'],
): Promise<Checkpoint | null> {
  if (checkpoint === null) return null
  return (await reader.header(checkpoint.number))?.hash === checkpoint.hash ? checkpoint : null
}

/** Return what of a track can no longer be taken back; null while all of it can. Pure. */
export function checkpointOf({ base, blocks }: Track): Checkpoint | null {
  const first = blocks[0]
  if (first === undefined || blocks.length < ROLLBACK_BLOCKS_MAX) return null
  return { number: first.number - 1n, hash: first.parentHash, book: base }
}

/** Say whether a block is on the chain that was followed, as far back as its blocks are remembered. Pure. */
export function isFollowed(track: Track, block: { readonly number: bigint; readonly hash: Hex }): boolean {
  const tip = track.blocks.at(-1)
  if (tip === undefined || block.number > tip.number) return false
  const followed = track.blocks.find((one) => one.number === block.number)
  return followed === undefined || followed.hash === block.hash
}

/** Of the blocks that were followed, keep those that are still on the chain that ends in `head`. */
async function keepCanonical(
  blocks: readonly IndexedBlock[],
  head: BlockHeader,
  reader: FollowDeps['reader'],
): Promise<readonly IndexedBlock[]> {
  for (let count = blocks.length; count > 0; count -= 1) {
    const block = blocks[count - 1]
    if (block === undefined || block.number >= head.number) continue
    const hash =
      block.number + 1n === head.number ? head.parentHash : (await reader.header(block.number))?.hash
    if (hash === block.hash) return blocks.slice(0, count)
  }
  return []
}

async function readBlocks(
  first: bigint,
  head: BlockHeader,
  parentHash: Hex | null,
  reader: FollowDeps['reader'],
): Promise<readonly IndexedBlock[]> {
  const numbers = Array.from({ length: Number(head.number - first) }, (_, index) => first + BigInt(index))
  const [headers, logs] = await Promise.all([
    Promise.all(numbers.map((number) => reader.header(number))),
    reader.logs(first, head.number),
  ])
  const logsByBlock = Map.groupBy(logs, (log) => log.blockHash)
  const blocks: IndexedBlock[] = []
  let parent = parentHash
  for (const header of [...headers, head]) {
    if (header === null || (parent !== null && header.parentHash !== parent)) throw chainMoved(head)
    blocks.push({ ...header, logs: logsByBlock.get(header.hash) ?? [] })
    parent = header.hash
  }
  // A log without its block is of a block that was replaced in between.
  if (logsOf(blocks).length !== logs.length) throw chainMoved(head)
  return blocks
}

const logsOf = (blocks: readonly IndexedBlock[]): readonly IndexedLog[] =>
  blocks.flatMap((block) => block.logs)

function chainMoved(head: BlockHeader): RolekeeperError {
  const message = `The chain changed while block ${head.number} was read.`
  return new RolekeeperError('indexer.chain_moved', message, { retry: 'now' })
}

function logsGone(from: bigint, head: BlockHeader): RolekeeperError {
  return new RolekeeperError(
    'indexer.logs_gone',
    `The index ends before block ${from}, whose logs the chain no longer has at block ${head.number}.`,
    {
      fix: 'start over with --fresh: the chain keeps the logs of its newest blocks, and the index those before them.',
    },
  )
}
