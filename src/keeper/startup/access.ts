import type { Agent } from '../../../agents/agent.ts'
import type { WatchedCollection } from '../../../agents/rows.ts'
import type { AgentConfig, RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Log } from '../../ops/log.ts'
import type { ServiceClient } from '../../service/client.ts'
import {
  type CollectionId,
  type Credentials,
  OPERATIONS,
  type OperationId,
} from '../../service/contract/operations.ts'

/** The operation that reads each collection an agent can watch. */
const READS = {
  markets: 'listMarkets',
  'credit-facilities': 'listCreditFacilities',
  positions: 'listPositions',
  'liquidation-recovery': 'listLiquidationRecovery',
  eligibility: 'listEligibility',
  assets: 'listAssets',
  vaults: 'listVaults',
  'allocation-intelligence': 'listAllocationIntelligence',
  funds: 'listFunds',
  'nav-reports': 'listNavReports',
  rfqs: 'queryGraphql',
  auctions: 'queryGraphql',
  acquisitions: 'queryGraphql',
  wrappers: 'listWrappers',
} as const satisfies Readonly<Record<WatchedCollection, CollectionId | 'queryGraphql'>>

/** What carrying a workflow takes. */
const WORKFLOW_OPERATIONS = ['prepareWorkflow', 'registerTransaction', 'getWorkflow'] as const

/** What the keeper itself uses, whatever its agents do: its feed of events, and its look at the service at start. */
const KEEPER_OPERATIONS = ['listDeployments', 'createStreamToken', 'pollEvents'] as const

/**
 * What a keeper presents, of what an operation permits, least first. A session alone would do for some, and give the
 * wallet's own rows only.
 */
const PRESENTED = ['anonymous', 'secret', 'secret+wallet'] as const satisfies readonly Credentials[]

/** Name the operations that an agent uses, from what it watches and proposes. Pure. */
export function operationsOf({
  watches,
  workflowTypes,
  book,
}: Pick<Agent, 'watches' | 'workflowTypes' | 'book'>): readonly OperationId[] {
  const { collections, optional = [], asked = [] } = watches
  const reads = [...collections, ...(book?.collections ?? []), ...optional, ...asked].map(
    (collection) => READS[collection],
  )
  return [...new Set(reads), ...(workflowTypes.length > 0 ? WORKFLOW_OPERATIONS : [])]
}

const needsKey = (operation: OperationId): boolean => {
  const permits: readonly Credentials[] = OPERATIONS[operation].permits
  return PRESENTED.find((each) => permits.includes(each)) !== 'anonymous'
}

/** Give an agent's client: with its own key, or the keeper's where it has none; a key has one pacing. */
export function clientOf(client: ServiceClient, { agents }: RunConfig, agent: AgentConfig): ServiceClient {
  const { secretKey } = agent
  if (secretKey === undefined) return client
  const keyPath = `agents[${agents.indexOf(agent)}].secretKey`
  return client.as({ secretKey: () => secretKey.reveal(), keyPath })
}

/**
 * Check that everyone has the key that its operations need; every agent has a signer for wallet sessions already. Pure.
 * Throws RolekeeperError `config.credential_missing`, naming who, operation, credential, scope and fix.
 */
export function checkAccess(
  config: RunConfig,
  agents: readonly { readonly agent: AgentConfig; readonly operations: readonly OperationId[] }[],
): void {
  for (const { agent, operations } of agents) {
    if ((agent.secretKey ?? config.service.secretKey) !== undefined) continue
    const path = `agents[${config.agents.indexOf(agent)}]`
    refuse(
      `${path}, the ${agent.role},`,
      operations,
      `add \`${path}.secretKey: env:NAME\`, or \`service.secretKey\` for all`,
    )
  }
  if (config.service.secretKey === undefined)
    refuse('the keeper itself', KEEPER_OPERATIONS, 'add `service.secretKey: env:NAME`')
}

function refuse(who: string, operations: readonly OperationId[], fix: string): void {
  const operation = operations.find(needsKey)
  if (operation === undefined) return
  const { scope } = OPERATIONS[operation]
  throw new RolekeeperError(
    'config.credential_missing',
    `No secret key is configured, and ${who} uses ${operation}, which needs one with the scope ${scope}.`,
    { fix: `${fix}.`, facts: { operation, scope } },
  )
}

/**
 * Prove at start that an agent's key opens what the agent reads with it: one page of each collection. A service that
 * is down is waited for. Throws the `service.*` error of a key or scope that is refused, which names both.
 */
export async function proveAccess(
  client: Pick<ServiceClient, 'pages' | 'queryGraphql'>,
  { watches, book }: Pick<Agent, 'watches' | 'book'>,
  log: Log,
): Promise<void> {
  // A collection that takes a session besides is proven by its first read: opening one costs a signature.
  const collections = [...watches.collections, ...(book?.collections ?? []), ...(watches.asked ?? [])]
  const reads = [...new Set(collections.map((collection) => READS[collection]))].filter(opensWithKey)
  try {
    await Promise.all(
      reads.map((read) =>
        read === 'queryGraphql'
          ? client.queryGraphql({ body: { query: '{ __typename }' } })
          : client.pages[read]().next(),
      ),
    )
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.retry === 'never') throw error
    log.warn('the service does not answer yet', {}, error)
  }
}

const opensWithKey = (operation: OperationId) =>
  (OPERATIONS[operation].permits as readonly Credentials[]).includes('secret')
