import { createPublicClient, http } from 'viem'
import { agents } from '../../../agents/index.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { SCENARIOS } from '../../../sandbox/story/scenarios.ts'
import { invariant } from '../../../src/errors.ts'
import { type NodeFault, type NodeProxy, startNodeProxy } from '../../support/node-proxy.ts'
import { createRoleSession } from '../../support/role-session.ts'

/** What each role ended well while its node was limited so, and how many blocks that took. */
export type Limited = {
  readonly limit: string
  readonly blocks: number
  readonly succeeded: Readonly<Record<string, number>>
}

/** In this seed's first minute each role has its occasion. */
const SEED = 459
const BLOCKS_MAX = 300n

const ROLES = agents.flatMap(({ role, byHand }) => (byHand === true ? [] : [role]))

/** Staff every role on a node that is limited so, and wait until each has ended a workflow well, or has had its time. */
export async function runLimited(limit: string, faults: readonly NodeFault[]): Promise<Limited> {
  let proxy: NodeProxy | undefined
  const session = await createRoleSession(SCENARIOS.busy, SEED, {
    node: async (url) => {
      proxy = await startNodeProxy(url)
      return proxy.url
    },
  })
  try {
    invariant(proxy !== undefined, 'the session asks for its way to the node')
    proxy.setFaults(...faults)
    const client = createPublicClient({ transport: http(session.sandbox.info.rpcUrl, TO_CHAIN) })
    const first = await client.getBlockNumber()
    const { until } = await session.begin('live')
    const succeeded = Object.fromEntries(ROLES.map((role) => [role, 0]))
    const over = Promise.withResolvers<unknown>()
    const unwatch = client.watchBlockNumber({
      onBlockNumber: (number) => number > first + BLOCKS_MAX && over.resolve(null),
    })
    const all = until((event) => {
      if (event.type === 'workflow' && event.state === 'succeeded')
        succeeded[event.role] = (succeeded[event.role] ?? 0) + 1
      return ROLES.every((role) => (succeeded[role] ?? 0) > 0)
    })
    await Promise.race([all, over.promise])
    unwatch()
    return { limit, blocks: Number((await client.getBlockNumber()) - first), succeeded: { ...succeeded } }
  } finally {
    await session.stop()
    await proxy?.stop()
  }
}

/** Whether each role ended something well. */
export const isWorking = ({ succeeded }: Limited): boolean =>
  ROLES.every((role) => (succeeded[role] ?? 0) > 0)

/** A row for each limit; Markdown. */
export const limitedTable = (all: readonly Limited[]): string =>
  [
    `| all nodes: | ${ROLES.join(' | ')} | blocks |`,
    `|${'---|'.repeat(ROLES.length + 2)}`,
    ...all.map(
      ({ limit, succeeded, blocks }) =>
        `| ${limit} | ${ROLES.map((role) => succeeded[role] ?? 0).join(' | ')} | ${blocks} |`,
    ),
  ].join('\n')
