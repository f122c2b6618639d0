import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import type { Hex } from 'viem'
import { writePrivateFile } from '../files.ts'
import type { Book } from './book.ts'

/** What the logs up to a block, itself included, say. */
export type Checkpoint = { readonly number: bigint; readonly hash: Hex; readonly book: Book }

/** The newest checkpoint of an index, kept in a file. */
export type Checkpoints = {
  /** Null when there is none, or none that this code wrote. */
  readonly latest: () => Checkpoint | null
  /** Keep it, once it is 300 blocks after the one before. On a disk that takes no more, the one before stays. */
  readonly keep: (checkpoint: Checkpoint) => void
}

/** Few enough that what is not in a checkpoint yet is still on the chain, which drops old transactions. */
const BLOCKS_APART = 300n

/** Open the checkpoints at `file`, which need not exist. One that was written by another release of the indexer is passed over. */
export function openCheckpoints(file: string): Checkpoints {
  const writer = writerHash()
  let latest = read(file, writer)
  return {
    latest: () => latest,
    keep: (checkpoint) => {
      if (
        latest !== null &&
        latest.number <= checkpoint.number &&
        checkpoint.number - latest.number < BLOCKS_APART
      )
        return
      try {
        writePrivateFile(file, serialize({ writer, checkpoint }))
        latest = checkpoint
      } catch {
        // The next block tries again: hundreds pass before the chain drops what is not kept.
      }
    },
  }
}

function read(file: string, writer: string): Checkpoint | null {
  try {
    const kept: { readonly writer: string; readonly checkpoint: Checkpoint } = deserialize(readFileSync(file))
    return kept.writer === writer ? kept.checkpoint : null
  } catch {
    // Not there, or cut short: the chain is read instead, as far as it goes.
    return null
  }
}

/** Name the code that makes books of logs; 64 hex digits. */
function writerHash(): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(import.meta.dirname).toSorted())
    hash.update(readFileSync(join(import.meta.dirname, name)))
  return hash.digest('hex')
}
