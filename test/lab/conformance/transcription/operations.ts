import type { Mark } from './notation.ts'

/** A credential scheme of the document. Source: "Authentication". */
export type Credential = 'secret' | 'publishable' | 'session'

/** Sets of credentials, any of which is accepted; the empty set is a call without credentials. */
export type Access = readonly (readonly Credential[])[]

/** One operation of the index. */
export type Operation = {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly access: Access
  readonly accessMark: Mark
  /** The name of a request body, or null where there is none or it is not shown. */
  readonly request: string | null
  /** The resource of the 200 answer, or of its rows; null: any object. */
  readonly answer: string | null
  readonly collection: boolean
  readonly answerMark: Mark
  /** Whether `fields` may select members. */
  readonly selects: boolean
  /** State-changing: the request carries `Idempotency-Key`. */
  readonly writes: boolean
}

const ANYONE: Access = [[]]
const SECRET: Access = [['secret']]
const KEY: Access = [['secret'], ['publishable']]
const ANY_SCHEME: Access = [['secret'], ['publishable'], ['session']]
const KEY_AND_WALLET: Access = [
  ['secret', 'session'],
  ['publishable', 'session'],
]
const SECRET_AND_WALLET: Access = [['secret', 'session']]

type Rest = Partial<Pick<Operation, 'request' | 'selects' | 'writes' | 'accessMark' | 'answerMark'>>
type Answer = string | null

/** A row whose access and answer the document states; `rest` says what it leaves open. */
function row(line: string, access: Access, answer: Answer, rest: Rest & { list?: boolean } = {}): Operation {
  const [method, path] = line.split(' ')
  if (method !== 'GET' && method !== 'POST' && method !== 'PATCH' && method !== 'DELETE')
    throw new SyntaxError(line)
  if (path === undefined) throw new SyntaxError(line)
  return {
    name: line,
    method,
    path,
    access,
    accessMark: rest.accessMark ?? 'documented',
    request: rest.request ?? null,
    answer,
    collection: rest.list ?? false,
    answerMark: rest.answerMark ?? 'documented',
    selects: rest.selects ?? false,
    writes: rest.writes ?? method !== 'GET',
  }
}

const list = (line: string, access: Access, answer: Answer, rest: Rest = {}) =>
  row(line, access, answer, { ...rest, list: true })
/** Only in the index: access and shapes are assumptions. */
const INDEX_ONLY: Rest = { accessMark: 'assumed', answerMark: 'assumed' }
/** The document states who may call, not what is answered. */
const SHAPE_OPEN: Rest = { answerMark: 'assumed' }
/** The document states the answer's shape (as a member of a documented resource), not who may call. */
const ACCESS_OPEN: Rest = { accessMark: 'assumed' }

