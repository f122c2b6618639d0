import { RolekeeperError } from '../errors.ts'
import { createEndpoint, type Endpoint } from './endpoint.ts'
import { type JoinOptions, joinNodes } from './join-nodes.ts'
import type { Nodes } from './nodes.ts'

/** How to reach one chain. Addresses of nodes are secrets: they may hold a key. */
export type NodesOptions = Omit<JoinOptions, 'readers' | 'senders'> & {
  /** At least `agree`. The first is preferred among equals. */
  readonly read: readonly string[]
  /** At least one; a public node or a private endpoint. */
  readonly send: readonly string[]
  readonly timeoutMs: number
}

/**
 * Connect to the nodes of one chain. A node that cannot be reached now is asked again later; one on another chain, or
 * no reading or no sending node at all, stops the start.
 * Throws RolekeeperError `node.wrong_chain`, or what the first node failed with.
 */
export async function createNodes({ read, send, timeoutMs, ...options }: NodesOptions): Promise<Nodes> {
  const { chainId } = options
  const connect = (kind: string, urls: readonly string[]) =>
    urls.map((url, index) => createEndpoint({ name: `${kind}-${index + 1}`, url, chainId, timeoutMs }))
  const readers = connect('read', read)
  const senders = connect('send', send)
  await Promise.all([proveChain(readers), proveChain(senders)])
  return joinNodes({ ...options, readers, senders })
}

/** Demand that no node is on another chain and that one answers. */
async function proveChain(nodes: readonly Endpoint[]): Promise<void> {
  const failures = (await Promise.allSettled(nodes.map((node) => node.checkChain()))).flatMap((item) =>
    item.status === 'rejected' ? [item.reason] : [],
  )
  const wrong = failures.find(
    (error) => error instanceof RolekeeperError && error.code === 'node.wrong_chain',
  )
  if (wrong !== undefined) throw wrong
  if (failures.length === nodes.length) throw failures[0]
}
