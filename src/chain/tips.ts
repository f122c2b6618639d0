import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { fingerprint, reachedBy } from './agreement.ts'
import type { Endpoint } from './endpoint.ts'
import type { Header } from './wire.ts'

/** What the reading nodes show as their newest blocks. */
export type Tips = {
  /** Ask a node for its newest block. Returns whether it shows another one than before. */
  readonly look: (node: Endpoint) => Promise<boolean>
  /** The height that enough of the nodes that answer have reached; undefined while too few do. */
  readonly height: () => bigint | undefined
  /**
   * Find the newest block that enough nodes have, asking those ahead only for what they have not shown; undefined while
   * too few answer. Throws `node.disagreement` when they share none.
   */
  readonly agreed: () => Promise<Header | undefined>
  readonly tip: (node: Endpoint) => Header | undefined
  /** What a node showed at a height, as far as its tip is known to stand on it. */
  readonly at: (node: Endpoint, height: bigint) => Header | undefined
}

/** What looking at tips needs. */
export type TipsDeps = {
  readonly nodes: readonly Endpoint[]
  readonly agree: number
  readonly fetchNewest: (node: Endpoint) => Promise<Header>
  readonly fetchAt: (node: Endpoint, height: bigint) => Promise<Header | null>
  readonly clock: Pick<Clock, 'sleep'>
  /** How long a node that is ahead may keep a lower block waiting which enough others have shown, milliseconds. */
  readonly patienceMs: number
}

/** How far below the tips a common block is looked for, in blocks. */
const DEPTHS = [0n, 1n, 2n, 3n, 4n, 6n, 8n, 12n, 16n, 24n, 32n, 48n, 64n]

/** Keep what each reading node shows. A node that does not answer counts no more until it does. */
export function createTips(deps: TipsDeps): Tips {
  const { nodes, agree, fetchNewest } = deps
  const { show, tip, at } = createBranches()
  const answering = new Set<Endpoint>()
  const begun = new Map<Endpoint, number>()
  const taken = new Map<Endpoint, number>()

  async function look(node: Endpoint): Promise<boolean> {
    const turn = (begun.get(node) ?? 0) + 1
    begun.set(node, turn)
    try {
      const header = await fetchNewest(node)
      // Of two looks under way the later one is newer, whichever is answered first.
      if (turn < (taken.get(node) ?? 0)) return false
      taken.set(node, turn)
      answering.add(node)
      return show(node, header)
    } catch (error) {
      answering.delete(node)
      throw error
    }
  }

  const height = () => {
    const heights = nodes.flatMap((node) => (answering.has(node) ? (tip(node)?.number ?? []) : []))
    return heights.length < agree ? undefined : reachedBy(heights, agree)
  }

  async function agreed(): Promise<Header | undefined> {
    const top = height()
    if (top === undefined) return undefined
    const targets = DEPTHS.map((depth) => top - depth).filter((each) => each >= 0n)
    const reaching = (target: bigint) =>
      nodes.filter((node) => answering.has(node) && (tip(node)?.number ?? -1n) >= target)
    const shownAt = (target: bigint) => reaching(target).flatMap((node) => at(node, target) ?? [])
    const known = targets.find((target) => shared(shownAt(target), agree) !== undefined)
    for (const target of targets) {
      if (target === known) return shared(shownAt(target), agree)
      const lacking = reaching(target).filter((node) => at(node, target) === undefined)
      const found = await askAt(target, lacking, shownAt(target), known !== undefined, deps)
      if (found !== undefined) return found
    }
    throw noCommonBlock(top, agree)
  }

  return { look, height, agreed, tip, at }
}

/** How many blocks of a node's branch are remembered. */
const BRANCH_LENGTH_MAX = 64

/** Remember each node's branch by the heads that it shows, newest first and linked without a gap. */
function createBranches() {
  const branches = new Map<Endpoint, readonly Header[]>()
  const of = (node: Endpoint) => branches.get(node) ?? []
  return {
    /** Keep the newest header that a node showed. Returns whether its tip is another one now. */
    show: (node: Endpoint, header: Header): boolean => {
      const known = of(node)
      if (known[0]?.hash === header.hash) return false
      const same = known.findIndex(({ hash }) => hash === header.hash)
      const parent = known.findIndex(({ hash }) => hash === header.parentHash)
      const grown = [header, ...(parent < 0 ? [] : known.slice(parent, parent + BRANCH_LENGTH_MAX - 1))]
      branches.set(node, same < 0 ? grown : known.slice(same))
      return true
    },
    tip: (node: Endpoint) => of(node)[0],
    at: (node: Endpoint, height: bigint): Header | undefined => {
      const known = of(node)
      const tip = known[0]
      return tip === undefined || height > tip.number ? undefined : known[Number(tip.number - height)]
    },
  }
}

/**
 * Ask nodes for their block at a height until enough nodes have the same there, or all have answered; where a lower block
 * is known to be shared, no longer than patience lasts: a node that claims to be ahead and is silent holds up no head.
 */
async function askAt(
  height: bigint,
  lacking: readonly Endpoint[],
  shown: readonly Header[],
  isLowerKnown: boolean,
  { fetchAt, agree, clock, patienceMs }: TipsDeps,
): Promise<Header | undefined> {
  if (shown.length + lacking.length < agree) return undefined
  const headers = [...shown]
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  const asked = lacking.map(async (node) => {
    const header = await fetchAt(node, height).catch(() => null)
    if (header !== null) headers.push(header)
    if (shared(headers, agree) !== undefined) resolve()
  })
  const over = new AbortController()
  const late = isLowerKnown ? [clock.sleep(patienceMs, over.signal).catch(() => undefined)] : []
  await Promise.race([enough, Promise.all(asked), ...late])
  over.abort()
  return shared(headers, agree)
}

/** The header that at least `agree` of these equal. Pure. */
const shared = (headers: readonly Header[], agree: number): Header | undefined => {
  const texts = headers.map(fingerprint)
  return headers.find((_, index) => texts.filter((text) => text === texts[index]).length >= agree)
}

const noCommonBlock = (height: bigint, agree: number) =>
  new RolekeeperError(
    'node.disagreement',
    `No ${agree} reading nodes have a block in common from ${height} down to ${DEPTHS.at(-1)} blocks below.`,
    {
      fix: 'compare the nodes with one that you trust, and remove from `chain.nodes.read` the one on another fork.',
      facts: { method: 'eth_getBlockByNumber', block: String(height), agree },
      retry: 'later',
    },
  )