/** The 65 operations, in the order of the document's index. */
export const OPERATIONS: readonly Operation[] = [
  row('POST /graphql', KEY, null, { ...INDEX_ONLY, request: 'GraphqlQuery', writes: false }),
  list('GET /v1/activity', ANYONE, 'ActivityItem'),
  list('GET /v1/allocation-intelligence', KEY_AND_WALLET, 'AllocationIntelligenceItem'),
  list('GET /v1/applications', SECRET, 'ApplicationRow', SHAPE_OPEN),
  row('POST /v1/applications', SECRET, 'ApplicationBootstrap', { request: 'ApplicationCreate' }),
  list('GET /v1/assets', ANYONE, 'AssetResource'),
  row('GET /v1/assets/{resourceId}', ANYONE, 'AssetResource', INDEX_ONLY),
  list('GET /v1/audit-log', SECRET, 'AuditRow', INDEX_ONLY),
  row('POST /v1/console/owner-claim', SECRET_AND_WALLET, 'OwnerClaim', INDEX_ONLY),
  list('GET /v1/contracts/{contractName}', KEY, 'ContractArtifact', SHAPE_OPEN),
  list('GET /v1/credit-facilities', ANYONE, 'CreditFacility'),
  list('GET /v1/deployments', ANYONE, 'Deployment'),
  list('GET /v1/eligibility', KEY_AND_WALLET, 'EligibilityItem'),
  list('GET /v1/entities', ANYONE, 'Entity', INDEX_ONLY),
  list('GET /v1/events', SECRET, 'PolledEvent', INDEX_ONLY),
  list('GET /v1/fees', ANYONE, 'Fee', INDEX_ONLY),
  list('GET /v1/funds', KEY, 'FundResource'),
  row('GET /v1/funds/{resourceId}', KEY, 'FundResource', { selects: true }),
  list('GET /v1/funds/{resourceId}/epochs', KEY, 'FundEpochResource', ACCESS_OPEN),
  list('GET /v1/funds/{resourceId}/holdings', KEY, 'FundHoldingResource', ACCESS_OPEN),
  list('GET /v1/keys', SECRET, 'KeyRow', INDEX_ONLY),
  row('POST /v1/keys', SECRET, 'ApiKeyCreated', { request: 'ApiKeyCreate' }),
  row('POST /v1/keys/{keyId}/revoke', SECRET, 'KeyRow', INDEX_ONLY),
  row('POST /v1/keys/{keyId}/rotate', SECRET, 'ApiKeyCreated', INDEX_ONLY),
  list('GET /v1/liquidation-recovery', ANYONE, 'LiquidationRecoveryItem'),
  list('GET /v1/markets', ANYONE, 'MarketResource'),
  row('GET /v1/markets/{resourceId}', ANYONE, 'MarketResource', { selects: true }),
  list('GET /v1/markets/{resourceId}/activity', ANYONE, 'ActivityItem', ACCESS_OPEN),
  list('GET /v1/markets/{resourceId}/allocators', ANYONE, 'MarketAllocatorResource', ACCESS_OPEN),
  list('GET /v1/markets/{resourceId}/history', ANYONE, 'MarketHistoryResource', ACCESS_OPEN),
  list('GET /v1/messaging', ANY_SCHEME, 'Message'),
  list('GET /v1/nav-reports', ANYONE, 'NavReport'),
  list('GET /v1/networks', ANYONE, 'Network'),
  list('GET /v1/oracles', ANYONE, 'OracleResource', INDEX_ONLY),
  row('POST /v1/organizations', ANYONE, 'ApplicationBootstrap', {
    ...INDEX_ONLY,
    request: 'OrganizationCreate',
  }),
  list('GET /v1/partner-programs', ANYONE, 'PartnerProgram', INDEX_ONLY),
  list('GET /v1/positions', ANY_SCHEME, 'Position'),
  row('POST /v1/production-access-requests', SECRET, 'ProductionAccessRequestStatus', {
    request: 'ProductionAccessRequestCreate',
  }),
  row('GET /v1/sandbox', SECRET, 'SandboxState', INDEX_ONLY),
  row('POST /v1/sandbox/admissions', KEY_AND_WALLET, 'SandboxAdmission', INDEX_ONLY),
  row('POST /v1/sandbox/faucet-claims', KEY_AND_WALLET, 'FaucetClaim', {
    ...INDEX_ONLY,
    request: 'FaucetClaimCreate',
  }),
  row('POST /v1/sandbox/reset', SECRET, 'SandboxState', { request: 'SandboxReset' }),
  row('POST /v1/stream-token', SECRET, 'StreamToken', SHAPE_OPEN),
  list('GET /v1/tranches', ANYONE, 'VaultResource'),
  list('GET /v1/transactions/{chainId}/{txHash}', KEY, 'TrackedTransaction', SHAPE_OPEN),
  list('GET /v1/usage', SECRET, 'UsageRow', SHAPE_OPEN),
  list('GET /v1/vaults', ANYONE, 'VaultResource', ACCESS_OPEN),
  row('GET /v1/vaults/{resourceId}', ANYONE, 'VaultResource', { ...ACCESS_OPEN, selects: true }),
  list('GET /v1/vaults/{resourceId}/activity', ANYONE, 'ActivityItem', ACCESS_OPEN),
  list('GET /v1/vaults/{resourceId}/allocations', ANYONE, 'VaultAllocationResource', ACCESS_OPEN),
  list('GET /v1/vaults/{resourceId}/history', ANYONE, 'VaultHistoryResource', ACCESS_OPEN),
  list('GET /v1/vaults/{resourceId}/liquidity', ANYONE, 'VaultLiquidityResource', ACCESS_OPEN),
  list('GET /v1/vaults/{resourceId}/share-mobility', ANYONE, 'VaultShareMobilityResource', ACCESS_OPEN),
  row('POST /v1/wallet-sessions/challenges', ANYONE, 'WalletChallenge', {
    ...INDEX_ONLY,
    request: 'WalletChallengeCreate',
  }),
  row('POST /v1/wallet-sessions/confirm', ANYONE, 'WalletSession', {
    ...INDEX_ONLY,
    request: 'WalletConfirmation',
  }),
  list('GET /v1/webhook-deliveries', SECRET, 'WebhookDelivery', INDEX_ONLY),
  row('POST /v1/webhook-deliveries/{deliveryId}/replay', SECRET, 'WebhookDelivery', SHAPE_OPEN),
  list('GET /v1/webhook-endpoints', SECRET, 'WebhookEndpoint', INDEX_ONLY),
  row('POST /v1/webhook-endpoints', SECRET, 'WebhookEndpointCreated', {
    ...INDEX_ONLY,
    request: 'WebhookEndpointCreate',
  }),
  row('DELETE /v1/webhook-endpoints/{endpointId}', SECRET, 'WebhookEndpoint', INDEX_ONLY),
  row('PATCH /v1/webhook-endpoints/{endpointId}', SECRET, 'WebhookEndpoint', {
    ...INDEX_ONLY,
    request: 'WebhookEndpointUpdate',
  }),
  row('GET /v1/workflows/{requestId}', ANY_SCHEME, 'WorkflowProgress', INDEX_ONLY),
  row('POST /v1/workflows/{requestId}/transactions', ANY_SCHEME, 'WorkflowProgress', {
    ...INDEX_ONLY,
    request: 'TransactionRegistration',
  }),
  row('POST /v1/workflows/prepare', ANY_SCHEME, 'PreparedWorkflow', { request: 'WorkflowPrepareRequest' }),
  list('GET /v1/wrappers', ANYONE, 'Wrapper'),
]
