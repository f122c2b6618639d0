import type { Address } from 'viem'
import type { Agent } from '../../agents/agent.ts'
import type { WatchedCollection } from '../../agents/rows.ts'
import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import type { AgentConfig, RunConfig } from '../config/config.ts'
import { RolekeeperError } from '../errors.ts'
import { pinsOf } from '../guard/policy/deployment.ts'
import { askPins, slotsOf } from '../guard/reads/pins.ts'
import { createReads } from '../guard/reads/views.ts'
import type { Log } from '../ops/log.ts'
import { span } from '../readable.js'
import { askWhetherThere } from '../service/answering.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Deployment } from '../service/contract/deployment.ts'
import {
  type CollectionId,
  type Credentials,
  OPERATIONS,
  type OperationId,
} from '../service/contract/operations.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { ANSWER_MS_MAX } from './doctor/finding.ts'

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

/**
 * Prove that every pinned contract runs the code that its pin says, also behind a proxy: nothing beside other code would be
 * signed anyway. Throws RolekeeperError `deployment.code_changed`, `deployment.implementation_changed` and
 * `deployment.proxy_not_pinned`, and `node.*` when no node answers.
 */
export async function provePins(
  nodes: Pick<Nodes, 'codeHashes' | 'simulate'>,
  deployment: Deployment,
): Promise<void> {
  const [first] = await pinDifferences(nodes, deployment)
  if (first !== undefined) throw first.error
}

/** Find each pinned contract that runs something else, with what {@link provePins} throws of it. Throws `node.*`. */
export async function pinDifferences(
  nodes: Pick<Nodes, 'codeHashes' | 'simulate'>,
  deployment: Deployment,
): Promise<readonly { readonly of: Address; readonly error: RolekeeperError }[]> {
  const pins = pinsOf(deployment)
  const reads = createReads()
  const asked = pins.map((pin) => ({ pin, ...askPins([pin], reads), own: slotsOf(pin.address) }))
  const [codeHashes, { before, words }] = await Promise.all([
    nodes.codeHashes(asked.flatMap(({ codeAt }) => codeAt)),
    nodes.simulate({
      pending: [],
      before: reads.calls,
      bundle: [],
      after: [],
      slots: asked.flatMap(({ own }) => own),
    }),
  ])
  reads.fill(before)
  let code = 0
  return asked.flatMap(({ pin: { address: of, proxy }, codeAt, check }, index) => {
    const shown = {
      codeHashes: codeHashes.slice(code, code + codeAt.length),
      words: words.slice(2 * index, 2 * index + 2),
    }
    code += codeAt.length
    const refusal = check(shown)
    if (refusal !== null)
      return { of, error: new RolekeeperError(`deployment.${refusal.check}`, refusal.message) }
    return proxy === undefined && shown.words.some((word) => word !== 0n)
      ? { of, error: proxyNotPinned(of) }
      : []
  })
}

const proxyNotPinned = (of: Address) =>
  new RolekeeperError(
    'deployment.proxy_not_pinned',
    `${of} is a proxy (EIP-1967), and what it runs is not pinned: it may be swapped while every pin holds.`,
    { fix: 'pin what it runs by `proxy` in its entry of the deployment.', facts: { address: of } },
  )

/**
 * Prove that the service is there at all: a slip of the pen in its address shows itself, and an outage is for a supervisor to
 * wait out. Throws `service.unreachable`.
 */
export async function proveServiceThere(
  { service: { url } }: Pick<RunConfig, 'service'>,
  { nowMs }: Pick<Clock, 'nowMs'>,
): Promise<void> {
  const answering = await askWhetherThere(url, ANSWER_MS_MAX, nowMs)
  if (answering !== null && answering.status < 500) return
  const what =
    answering === null ? `gave no answer within ${span(ANSWER_MS_MAX)}` : `answers ${answering.status}`
  throw new RolekeeperError('service.unreachable', `The service at ${new URL(url).host} ${what}.`, {
    fix: `check that the service is up and that service.url, ${url}, is right; then start again.`,
    retry: 'later',
  })
}

/**
 * Prove that the service serves our chain. One that is down is waited for. Throws RolekeeperError
 * `service.other_chain`, and `service.*` where asking again cannot help. Source: GET /v1/deployments.
 */
export async function proveService(
  client: Pick<ServiceClient, 'base' | 'listDeployments'>,
  chainId: number,
  log: Log,
): Promise<void> {
  try {
    const { items } = await client.listDeployments()
    if (items.some((deployment) => deployment.chainId === chainId)) return
    const chains = [...new Set(items.map((deployment) => deployment.chainId))].join(', ') || 'none'
    throw new RolekeeperError(
      'service.other_chain',
      `The service at ${client.base.host} serves chain ${chains}; the configuration says ${chainId}.`,
      { fix: 'correct `chain.id` or `service.url`.', facts: { chains, chainId } },
    )
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.retry === 'never') throw error
    log.warn('the service does not answer yet', {}, error)
  }
}

/**
 * Prove at start that no role in shadow has workflows that were begun live: a shadow could not carry them, and they would
 * stand still with their nonces open. Throws RolekeeperError `role.left_live`.
 */
export function proveNoneLeftLive(live: readonly Workflow[], { agents }: RunConfig): void {
  // Another agent of the same role, with another key, may well be live.
  const isShadow = ({ role, signer }: Workflow) =>
    agents.some((agent) => agent.mode === 'shadow' && agent.role === role && agent.signer.address === signer)
  const left = live.filter((workflow) => workflow.shadow !== true && isShadow(workflow))
  if (left.length === 0) return
  throw new RolekeeperError(
    'role.left_live',
    `The ${left[0]?.role} is in shadow, and ${left.length} of its workflows were begun live and have not ended.`,
    { fix: 'run it live until they have; `rolekeeper pause` keeps it from beginning others.' },
  )
}
