import { systemClock } from '../clock.ts'
import type { RolekeeperError } from '../errors.ts'
import { createEndpoint, quantity, refused } from './endpoint.ts'
import { headerAt, newestHeader } from './node-reads.ts'
import type { Head } from './nodes.ts'

/** What one node shows of itself when it is asked alone. */
export type ProbedNode = {
  readonly head: Head
  /** The newest block that it calls final; null where it knows no such tag. */
  readonly finalized: Head | null
  /** The header at a height that was asked for; null where it is not there. */
  readonly at: (number: bigint) => Promise<Head | null>
  /** What it throws at a bundle that does nothing; null where it runs it. Source: execution-apis, eth_simulateV1. */
  readonly simulates: RolekeeperError | null
  readonly close: () => Promise<void>
}

/** Ask one node for what a keeper needs of it. Throws `node.*` where it cannot be used at all. */
export async function probeNode(node: {
  readonly name: string
  readonly url: string
  readonly chainId: number
  readonly timeoutMs: number
  /** A sending node needs no more than to be there. */
  readonly reads: boolean
}): Promise<ProbedNode> {
  const endpoint = createEndpoint({ ...node, clock: systemClock })
  const { name, reads } = node
  try {
    await endpoint.checkChain()
    const head = await newestHeader(endpoint)
    const finalized = reads ? await headerAt(endpoint, 'finalized').catch(() => null) : null
    const answer = reads
      ? await endpoint.read('eth_simulateV1', [
          { blockStateCalls: [{ calls: [] }], validation: true },
          quantity(head.number),
        ])
      : null
    const simulates =
      answer === null || answer.ok ? null : refused(name, 'eth_simulateV1', answer.failure.code)
    return { head, finalized, at: (number) => headerAt(endpoint, number), simulates, close: endpoint.close }
  } catch (error) {
    await endpoint.close()
    throw error
  }
}
