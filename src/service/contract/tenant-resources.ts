import { z } from 'zod'
import { opaque, text } from './resources.ts'
import { addr, hash32, shortText, ts } from './scalars.ts'

/** What belongs to an organisation: its applications, keys, sandbox, webhooks, usage and audit log. */

const scopes = z.array(z.string().min(1).max(100)).max(100)
const environment = z.enum(['test', 'live'])
const name = z.string().min(2).max(120)
const slug = z.string().regex(/^[a-z0-9-]{1,64}$/)

/** Assumed: POST /v1/organizations. The first application is a test application with every scope that needs no review. */
export const organizationRequest = z.strictObject({ name, slug: slug.optional() })

/** Source: service API, "POST /v1/applications". */
export const applicationRequest = z.strictObject({ name, slug: slug.optional(), environment, scopes })

/** Source: service API, "ApplicationBootstrap". `secretKey` is shown this once. */
export const applicationBootstrap = z.object({
  id: shortText,
  organizationId: shortText,
  environment,
  slug: z.string(),
  name: z.string(),
  scopes,
  secretKey: z.string(),
  secretShownOnce: z.boolean().optional(),
})

/** Assumed: row of GET /v1/applications. */
export const applicationRow = z.object({
  id: shortText,
  organizationId: shortText,
  environment,
  slug: z.string(),
  name: z.string(),
  scopes,
  createdAt: ts,
})

/** Source: service API, "POST /v1/keys". A publishable key needs at least one origin. */
export const keyRequest = z.strictObject({
  kind: z.enum(['publishable', 'secret']),
  scopes,
  origins: z
    .array(z.url({ protocol: /^https?$/ }).max(200))
    .max(20)
    .optional(),
})

/** Assumed: POST /v1/keys/{keyId}/rotate, /revoke and other writes that need no more than their path. */
export const emptyRequest = z.strictObject({})

/** Source: service API, "ApiKeyCreated". `token` is shown this once. */
export const apiKeyCreated = z.object({
  id: shortText,
  applicationId: shortText,
  kind: z.enum(['publishable', 'secret']),
  token: shortText,
  scopes,
  origins: z.array(z.string()).optional(),
  rotatedFromKeyId: z.string().nullable().optional(),
  secretShownOnce: z.boolean(),
  createdAt: ts.optional(),
})

/** Assumed: row of GET /v1/keys, and the answer to a revocation. `redactedToken` names it without giving it away. */
export const keyRow = z.object({
  id: shortText,
  applicationId: shortText,
  kind: z.enum(['publishable', 'secret']),
  redactedToken: shortText,
  scopes,
  origins: z.array(z.string()),
  status: z.enum(['active', 'revoked']),
  rotatedFromKeyId: z.string().nullable(),
  createdAt: ts,
  revokedAt: ts.nullable(),
})

/** Assumed: POST /v1/console/owner-claim; the wallet is the session's. */
export const ownerClaim = z.object({
  organizationId: shortText,
  walletAddress: addr,
  role: text,
  claimedAt: ts,
})

/** Source: service API, "POST /v1/production-access-requests". */
export const productionAccessRequest = z.strictObject({ scopes, useCase: z.string().min(20).max(4_000) })

/** Source: service API, "ProductionAccessRequestStatus". */
export const productionAccessRequestStatus = z.object({
  id: shortText,
  applicationId: shortText,
  status: z.string(),
  scopes,
  requestedAt: ts,
})

/** Source: service API, "POST /v1/sandbox/reset". */
export const sandboxResetRequest = z.strictObject({
  fixtureSet: z.string().min(1).max(100).default('standard'),
})

/** Source: service API, "SandboxState". */
export const sandboxState = z.object({
  id: z.string(),
  applicationId: z.string(),
  network: z.object({
    chainId: z.number().int().min(1),
    network: z.string(),
    deploymentNamespace: z.string(),
    explorerUrl: z.url().max(2_000).nullable(),
  }),
  deploymentNamespace: z.string(),
  fixtureSet: z.string(),
  status: z.string().min(1).max(100),
  resourceQuota: opaque,
  faucetQuota: opaque,
  seededAt: ts.nullable(),
  lastResetAt: ts.nullable(),
})

/** Assumed: the stages that the events of admissions and faucet claims name. */
export const SANDBOX_STAGES = [
  'requested',
  'submitted',
  'mined',
  'indexed',
  'persisted_visible',
  'final_success',
] as const

/** Assumed: POST /v1/sandbox/admissions, with an empty body; its wallet is the session's. */
export const sandboxAdmission = z.object({
  id: shortText,
  walletAddress: addr,
  chainId: z.number().int().min(1),
  status: z.string(),
  txHash: hash32.nullable(),
  requestedAt: ts,
})

/** Assumed: POST /v1/sandbox/faucet-claims; without an asset it is the sandbox's loan asset. Gas comes along. */
export const faucetClaimRequest = z.strictObject({ assetAddress: addr.optional() })

/** Assumed: its answer. `amount` in base units. */
export const faucetClaim = z.object({
  id: shortText,
  walletAddress: addr,
  assetAddress: addr,
  amount: z.string(),
  chainId: z.number().int().min(1),
  status: z.string(),
  txHash: hash32.nullable(),
  requestedAt: ts,
})

const eventTypes = z.array(z.string().min(1).max(200)).max(200)
const webhookUrl = z.url().max(2_000)

/** Assumed: POST /v1/webhook-endpoints; without event types it gets all. */
export const webhookEndpointRequest = z.strictObject({ url: webhookUrl, eventTypes: eventTypes.optional() })

/** Assumed: PATCH /v1/webhook-endpoints/{endpointId}; what is absent stays. */
export const webhookEndpointUpdate = z.strictObject({
  url: webhookUrl.optional(),
  eventTypes: eventTypes.optional(),
  status: z.enum(['enabled', 'disabled']).optional(),
})

/** Assumed: row of GET /v1/webhook-endpoints, and the answer to an update. Empty `eventTypes` means all. */
export const webhookEndpointRow = z.object({
  id: shortText,
  applicationId: shortText,
  url: z.string(),
  eventTypes,
  status: z.enum(['enabled', 'disabled']),
  createdAt: ts,
  updatedAt: ts,
})

/** Assumed: the answer to POST /v1/webhook-endpoints; `signingSecret` is shown this once. */
export const webhookEndpointCreated = webhookEndpointRow.extend({
  signingSecret: shortText,
  secretShownOnce: z.boolean(),
})

/** Assumed: row of GET /v1/webhook-deliveries, and the answer to a replay. */
export const webhookDelivery = z.object({
  id: shortText,
  endpointId: shortText,
  eventId: shortText,
  eventType: shortText,
  status: z.enum(['pending', 'retrying', 'delivered', 'dead_letter']),
  attempts: z.number().int().min(0),
  responseStatus: z.number().int().nullable(),
  createdAt: ts,
  lastAttemptAt: ts.nullable(),
  nextAttemptAt: ts.nullable(),
  replayOfDeliveryId: z.string().nullable(),
})

/** Assumed: row of GET /v1/usage: one operation on one day (UTC). */
export const usageRow = z.object({
  day: z.string(),
  operation: text,
  requests: z.number().int().min(0),
  failures: z.number().int().min(0),
})

/** Assumed: row of GET /v1/audit-log. `actor` names a key or a wallet, never a secret. */
export const auditRow = z.object({
  id: shortText,
  applicationId: shortText,
  action: text,
  actor: text,
  target: text.nullable(),
  requestId: shortText,
  occurredAt: ts,
})
