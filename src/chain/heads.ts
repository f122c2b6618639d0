import type { Hex } from 'viem'
import { type Clock, endsWithin } from '../clock.ts'
import { invariant, RolekeeperError } from '../errors.ts'
import { quorumMissing } from './agreement.ts'
import type { Endpoint } from './endpoint.ts'
import type { Head } from './nodes.ts'
import type { Tips } from './tips.ts'
import type { Header } from './wire.ts'

/** The agreed head. */
export type Heads = {
  /** Ask now, and return the newest block that enough nodes have. Throws `node.*`. */
  readonly newest: () => Promise<Header>
  /** The agreed head without asking, while polling keeps it recent; else as `newest`. */
  readonly recent: () => Promise<Header>
  /** The last agreed head; undefined before the first. */
  readonly known: () => Header | undefined
  /** One of the last agreed heads, by its hash. */
  readonly agreed: (hash: Hex) => Header | undefined
  readonly listen: (listener: (head: Head) => void) => () => void
  readonly close: () => Promise<void>
}

/** What watching heads needs. */
export type HeadsDeps = {
  readonly nodes: readonly Endpoint[]
  readonly agree: number
  readonly tips: Tips
  readonly pollMs: number
  /** How long one node may keep an agreed head waiting, milliseconds. */
  readonly hedgeMs: number
  readonly clock: Clock
  /** No block is shared by enough nodes. */
  readonly onDisagreed: (error: RolekeeperError) => void
}

/** A node at most so far behind is asked again sooner. */
const CATCHING_UP_BLOCKS = 2n

/** Agreed heads that are remembered: who read one a moment ago may still ask about it. */
const HEADS_KEPT = 8

/**
 * Keep track of the agreed head, polling each node by itself while somebody listens, so that a slow one holds up nobody.
 * Once one node shows a new block the others are asked at once.
 */
export function watchHeads(deps: HeadsDeps): Heads {
  const { nodes, tips, pollMs, clock, onDisagreed } = deps
  /** A look that fails is the endpoint's to report; the next caller that needs an answer gets an error. */
  const failedLook = (error: unknown): void => {
    if (!(error instanceof RolekeeperError)) throw error
    if (error.code === 'node.disagreement') onDisagreed(error)
  }
  const listeners = new Set<(head: Head) => void>()
  const { settle, known, agreed } = createSettling(deps, (head) => {
    for (const listener of listeners) listener(head)
  })
  let polling: { readonly stop: AbortController; readonly ended: Promise<unknown> } | undefined

  async function poll(node: Endpoint, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isNew = await tips.look(node).catch(failedLook)
      if (isNew)
        for (const other of nodes) if (other !== node) tips.look(other).then(settle).catch(failedLook)
      await settle().catch(failedLook)
      await clock.sleep(isCatchingUp(node, deps) ? pollMs / 4 : pollMs, signal).catch(() => undefined)
    }
  }

  function listen(listener: (head: Head) => void): () => void {
    listeners.add(listener)
    if (polling === undefined) {
      const stop = new AbortController()
      polling = { stop, ended: Promise.all(nodes.map((node) => poll(node, stop.signal))) }
    }
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) void close()
    }
  }

  async function close(): Promise<void> {
    listeners.clear()
    const ending = polling
    polling = undefined
    ending?.stop.abort()
    await ending?.ended
  }

  async function newest(): Promise<Header> {
    await lookAtAll(deps, known()?.head.number)
    await settle()
    const settled = known()
    invariant(settled !== undefined, 'nodes that were looked at have a head')
    return settled.head
  }

  async function recent(): Promise<Header> {
    const last = polling === undefined ? undefined : known()
    return last !== undefined && clock.monotonicMs() - last.atMs <= 2 * pollMs ? last.head : newest()
  }

  return { newest, recent, known: () => known()?.head, agreed, listen, close }
}

/** Keep the agreed head of what the nodes show, and announce each that is news. */
function createSettling({ nodes, tips, clock }: HeadsDeps, announce: (head: Header) => void) {
  let known: { readonly head: Header; readonly atMs: number } | undefined
  let announced: Header | undefined
  const lately: Header[] = []
  let begun = 0
  let taken = 0

  /** Whether a node that has the upper block has the lower one below it. */
  const isPartOf = (upper: Header, lower: Header) =>
    lower.number <= upper.number &&
    nodes.some(
      (node) =>
        tips.at(node, upper.number)?.hash === upper.hash && tips.at(node, lower.number)?.hash === lower.hash,
    )

  async function settle(): Promise<void> {
    begun += 1
    const turn = begun
    const head = await tips.agreed()
    if (head === undefined || turn < taken) return
    taken = turn
    known = { head, atMs: clock.monotonicMs() }
    // An ancestor of what was announced is no news: a node that had more is away.
    if (announced !== undefined && isPartOf(announced, head)) return
    announced = head
    lately.push(head)
    if (lately.length > HEADS_KEPT) lately.shift()
    announce(head)
  }

  return { settle, known: () => known, agreed: (hash: Hex) => lately.find((head) => head.hash === hash) }
}

/** Whether a node is a block or two behind the furthest one: it is about to show what that one has. */
function isCatchingUp(node: Endpoint, { nodes, tips }: HeadsDeps): boolean {
  const own = tips.tip(node)?.number
  if (own === undefined) return false
  const ahead = nodes.map((each) => (tips.tip(each)?.number ?? own) - own)
  return ahead.some((blocks) => blocks > 0n) && ahead.every((blocks) => blocks <= CATCHING_UP_BLOCKS)
}

/**
 * Look at every node, and wait until as many have answered as must agree, with nothing lower than what is known; a node
 * that takes long is waited for only where there are too few others. Throws when too few answer.
 */
async function lookAtAll(
  { nodes, agree, tips, hedgeMs, clock }: HeadsDeps,
  knownHeight: bigint | undefined,
): Promise<void> {
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  const failures: RolekeeperError[] = []
  let answered = 0
  const looks = nodes.map(async (node) => {
    try {
      await tips.look(node)
    } catch (error) {
      if (!(error instanceof RolekeeperError)) throw error
      failures.push(error)
      return
    }
    answered += 1
    const height = tips.height()
    if (answered >= agree && knownHeight !== undefined && height !== undefined && height >= knownHeight)
      resolve()
  })
  // A dead node is asked too, so that it can come back.
  const lively = looks.filter((_, index) => nodes[index]?.alive())
  const wanted = Promise.all(lively.length < agree ? looks : lively)
  await endsWithin(Promise.race([enough, wanted]), hedgeMs, clock)
  if (answered < agree) await Promise.all(looks)
  if (answered >= agree) return
  throw quorumMissing({ method: 'eth_getBlockByNumber', block: 'latest', agree, answered }, failures)
}
