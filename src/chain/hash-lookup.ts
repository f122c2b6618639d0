import type { Hex } from 'viem'
import type { Head, Nodes } from './nodes.ts'

/** Hashes of blocks that are not followed, each asked for once. */
type HashLookup = {
  /** Whether a block is in the chain that the head is of; null while the nodes are asked, and where none was found yet. */
  readonly isThere: (block: Pick<Head, 'number' | 'hash'>) => boolean | null
  /** Forget them all: the chain left its blocks. */
  readonly forget: () => void
}

/** Create a lookup; what fails is asked for again by the next who wants it. */
export function createHashLookup({
  nodes,
  head,
  onFailed,
}: {
  readonly nodes: Pick<Nodes, 'block'>
  readonly head: () => Head
  readonly onFailed: (error: unknown) => void
}): HashLookup {
  let known = new Map<bigint, Hex | undefined>()
  const ask = async (number: bigint, into: typeof known) => {
    into.set(number, undefined)
    const of = head()
    try {
      const block = await nodes.block(number)
      // Of which fork it is shows only in that the head stands after it was asked for.
      const top = block === null ? null : await nodes.block(of.number)
      if (block === null || top?.hash !== of.hash) into.delete(number)
      else into.set(number, block.hash)
    } catch (error) {
      into.delete(number)
      onFailed(error)
    }
  }
  return {
    isThere: ({ number, hash }) => {
      if (!known.has(number)) void ask(number, known)
      const found = known.get(number)
      if (found === undefined) return null
      // Servers behind one name may show another fork for a moment: what is gone is gone when it is asked for again.
      if (found !== hash) known.delete(number)
      return found === hash
    },
    forget: () => {
      known = new Map()
    },
  }
}
