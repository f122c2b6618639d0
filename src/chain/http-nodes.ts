import { RolekeeperError } from '../errors.ts'
import { createEndpoint, type Endpoint } from './endpoint.ts'
import { type JoinOptions, joinNodes } from './join-nodes.ts'
import type { NodeAddress } from './json-rpc.ts'
import type { Nodes } from './nodes.ts'

/** How to reach one chain. Addresses of nodes are secrets: they may hold a key. */
export type NodesOptions = Omit<JoinOptions, 'readers' | 'senders'> & {
  /** At least `agree`. The first is preferred among equals. */
  readonly read: readonly NodeAddress[]
  /** At least one; a public node or a private endpoint. */
  readonly send: readonly NodeAddress[]
  readonly timeoutMs: number
  /** Called when a node refuses who asks; which of `read` or `send` it is. */
  readonly onDenied?: ((kind: 'read' | 'send', index: number) => void) | undefined
  /** Leave a node on another chain out and say so, where enough others are not; without it such a node stops the start. */
  readonly onWrongChain?: ((error: RolekeeperError) => void) | undefined
}

/**
 * Connect to the nodes of one chain. A node that names no chain now is asked again later; one on another chain, or no
 * reading or no sending node at all, stops the start.
 * Throws RolekeeperError `node.wrong_chain`, or what the first node failed with.
 */
export async function createNodes(given: NodesOptions): Promise<Nodes> {
  const { read, send, timeoutMs, onWrongChain, onDenied, ...options } = given
  const { chainId, agree, clock } = options
  const connect = (kind: 'read' | 'send', urls: readonly NodeAddress[]) =>
    urls.map((url, index) =>
      createEndpoint({
        name: `${kind}-${index + 1}`,
        url,
        chainId,
        timeoutMs,
        clock,
        onDenied: () => onDenied?.(kind, index),
      }),
    )
  const readers = connect('read', read)
  const senders = connect('send', send)
  await Promise.all([proveChain(readers, agree, onWrongChain), proveChain(senders, 1, onWrongChain)])
  return joinNodes({ ...options, readers, senders })
}

/** Demand that one node answers, and that none is on another chain, or `least` are not where such a one is left out. */
async function proveChain(
  nodes: readonly Endpoint[],
  least: number,
  onWrongChain: NodesOptions['onWrongChain'],
): Promise<void> {
  const failures = (await Promise.allSettled(nodes.map((node) => node.checkChain()))).flatMap((item) =>
    item.status === 'rejected' ? [item.reason] : [],
  )
  const wrong = failures.filter(
    (error) => error instanceof RolekeeperError && error.code === 'node.wrong_chain',
  )
  const [first] = wrong
  if (first !== undefined && (onWrongChain === undefined || nodes.length - wrong.length < least)) throw first
  if (failures.length === nodes.length) throw failures[0]
  for (const error of wrong) onWrongChain?.(error)
}
