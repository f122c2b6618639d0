import type { Hex } from 'viem'
import type { Head } from './nodes.ts'
import { isOther, type RecentBlocks } from './recent-blocks.ts'

/** A block by height and hash. */
export type BlockName = Pick<Head, 'number' | 'hash'>

/** What had been final and is not: the chain left it. */
export type ForkPastFinality = {
  /** The last block that we called final. */
  readonly was: BlockName
  /** The lowest height at which another block is known now. */
  readonly fromBlock: bigint
  /** The lowest height from which on what was final is in doubt: also by forks before this one, until they are forgotten. */
  readonly doubtedFrom: bigint
}

/** What knowing what is final needs and reports. */
export type FinalityDeps = {
  /** The last block that was called final before this start, or null. */
  readonly lastFinal: BlockName | null
  /** From which height on a fork before this start left what is final in doubt, or null. */
  readonly doubtedFrom: bigint | null
  readonly onFinal: (block: BlockName) => Promise<void>
  readonly onForkPastFinality: (fork: ForkPastFinality) => Promise<void>
}

const NO_HASH: Hex = `0x${'00'.repeat(32)}`
/** Before anything is known. */
export const NO_HEAD: Head = {
  number: -1n,
  hash: NO_HASH,
  parentHash: NO_HASH,
  timestampS: 0,
  baseFeePerGasWei: 0n,
}

/** What is final, and where it broke. */
type Finality = {
  /** The last block that was taken for final; `NO_HEAD` where there is none. */
  readonly last: () => BlockName
  /** The height at and below which nothing changes any more. */
  readonly height: () => bigint
  /** The lowest height at which the chain left blocks that had been final; null when it never did, or that is forgotten. */
  readonly doubtedFrom: () => bigint | null
  /** Forget where it broke. */
  readonly forget: () => void
  /** Take note that the chain left what was final: at `fork`, and from `lowest` on perhaps. */
  readonly broke: (fork: bigint, lowest: bigint) => void
  /**
   * Report what broke, and take what the nodes call final now beside a ring's head; whether anything more is final. What
   * cannot be kept is not final yet: throws what `onFinal` and `onForkPastFinality` throw, and the next head tries it again.
   */
  readonly settle: (agreed: Head, ring: RecentBlocks) => Promise<boolean>
}

/** Create the memory of what is final. */
export function createFinality(deps: FinalityDeps): Finality {
  let final: BlockName = deps.lastFinal ?? NO_HEAD
  let doubtedFrom = deps.doubtedFrom
  /** What is to be reported before anything else is final: who hears of it asks nodes, and may fail. */
  let unreported: Omit<ForkPastFinality, 'doubtedFrom'> | null = null

  return {
    last: () => final,
    height: () => (unreported === null ? final.number : (doubtedFrom ?? unreported.fromBlock) - 1n),
    doubtedFrom: () => doubtedFrom,
    forget: () => {
      doubtedFrom = null
    },
    broke: (fork, lowest) => {
      if (doubtedFrom === null || lowest < doubtedFrom) doubtedFrom = lowest
      if (unreported === null || fork < unreported.fromBlock)
        unreported = { was: unreported?.was ?? final, fromBlock: fork }
    },
    settle: async (agreed, ring) => {
      // Where the head that was read and the block that is final are not of one chain, the next head decides.
      const isOfHead = agreed.number <= ring.head().number && !isOther(ring.at(agreed.number), agreed.hash)
      let next: BlockName = agreed
      if (unreported !== null) {
        await deps.onForkPastFinality({ ...unreported, doubtedFrom: doubtedFrom ?? unreported.fromBlock })
        // Until then nothing above the fork is final; nothing at all where the block below it is not known.
        if (!isOfHead) next = ring.at(unreported.fromBlock - 1n) ?? NO_HEAD
      } else if (!isOfHead || agreed.number <= final.number) return false
      if (next !== NO_HEAD) await deps.onFinal(next)
      unreported = null
      final = next
      return final !== NO_HEAD
    },
  }
}
