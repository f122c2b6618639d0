import { z } from 'zod'
import {
  oracleResource,
  polledEvent,
  streamToken,
  trackedTransaction,
  transactionRegistration,
  workflowProgress,
} from './assumptions.ts'
import {
  allocationIntelligenceResource,
  contractResource,
  deploymentResource,
  entityResource,
  feeResource,
  messageResource,
  networkResource,
  partnerProgramResource,
  wrapperResource,
} from './directory-resources.ts'
import { fundEpoch, fundHolding, fundResource, navReportResource } from './fund-resources.ts'
import { preparedWorkflow, workflowPrepareRequest } from './prepared-workflow.ts'
import {
  activityResource,
  assetResource,
  creditFacilityResource,
  eligibilityResource,
  liquidationRecoveryResource,
  marketAllocator,
  marketHistory,
  marketResource,
  opaque,
  positionResource,
} from './resources.ts'
import {
  apiKeyCreated,
  applicationBootstrap,
  applicationRequest,
  applicationRow,
  auditRow,
  emptyRequest,
  faucetClaim,
  faucetClaimRequest,
  keyRequest,
  keyRow,
  organizationRequest,
  ownerClaim,
  productionAccessRequest,
  productionAccessRequestStatus,
  sandboxAdmission,
  sandboxResetRequest,
  sandboxState,
  usageRow,
  webhookDelivery,
  webhookEndpointCreated,
  webhookEndpointRequest,
  webhookEndpointRow,
  webhookEndpointUpdate,
} from './tenant-resources.ts'
import {
  vaultAllocation,
  vaultHistory,
  vaultLiquidity,
  vaultResource,
  vaultShareMobility,
} from './vault-resources.ts'
import {
  walletChallenge,
  walletChallengeRequest,
  walletConfirmRequest,
  walletSession,
} from './wallet-session-assumptions.ts'

/** What a caller can present together. Source: service API, "Authentication". */
const CREDENTIALS = [
  'anonymous',
  'publishable',
  'secret',
  'wallet',
  'publishable+wallet',
  'secret+wallet',
] as const
export type Credentials = (typeof CREDENTIALS)[number]

/** Assumed: names of scopes, but for the documented `webhooks:write`. */
export const SCOPES = [
  'canonical:read',
  'workflows:read',
  'workflows:write',
  'events:read',
  'applications:read',
  'applications:write',
  'keys:read',
  'keys:write',
  'usage:read',
  'audit:read',
  'sandbox:read',
  'sandbox:write',
  'webhooks:read',
  'webhooks:write',
] as const
export type Scope = (typeof SCOPES)[number]

/** Assumed: what a publishable key may hold, because a browser shows it to anyone. */
export const PUBLISHABLE_SCOPES: readonly Scope[] = [
  'canonical:read',
  'workflows:read',
  'workflows:write',
  'sandbox:write',
]

/** A part of an operation that the document does not show. */
type Assumed = 'credentials' | 'body' | 'answer'

/** One operation of the service. */
export type Operation = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Parameters in braces. */
  readonly path: `/${string}`
  readonly summary: string
  /** Any of these is enough; one with more is accepted where one with less is. */
  readonly permits: readonly Credentials[]
  /** What a key must carry; null where no key is needed. A wallet session alone has no scopes and needs none. */
  readonly scope: Scope | null
  /** Takes a filter by wallet, under the name that its rows have for it; null, it takes none. */
  readonly rowsOf: 'wallet' | 'borrower' | null
  /** Takes `fields`. */
  readonly fields: boolean
  /** Needs an idempotency key. */
  readonly changes: boolean
  readonly body: z.ZodType | null
  /** `collection`: rows in the shared envelope, with cursor and page size. `one`: the body itself. */
  readonly answer: { readonly kind: 'collection' | 'one'; readonly schema: z.ZodType }
  /** Empty: every part of it is documented. Names of scopes are assumed everywhere but for webhook replay. */
  readonly assumed: readonly Assumed[]
}

