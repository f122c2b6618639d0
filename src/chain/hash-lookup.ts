import type { Hex } from 'viem'
import type { Head, Nodes } from './nodes.ts'

/** Hashes of blocks that are not followed, each asked for once. */
type HashLookup = {
  /** The hash at a height of the chain that a head is of; undefined while the nodes are asked, and where none was found yet. */
  readonly at: (number: bigint) => Hex | undefined
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
    at: (number) => {
      if (!known.has(number)) void ask(number, known)
      return known.get(number)
    },
    forget: () => {
      known = new Map()
    },
  }
}
