import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { Endpoint } from './endpoint.ts'
import type { Head } from './nodes.ts'
import type { Header } from './wire.ts'

/** What is known of the reading nodes' heads. */
type Heads = {
  /** Ask now, and return the head that is furthest ahead. Throws what a node failed with when none answers. */
  readonly newest: () => Promise<Header>
  /** The newest head without asking, while polling keeps it recent; else as `newest`. */
  readonly recent: () => Promise<Header>
  /** Reading nodes in the order to ask: those that answer, the furthest ahead first. */
  readonly order: () => readonly Endpoint[]
  readonly listen: (listener: (head: Head) => void) => () => void
  readonly close: () => Promise<void>
}

/** Keep track of heads, polling each node by itself while somebody listens, so that a slow one holds up nobody. */
export function watchHeads(options: {
  readonly nodes: readonly Endpoint[]
  readonly fetchHead: (node: Endpoint) => Promise<Header>
  readonly pollMs: number
  readonly clock: Clock
}): Heads {
  const { nodes, pollMs, clock } = options
  const { look, order, best } = createLooks(options)
  const listeners = new Set<(head: Head) => void>()
  let announced: Header | undefined
  let polling: { readonly stop: AbortController; readonly ended: Promise<unknown> } | undefined

  function announce(): void {
    const head = best()?.head
    if (head === undefined || head.hash === announced?.hash) return
    announced = head
    for (const listener of listeners) listener(head)
  }

  async function poll(node: Endpoint, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await look(node).then(announce, (error: unknown) => {
        // The endpoint counts as not alive now; the next caller that needs an answer gets the error.
        if (!(error instanceof RolekeeperError)) throw error
      })
      await clock.sleep(pollMs, signal).catch(() => undefined)
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
    // A dead node is asked too, so that it can come back, but waited for only when there is no other.
    const alive = nodes.filter((node) => node.alive())
    const looks = nodes.map((node) => ({ node, done: look(node) }))
    for (const { done } of looks) done.catch(() => undefined)
    const awaited = looks.filter(({ node }) => alive.length === 0 || alive.includes(node))
    const settled = await Promise.allSettled(awaited.map(({ done }) => done))
    const failure = settled.find((item) => item.status === 'rejected')
    const known = best()
    if (known === undefined || settled.every((item) => item.status === 'rejected')) throw failure?.reason
    return known.head
  }

  async function recent(): Promise<Header> {
    const known = best()
    const isRecent = polling !== undefined && known !== undefined && clock.nowMs() - known.atMs <= 2 * pollMs
    return isRecent ? known.head : newest()
  }

  return { newest, recent, order, listen, close }
}

/** A head as a node had it, and when it was read. */
type Look = { readonly head: Header; readonly atMs: number }

/** Keep the last head of each node, and say which node is best by it. */
function createLooks({ nodes, fetchHead, clock }: Parameters<typeof watchHeads>[0]) {
  const last = new Map<Endpoint, Look>()
  const order = () =>
    nodes.toSorted((a, b) => {
      if (a.alive() !== b.alive()) return a.alive() ? -1 : 1
      const ahead = (last.get(b)?.head.number ?? -1n) - (last.get(a)?.head.number ?? -1n)
      return ahead > 0n ? 1 : ahead < 0n ? -1 : 0
    })
  return {
    order,
    best: (): Look | undefined => {
      for (const node of order()) {
        const known = last.get(node)
        if (known !== undefined) return known
      }
      return undefined
    },
    look: async (node: Endpoint): Promise<void> => {
      const head = await fetchHead(node)
      last.set(node, { head, atMs: clock.nowMs() })
    },
  }
}
