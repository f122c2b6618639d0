import type { Clock } from '../../../clock.ts'
import type { AgentConfig, RunConfig } from '../../../config/config.ts'
import { RolekeeperError } from '../../../errors.ts'
import { createLog } from '../../../ops/log.ts'
import { askWhetherThere } from '../../../service/answering.ts'
import type { ServiceClient } from '../../../service/client.ts'
import type { MarketResource } from '../../../service/contract/resources.ts'
import { positionOf } from '../../policy/role-policy.ts'
import { clientOf, proveAccess } from '../../startup/access.ts'
import { ANSWER_MS_MAX } from '../../startup/service.ts'
import { type Finding, failed, failedBy, passed, warned } from '../finding.ts'
import { judgeTokens } from './deployment.ts'

const SILENT = createLog({ level: 'silent', secrets: [] })

/** Ask the service for its time: by how much it is ahead of ours, milliseconds; null where it does not say. */
export async function serviceAheadMs(
  { service }: { readonly service: Pick<RunConfig['service'], 'url'> },
  { nowMs }: Pick<Clock, 'nowMs'>,
): Promise<number | null> {
  const answering = await askWhetherThere(service.url, ANSWER_MS_MAX, nowMs)
  return answering?.time === undefined ? null : answering.time.saidMs - answering.time.oursMs
}

/** Look at the service: there, of our chain and namespace, with our markets as the file has them. */
export async function examineService(config: RunConfig, client: ServiceClient): Promise<readonly Finding[]> {
  const { chain, deployment, service } = config
  const signal = AbortSignal.timeout(ANSWER_MS_MAX)
  const about = client.base.host
  try {
    const { items } = await client.listDeployments({ signal })
    const ours = items.filter(({ chainId }) => chainId === chain.id)
    if (ours.length === 0) {
      const chains = [...new Set(items.map(({ chainId }) => chainId))].join(', ') || 'none'
      const message = `The service at ${about} serves chain ${chains}; chain.id is ${chain.id}.`
      return [
        failed('service', about, {
          code: 'service.other_chain',
          message,
          fix: 'correct `chain.id` or `service.url`.',
        }),
      ]
    }
    const namespaces = ours.flatMap(({ deploymentNamespace }) => deploymentNamespace ?? [])
    const [markets, assets] = await Promise.all([
      client.listMarkets({ signal }),
      client.listAssets({ signal }),
    ])
    return [
      namespaces.length === 0 || namespaces.includes(deployment.namespace)
        ? passed('service', about, `it answers for chain ${chain.id}.`)
        : failed('service', about, {
            code: 'service.other_namespace',
            message: `deployment.namespace is ${deployment.namespace}, and the service at ${about} has ${namespaces.join(', ')} on chain ${chain.id}.`,
            fix: `write namespace: ${namespaces[0]}, or correct service.url.`,
          }),
      ...judgeMarkets(markets.items, config),
      ...judgeTokens(assets.items, deployment),
    ]
  } catch (error) {
    const fix = `check that the service is up and that service.url, ${service.url}, is right.`
    return [failedBy('service', about, error, isDown(error) ? fix : undefined)]
  }
}

const isDown = (error: unknown) => error instanceof RolekeeperError && error.code === 'service.unreachable'

/** Judge the markets of a file against the service's. */
function judgeMarkets(rows: readonly MarketResource[], { deployment, chain }: RunConfig): readonly Finding[] {
  return deployment.markets.map(({ name, address, ...pinned }, index) => {
    const about = name ?? address
    const row = rows.find((each) => each.address.toLowerCase() === address && each.chainId === chain.id)
    if (row === undefined) {
      const message = `The service knows no market ${address}, which is deployment.markets[${index}].`
      const fix = 'correct its address, or remove it: nothing is ever prepared for it.'
      return warned('market', about, { code: 'market.unknown', message, fix })
    }
    const theirs = {
      loanAsset: row.loanAssetAddress,
      collateralAsset: row.collateralAssetAddress,
      oracle: row.oracleAddress,
    }
    const wrong = (['loanAsset', 'collateralAsset', 'oracle'] as const).find(
      (each) => (theirs[each]?.toLowerCase() ?? pinned[each]) !== pinned[each],
    )
    if (wrong === undefined) return passed('market', about, 'tokens and oracle are the service’s.')
    const real = theirs[wrong]?.toLowerCase()
    const message = `deployment.markets[${index}].${wrong} is ${pinned[wrong]}, and the service says ${real}.`
    const swapped = real === pinned.loanAsset || real === pinned.collateralAsset ? ' They look swapped.' : ''
    const fix = `write \`${wrong}: "${real}"\` there.`
    return failed('market', about, { code: 'market.differs', message: `${message}${swapped}`, fix })
  })
}

/** What no workflow has: asked for it, a key shows what it may do, and nothing changes. */
const NO_REQUEST = 'rolekeeper-doctor'

/** Look what each key may do: what its role reads, carrying a workflow, and the keeper's own events. */
export async function examineScopes(config: RunConfig, client: ServiceClient): Promise<readonly Finding[]> {
  const own = scopeFinding('service.secretKey', () => client.pages.pollEvents().next())
  return Promise.all([own, ...config.agents.map((agent) => agentScopes(agent, config, client))])
}

async function agentScopes(agent: AgentConfig, config: RunConfig, shared: ServiceClient): Promise<Finding> {
  const client = clientOf(shared, config, agent)
  const { does } = positionOf(agent)
  return scopeFinding(agent.role, async () => {
    await proveAccess(client, does, SILENT)
    if (does.workflowTypes.length === 0) return
    const params = { requestId: NO_REQUEST }
    await unlessUnknown(client.getWorkflow({ params }))
    if (agent.mode === 'live')
      await unlessUnknown(client.registerTransaction({ params, idempotencyKey: NO_REQUEST, bodyText: '{}' }))
  })
}

/** That there is no such workflow, or that it is asked for wrongly, is said to who may ask. */
async function unlessUnknown(call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (
      error instanceof RolekeeperError &&
      ['service.unauthorized', 'service.forbidden'].includes(error.code)
    )
      throw error
  }
}

async function scopeFinding(about: string, work: () => Promise<unknown>): Promise<Finding> {
  try {
    await work()
    return passed('scopes', about, 'its key opens what it uses.')
  } catch (error) {
    // One that is down says so by itself.
    if (error instanceof RolekeeperError && error.retry !== 'never') {
      const fix = 'see what is said of the service.'
      return warned('scopes', about, { code: error.code, message: `Not known: ${error.shortMessage}`, fix })
    }
    return failedBy('scopes', about, error)
  }
}
