import type { Nodes } from './chain/nodes.ts'
import { RolekeeperError } from './errors.ts'
import { pinsOf } from './guard/pins.ts'
import type { Deployment } from './guard/ruleset.ts'
import type { Log } from './ops/log.ts'
import type { ServiceClient } from './service/client.ts'
import type { RolePolicy } from './staff.ts'
import type { Workflow } from './workflow/workflow.ts'

/**
 * Prove at start that every pinned contract has the code that its pin says: nothing beside other code would be signed
 * anyway. Throws RolekeeperError `deployment.code_changed`, and `node.*` when no node answers.
 */
export async function provePins(nodes: Pick<Nodes, 'codeHashes'>, deployment: Deployment): Promise<void> {
  const pins = pinsOf(deployment)
  const hashes = await nodes.codeHashes(pins.map(({ address }) => address))
  const index = pins.findIndex(({ codeHash }, at) => hashes[at] !== codeHash)
  const pin = pins[index]
  if (pin === undefined) return
  const found = hashes[index] ?? 'nothing'
  throw new RolekeeperError(
    'deployment.code_changed',
    `The code at ${pin.address} hashes to ${found}; ${pin.codeHash} is pinned.`,
    { fix: 'find out what was deployed there before you pin it.', facts: { address: pin.address, found } },
  )
}

/**
 * Prove at start that the service serves our chain, and that the keeper's own key opens its events. One that is down is
 * waited for, because what is in flight needs us. Throws RolekeeperError `service.other_chain`, and `service.*` where
 * asking again cannot help. Source: GET /v1/deployments, GET /v1/events.
 */
export async function proveService(
  client: Pick<ServiceClient, 'base' | 'listDeployments' | 'pages'>,
  chainId: number,
  log: Log,
): Promise<void> {
  try {
    const { items } = await client.listDeployments()
    if (!items.some((deployment) => deployment.chainId === chainId)) {
      const chains = [...new Set(items.map((deployment) => deployment.chainId))].join(', ') || 'none'
      throw new RolekeeperError(
        'service.other_chain',
        `The service at ${client.base.host} serves chain ${chains}; the configuration says ${chainId}.`,
        { fix: 'correct `chain.id` or `service.url`.', facts: { chains, chainId } },
      )
    }
    // The stream's token takes the same scope.
    await client.pages.pollEvents().next()
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.retry === 'never') throw error
    log.warn('the service does not answer yet', {}, error)
  }
}

/**
 * Prove at start that no role in shadow has workflows that were begun live: a shadow could not carry them, and they would
 * stand still with their nonces open. Throws RolekeeperError `role.left_live`.
 */
export function proveNoneLeftLive(
  live: readonly Workflow[],
  policies: readonly Pick<RolePolicy, 'agent'>[],
): void {
  const shadows = policies.filter(({ agent }) => agent.mode === 'shadow').map(({ agent }) => agent.role)
  const left = live.filter(({ role, shadow }) => shadow !== true && shadows.includes(role))
  if (left.length === 0) return
  throw new RolekeeperError(
    'role.left_live',
    `The ${left[0]?.role} is in shadow, and ${left.length} of its workflows were begun live and have not ended.`,
    { fix: 'run it live until they have; `rolekeeper pause` keeps it from beginning others.' },
  )
}