const ANONYMOUS = ['anonymous'] as const
const SECRET = ['secret'] as const
const KEY = ['publishable', 'secret'] as const
const KEY_OR_WALLET = ['publishable', 'wallet', 'secret'] as const
const KEY_AND_WALLET = ['publishable+wallet', 'secret+wallet'] as const

type Entry<P extends string, S extends z.ZodType, K extends 'collection' | 'one', F extends boolean> = {
  readonly rowsOf: null
  readonly method: 'GET'
  readonly path: P
  readonly summary: string
  readonly permits: readonly Credentials[]
  readonly scope: Scope | null
  readonly fields: F
  readonly changes: false
  readonly body: null
  readonly answer: { readonly kind: K; readonly schema: S }
  readonly assumed: readonly Assumed[]
}

type Needs = { readonly permits: readonly Credentials[]; readonly scope: Scope | null }
const open: Needs = { permits: ANONYMOUS, scope: null }
const secret = (scope: Scope): Needs => ({ permits: SECRET, scope })
const key = (scope: Scope): Needs => ({ permits: KEY, scope })
const keyOrWallet = (scope: Scope): Needs => ({ permits: KEY_OR_WALLET, scope })
const keyAndWallet = (scope: Scope): Needs => ({ permits: KEY_AND_WALLET, scope })

const list = <P extends `/${string}`, S extends z.ZodType>(
  path: P,
  summary: string,
  needs: Needs,
  schema: S,
  ...assumed: readonly Assumed[]
): Entry<P, S, 'collection', false> => ({
  method: 'GET',
  path,
  summary,
  ...needs,
  rowsOf: null,
  fields: false,
  changes: false,
  body: null,
  answer: { kind: 'collection', schema },
  assumed,
})

const read = <P extends `/${string}`, S extends z.ZodType, const F extends boolean = false>(
  path: P,
  summary: string,
  needs: Needs & { readonly fields?: F },
  schema: S,
  ...assumed: readonly Assumed[]
): Entry<P, S, 'one', F> => ({
  method: 'GET',
  path,
  summary,
  permits: needs.permits,
  scope: needs.scope,
  // Absent, F is false.
  rowsOf: null,
  fields: (needs.fields ?? false) as F,
  changes: false,
  body: null,
  answer: { kind: 'one', schema },
  assumed,
})

const write = <
  M extends 'POST' | 'PATCH' | 'DELETE',
  P extends `/${string}`,
  B extends z.ZodType | null,
  S extends z.ZodType,
>(
  method: M,
  path: P,
  summary: string,
  needs: Needs,
  body: B,
  schema: S,
  ...assumed: readonly Assumed[]
) => ({
  method,
  path,
  summary,
  ...needs,
  rowsOf: null,
  fields: false as const,
  changes: true as const,
  body,
  answer: { kind: 'one' as const, schema },
  assumed,
})

/** Assumed: what a GraphQL request and its answer hold, after the GraphQL specification's HTTP transport. */
const graphqlRequest = z.strictObject({
  query: z.string().min(1).max(20_000),
  operationName: z.string().max(200).nullish(),
  variables: opaque.nullish(),
})
const graphqlAnswer = z.object({ data: opaque.nullish(), errors: z.array(opaque).max(100).optional() })

/**
 * Every operation of the service: the client's methods, the sandbox's routes and the OpenAPI document derive from
 * these entries; a key is the operation's id. Source: service API, "Endpoints".
 */
