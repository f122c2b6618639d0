import type { Endpoint } from './endpoint.ts'
import type { Header } from './wire.ts'

/** How many blocks of a node's branch are remembered. */
const LENGTH_MAX = 64

/** The end of the chain as each reading node showed it. */
export type Branches = {
  /** Keep the newest header that a node showed. Returns whether its tip is another one now. */
  readonly show: (node: Endpoint, header: Header) => boolean
  readonly tip: (node: Endpoint) => Header | undefined
  /** What a node showed at a height, as far as its tip is known to stand on it. */
  readonly at: (node: Endpoint, height: bigint) => Header | undefined
}

/** Remember each node's branch by the heads that it shows, newest first and linked without a gap. */
export function createBranches(): Branches {
  const branches = new Map<Endpoint, readonly Header[]>()
  const of = (node: Endpoint) => branches.get(node) ?? []
  return {
    show: (node, header) => {
      const known = of(node)
      if (known[0]?.hash === header.hash) return false
      const same = known.findIndex(({ hash }) => hash === header.hash)
      const parent = known.findIndex(({ hash }) => hash === header.parentHash)
      const grown = [header, ...(parent < 0 ? [] : known.slice(parent, parent + LENGTH_MAX - 1))]
      branches.set(node, same < 0 ? grown : known.slice(same))
      return true
    },
    tip: (node) => of(node)[0],
    at: (node, height) => {
      const known = of(node)
      const tip = known[0]
      return tip === undefined || height > tip.number ? undefined : known[Number(tip.number - height)]
    },
  }
}
