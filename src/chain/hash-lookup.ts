import type { Hex } from 'viem'
import type { Nodes } from './nodes.ts'

/** Hashes of blocks that are not followed, each asked for once. */
type HashLookup = {
  /** The hash that the nodes agree on at a height; undefined while they are asked, and where none was found yet. */
  readonly at: (number: bigint) => Hex | undefined
  /** Forget them all: the chain left its blocks. */
  readonly forget: () => void
}

/** Create a lookup; what fails is asked for again by the next who wants it. */
export function createHashLookup({
  nodes,
  onFailed,
}: {
  readonly nodes: Pick<Nodes, 'block'>
  readonly onFailed: (error: unknown) => void
}): HashLookup {
  let known = new Map<bigint, Hex | undefined>()
  const ask = async (number: bigint, into: typeof known) => {
    into.set(number, undefined)
    try {
      const head = await nodes.block(number)
      if (head === null) into.delete(number)
      else into.set(number, head.hash)
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