export const OPERATIONS = {
  queryGraphql: {
    ...write(
      'POST',
      '/graphql',
      'Query canonical data',
      key('canonical:read'),
      graphqlRequest,
      graphqlAnswer,
    ),
    changes: false,
    assumed: ['credentials', 'body', 'answer'],
  },
  listActivity: list('/v1/activity', 'List activity', open, activityResource),
  listAllocationIntelligence: list(
    '/v1/allocation-intelligence',
    'List allocation intelligence',
    keyAndWallet('canonical:read'),
    allocationIntelligenceResource,
  ),
  listApplications: list(
    '/v1/applications',
    'List applications of the organization',
    secret('applications:read'),
    applicationRow,
    'answer',
  ),
  createApplication: write(
    'POST',
    '/v1/applications',
    'Create an application',
    secret('applications:write'),
    applicationRequest,
    applicationBootstrap,
  ),
  listAssets: list('/v1/assets', 'List assets', open, assetResource),
  getAsset: read('/v1/assets/{resourceId}', 'Read an asset', open, assetResource, 'credentials', 'answer'),
  listAuditLog: list(
    '/v1/audit-log',
    'List the audit log',
    secret('audit:read'),
    auditRow,
    'credentials',
    'answer',
  ),
  claimOwner: write(
    'POST',
    '/v1/console/owner-claim',
    'Claim the first console owner',
    { permits: ['secret+wallet'], scope: 'applications:write' },
    emptyRequest,
    ownerClaim,
    'credentials',
    'body',
    'answer',
  ),
  getContract: list(
    '/v1/contracts/{contractName}',
    'Read an active contract artifact',
    key('canonical:read'),
    contractResource,
    'answer',
  ),
  listCreditFacilities: {
    ...list('/v1/credit-facilities', 'List credit facilities', open, creditFacilityResource),
    rowsOf: 'borrower' as const,
  },
  listDeployments: list('/v1/deployments', 'List deployments', open, deploymentResource),
  listEligibility: list(
    '/v1/eligibility',
    "List what the session's wallet may do",
    keyAndWallet('canonical:read'),
    eligibilityResource,
  ),
  listEntities: list('/v1/entities', 'List entities', open, entityResource, 'credentials', 'answer'),
  pollEvents: list('/v1/events', 'Poll events', secret('events:read'), polledEvent, 'credentials', 'answer'),
  listFees: list('/v1/fees', 'List fees', open, feeResource, 'credentials', 'answer'),
  listFunds: list('/v1/funds', 'List recovery funds', key('canonical:read'), fundResource),
  getFund: read(
    '/v1/funds/{resourceId}',
    'Read a recovery fund',
    { ...key('canonical:read'), fields: true },
    fundResource,
  ),
  listFundEpochs: list(
    '/v1/funds/{resourceId}/epochs',
    "List a fund's epochs",
    key('canonical:read'),
    fundEpoch,
    'credentials',
    'answer',
  ),
  listFundHoldings: list(
    '/v1/funds/{resourceId}/holdings',
    "List a fund's holdings",
    key('canonical:read'),
    fundHolding,
    'credentials',
    'answer',
  ),
  listKeys: list('/v1/keys', 'List redacted keys', secret('keys:read'), keyRow, 'credentials', 'answer'),
  createKey: write('POST', '/v1/keys', 'Create a key', secret('keys:write'), keyRequest, apiKeyCreated),
  revokeKey: write(
    'POST',
    '/v1/keys/{keyId}/revoke',
    'Revoke a key',
    secret('keys:write'),
    emptyRequest,
    keyRow,
    'credentials',
    'body',
    'answer',
  ),
  rotateKey: write(
    'POST',
    '/v1/keys/{keyId}/rotate',
    'Replace a key and revoke the old one',
    secret('keys:write'),
    emptyRequest,
    apiKeyCreated,
    'credentials',
    'body',
  ),
  listLiquidationRecovery: {
    ...list(
      '/v1/liquidation-recovery',
      'List liquidation and recovery items',
      open,
      liquidationRecoveryResource,
    ),
    rowsOf: 'borrower' as const,
  },
  listMarkets: list('/v1/markets', 'List markets', open, marketResource),
  getMarket: read('/v1/markets/{resourceId}', 'Read a market', { ...open, fields: true }, marketResource),
  listMarketActivity: list(
    '/v1/markets/{resourceId}/activity',
    "List a market's activity",
    open,
    activityResource,
    'credentials',
    'answer',
  ),
  listMarketAllocators: list(
    '/v1/markets/{resourceId}/allocators',
    'List the vaults that fund a market',
    open,
    marketAllocator,
    'credentials',
    'answer',
  ),
  listMarketHistory: list(
    '/v1/markets/{resourceId}/history',
    "List a market's history",
    open,
    marketHistory,
    'credentials',
    'answer',
  ),
  listMessages: list('/v1/messaging', 'List messages', keyOrWallet('canonical:read'), messageResource),
  listNavReports: list('/v1/nav-reports', 'List NAV reports', open, navReportResource),
  listNetworks: list('/v1/networks', 'List networks', open, networkResource),
  listOracles: list('/v1/oracles', 'List oracles', open, oracleResource, 'credentials', 'answer'),
  createOrganization: write(
    'POST',
    '/v1/organizations',
    'Create an organization and its first application',
    open,
    organizationRequest,
    applicationBootstrap,
    'credentials',
    'body',
    'answer',
  ),
  listPartnerPrograms: list(
    '/v1/partner-programs',
    'List partner programs',
    open,
    partnerProgramResource,
    'credentials',
    'answer',
  ),
  listPositions: {
    ...list('/v1/positions', 'List positions', keyOrWallet('canonical:read'), positionResource),
    rowsOf: 'wallet' as const,
  },
  requestProductionAccess: write(
    'POST',
    '/v1/production-access-requests',
    'Request reviewed production scopes',
    secret('applications:write'),
    productionAccessRequest,
    productionAccessRequestStatus,
  ),
  getSandbox: read(
    '/v1/sandbox',
    "Read the application's sandbox",
    secret('sandbox:read'),
    sandboxState,
    'credentials',
    'answer',
  ),
  requestSandboxAdmission: write(
    'POST',
    '/v1/sandbox/admissions',
    'Ask for the wallet to be admitted',
    keyAndWallet('sandbox:write'),
    emptyRequest,
    sandboxAdmission,
    'credentials',
    'body',
    'answer',
  ),
  claimFaucet: write(
    'POST',
    '/v1/sandbox/faucet-claims',
    'Claim test tokens for the admitted wallet',
    keyAndWallet('sandbox:write'),
    faucetClaimRequest,
    faucetClaim,
    'credentials',
    'body',
    'answer',
  ),
  resetSandbox: write(
    'POST',
    '/v1/sandbox/reset',
    "Reset the application's control state",
    secret('sandbox:write'),
    sandboxResetRequest,
    sandboxState,
  ),
  createStreamToken: write(
    'POST',
    '/v1/stream-token',
    'Create a stream token',
    secret('events:read'),
    emptyRequest,
    streamToken,
    'body',
    'answer',
  ),
  listTranches: list('/v1/tranches', 'List tranches', open, vaultResource),
  getTransaction: list(
    '/v1/transactions/{chainId}/{txHash}',
    'Read the progress of a transaction',
    key('workflows:read'),
    trackedTransaction,
    'answer',
  ),
  listUsage: list('/v1/usage', 'List the use of 30 days', secret('usage:read'), usageRow, 'answer'),
  listVaults: list('/v1/vaults', 'List vaults', open, vaultResource, 'credentials', 'answer'),
  getVault: read(
    '/v1/vaults/{resourceId}',
    'Read a vault',
    { ...open, fields: true },
    vaultResource,
    'credentials',
    'answer',
  ),
  listVaultActivity: list(
    '/v1/vaults/{resourceId}/activity',
    "List a vault's activity",
    open,
    activityResource,
    'credentials',
    'answer',
  ),
  listVaultAllocations: list(
    '/v1/vaults/{resourceId}/allocations',
    "List a vault's allocations",
    open,
    vaultAllocation,
    'credentials',
    'answer',
  ),
  listVaultHistory: list(
    '/v1/vaults/{resourceId}/history',
    "List a vault's history",
    open,
    vaultHistory,
    'credentials',
    'answer',
  ),
  listVaultLiquidity: list(
    '/v1/vaults/{resourceId}/liquidity',
    "Read a vault's liquidity and exit terms",
    open,
    vaultLiquidity,
    'credentials',
    'answer',
  ),
  listVaultShareMobility: list(
    '/v1/vaults/{resourceId}/share-mobility',
    "Read the mobility of a vault's shares",
    open,
    vaultShareMobility,
    'credentials',
    'answer',
  ),
  createWalletChallenge: write(
    'POST',
    '/v1/wallet-sessions/challenges',
    'Create a wallet challenge',
    open,
    walletChallengeRequest,
    walletChallenge,
    'credentials',
    'body',
    'answer',
  ),
  confirmWalletChallenge: write(
    'POST',
    '/v1/wallet-sessions/confirm',
    'Confirm a challenge and open a session',
    open,
    walletConfirmRequest,
    walletSession,
    'credentials',
    'body',
    'answer',
  ),
  listWebhookDeliveries: list(
    '/v1/webhook-deliveries',
    'List webhook deliveries',
    secret('webhooks:read'),
    webhookDelivery,
    'credentials',
    'answer',
  ),
  replayWebhookDelivery: write(
    'POST',
    '/v1/webhook-deliveries/{deliveryId}/replay',
    'Replay a delivery',
    secret('webhooks:write'),
    emptyRequest,
    webhookDelivery,
    'body',
    'answer',
  ),
  listWebhookEndpoints: list(
    '/v1/webhook-endpoints',
    'List webhook endpoints',
    secret('webhooks:read'),
    webhookEndpointRow,
    'credentials',
    'answer',
  ),
  createWebhookEndpoint: write(
    'POST',
    '/v1/webhook-endpoints',
    'Create a webhook endpoint',
    secret('webhooks:write'),
    webhookEndpointRequest,
    webhookEndpointCreated,
    'credentials',
    'body',
    'answer',
  ),
  disableWebhookEndpoint: write(
    'DELETE',
    '/v1/webhook-endpoints/{endpointId}',
    'Disable a webhook endpoint',
    secret('webhooks:write'),
    null,
    webhookEndpointRow,
    'credentials',
    'answer',
  ),
  updateWebhookEndpoint: write(
    'PATCH',
    '/v1/webhook-endpoints/{endpointId}',
    'Update a webhook endpoint',
    secret('webhooks:write'),
    webhookEndpointUpdate,
    webhookEndpointRow,
    'credentials',
    'body',
    'answer',
  ),
  getWorkflow: read(
    '/v1/workflows/{requestId}',
    'Read the progress of a workflow',
    keyOrWallet('workflows:read'),
    workflowProgress,
    'credentials',
    'answer',
  ),
  registerTransaction: write(
    'POST',
    '/v1/workflows/{requestId}/transactions',
    'Register a transaction signed elsewhere',
    keyOrWallet('workflows:write'),
    transactionRegistration,
    workflowProgress,
    'credentials',
    'body',
    'answer',
  ),
  prepareWorkflow: write(
    'POST',
    '/v1/workflows/prepare',
    'Prepare and preflight a workflow',
    keyOrWallet('workflows:write'),
    workflowPrepareRequest,
    preparedWorkflow,
  ),
  listWrappers: list('/v1/wrappers', 'List wrappers', open, wrapperResource),
} as const satisfies Readonly<Record<string, Operation>>

/** The id of an operation. */
export type OperationId = keyof typeof OPERATIONS

/** Names of the parameters in a path: `/v1/keys/{keyId}/revoke` has `keyId`. */
type PathParameter<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never

/** The parameters of an operation's path. */
export type ParamsOf<Id extends OperationId> = {
  readonly [Name in PathParameter<(typeof OPERATIONS)[Id]['path']>]: string
}

/** The body of an operation as a caller writes it; null where it has none. */
export type BodyOf<Id extends OperationId> = (typeof OPERATIONS)[Id]['body'] extends infer B
  ? B extends z.ZodType
    ? z.input<B>
    : null
  : never

/** The body of an operation once it is parsed; null where it has none. */
export type ParsedBodyOf<Id extends OperationId> = (typeof OPERATIONS)[Id]['body'] extends infer B
  ? B extends z.ZodType
    ? z.output<B>
    : null
  : never

/** What an operation answers: one row of a collection, or the body itself. */
export type AnswerOf<Id extends OperationId> = z.output<(typeof OPERATIONS)[Id]['answer']['schema']>

/** Operations that answer pages of rows. */
export type CollectionId = {
  [Id in OperationId]: (typeof OPERATIONS)[Id]['answer']['kind'] extends 'collection' ? Id : never
}[OperationId]
