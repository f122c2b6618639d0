import { z } from 'zod'
import { workflowTypeName } from './prepared-workflow.ts'
import { freshness } from './resources.ts'
import { addr, hash32, optional, shortText, ts, uintString } from './scalars.ts'
import { CHALLENGE } from './wallet-session-assumptions.ts'

/**
 * Everything that the service's document leaves "not shown", in its most conventional form. This file is the one
 * place: client and sandbox both read it, and docs/assumptions.md lists it. What is data bends by configuration, see
 * {@link Assumptions}; a shape that differs changes here.
 */

/**
 * Assumed: names of the query parameters of collections and of event polling. The last two keep the rows of some
 * wallets, of a collection whose rows name the wallet or borrower so; given several times, of any of them.
 */
export const QUERY = {
  cursor: 'cursor',
  pageSize: 'limit',
  fields: 'fields',
  wallet: 'walletAddress',
  borrower: 'borrowerAddress',
} as const

/**
 * Assumed: names that `preflight.revalidateAtExecution` may hold. The guard has a check for each of these right
 * before broadcast and refuses a name it does not know.
 */
export const REVALIDATIONS = [
  'position_liquidatable',
  'market_not_paused',
  'oracle_healthy',
  'repay_within_close_factor',
  'liquidator_balance',
  'claim_settleable',
  'vault_allocator',
  'allocation_open',
  'market_liquidity',
  'vault_owner',
  'ownership_offered',
  'vault_curator',
  'vault_manager',
  'channel_curator',
  'channel_open',
  'channel_reseller',
  'redemption_open',
  'redemption_due',
  'shares_transferable',
  'restore_due',
  'intent_not_expired',
] as const
export type Revalidation = (typeof REVALIDATIONS)[number]

/** The longest text that is expected: a route of 16 markets, an address of 42 characters each, and 15 commas. */
const EXPECTED_TEXT_MAX = 687

/**
 * Assumed: `expected` of a postcondition is a plain value (equality), or a comparison of unsigned integers. An
 * amount that accrues by the second cannot be stated as equality.
 */
export const expectedValue = z.union([
  z.string().max(EXPECTED_TEXT_MAX),
  z.boolean(),
  z.null(),
  z.strictObject({ op: z.enum(['lte', 'gte']), value: uintString }),
])
export type ExpectedValue = z.infer<typeof expectedValue>

/**
 * Assumed: postconditions name what they speak about by its parts, lower case: a `position` by market and
 * wallet, a `vault_position` by vault and wallet, a `vault_allocation` by vault and market, a `redemption_request` by
 * vault and number, a `trusted_recipient` by vault and recipient, a `vault_deployment` by owner and share symbol, and
 * `vault_share_mobility` by the vault alone. Of what owners set, a `vault_listing` is named by vault and market, a
 * `vault_role` by vault, role and account, and the others by the vault alone: `vault_owner`, `vault_fee_config`,
 * `vault_routing`, `vault_settings`, `vault_management_settings`, `vault_owner_settings`. Of partners, curators and issuers, a
 * `partner_channel_deployment` by vault, reseller and share class, a `channel_block` by channel and account, a
 * `wrapper_position` by wrapper and wallet, `partner_fee_shares` and a `partner_borrower_fee` by the channel, a
 * `vault_market_listing` by vault and market, a `partner_application` by vault and wallet, an `asset_submission` by its asset.
 */
export const entityIdOf = (...parts: readonly string[]) => parts.join(':').toLowerCase()

/** Assumed: and a `credit_facility` as `market:vault:borrower`, lower case. */
export const facilityEntityId = (market: string, vault: string, borrower: string) =>
  entityIdOf(market, vault, borrower)

/**
 * Assumed: the event that names a changed row, for each collection with rows of borrowers. Its `subject` names the row as
 * postconditions do, `market:wallet` or `market:vault:borrower`.
 */
export const BORROWER_EVENTS = {
  positions: 'positions.updated',
  'credit-facilities': 'credit.facilities.updated',
  'liquidation-recovery': 'liquidation.recovery.updated',
} as const

/** Assumed: and a `liquidation_claim` as `market:claim`, lower case. */
export const claimEntityId = (market: string, claimId: string) => entityIdOf(market, claimId)

/** Assumed: POST /v1/workflows/{requestId}/transactions; `order` names the intent. */
export const transactionRegistration = z.strictObject({
  order: z.number().int().min(0),
  chainId: z.number().int().min(1),
  txHash: hash32,
})
export type TransactionRegistration = z.infer<typeof transactionRegistration>

/** Assumed: progress passes the stages that the document names for sandbox admissions; `prepared` comes first. */
export const WORKFLOW_STAGES = [
  'prepared',
  'submitted',
  'mined',
  'indexed',
  'persisted_visible',
  'final_success',
] as const

/** Assumed: one transaction's progress. `status` is a stage, or `reverted` or `unknown`. */
export const trackedTransaction = z.object({
  order: optional(z.number().int().min(0)),
  chainId: z.number().int(),
  txHash: hash32,
  status: shortText,
  blockNumber: optional(uintString),
  requestId: optional(shortText),
})
export type TrackedTransaction = z.infer<typeof trackedTransaction>

/** Assumed: GET /v1/workflows/{requestId}, and the 200 answer to a registration. `status` is a stage, or `failed`. */
export const workflowProgress = z.object({
  requestId: shortText,
  workflowType: workflowTypeName,
  status: shortText,
  transactions: z.array(trackedTransaction).max(100),
  canonicalPostconditions: z
    .array(
      z.object({
        entityType: shortText,
        entityId: shortText,
        field: shortText,
        expected: z.unknown(),
        satisfied: z.boolean(),
        blockNumber: optional(uintString),
      }),
    )
    .max(50),
  freshness: optional(freshness),
})
export type WorkflowProgress = z.infer<typeof workflowProgress>

/** Assumed: row of GET /v1/oracles. */
export const oracleResource = z.object({
  id: shortText,
  chainId: z.number().int(),
  address: addr,
  marketId: optional(z.string()),
  priceWad: optional(uintString),
  state: optional(z.string()),
  sourceAsOf: optional(ts),
  lastUpdated: optional(ts),
})
export type OracleResource = z.infer<typeof oracleResource>

/** The event envelope is documented; its `data` is assumed to name the changed resources by id. */
export const eventEnvelope = z.object({
  id: shortText,
  type: shortText,
  schemaVersion: z.number().int(),
  occurredAt: ts,
  subject: z.string().max(200),
  data: z.record(z.string(), z.unknown()),
})
export type EventEnvelope = z.infer<typeof eventEnvelope>

/** Assumed: a webhook delivery's id holds no dot, which divides it from the signed bytes. */
export const DELIVERY_ID = /^[A-Za-z0-9_-]{1,200}$/

/** Assumed: GET /v1/events is a collection of envelopes, oldest first, each with the cursor that resumes after it. */
export const polledEvent = z.object({ cursor: z.string().max(4_096), event: eventEnvelope })
export type PolledEvent = z.infer<typeof polledEvent>

/** Assumed: POST /v1/stream-token; `url` is where the WebSocket listens. */
export const streamToken = z.object({
  token: z.string().min(1).max(4_096),
  url: z.string().max(2_000),
  expiresAt: ts,
})

/** Assumed: the WebSocket takes these query parameters; `types` and `subjects` are comma-separated filters. */
export const STREAM_QUERY = {
  token: 'token',
  cursor: 'cursor',
  types: 'types',
  subjects: 'subjects',
} as const

/** Assumed: stream messages. `seq` counts the messages of one connection from 1, so that a gap shows. */
export const streamMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('event'),
    seq: z.number().int(),
    cursor: z.string().max(4_096),
    event: eventEnvelope,
  }),
  z.object({ type: z.literal('heartbeat'), seq: z.number().int(), at: ts }),
  z.object({ type: z.literal('reset'), seq: z.number().int(), reason: z.string().max(200) }),
])
export type StreamMessage = z.infer<typeof streamMessage>

/** Assumed: the stream says something at least this often. */
export const STREAM_HEARTBEAT_MS = 5_000

/** Assumed: eligibility's action for a liquidator on a gated market, and the status that permits it. */
export const ELIGIBILITY = { liquidate: 'liquidate', authorized: 'authorized' } as const

/** Documented, but that the operator's brand is written `svc`. Source: service API, "Authentication". */
export const CREDENTIAL_HEADERS = {
  publishableKey: 'x-svc-publishable-key',
  walletSession: 'x-svc-wallet-session',
} as const

/** The same, in lower case as node gives them. Source: service API, "Webhook delivery". */
export const WEBHOOK_HEADERS = { signature: 'svc-signature', deliveryId: 'svc-delivery-id' } as const

/** Assumed: header values on every response; the first three are integers, the reset is in seconds from now. */
export const RATE_LIMIT_HEADERS = {
  limit: 'x-ratelimit-limit',
  remaining: 'x-ratelimit-remaining',
  resetSeconds: 'x-ratelimit-reset',
} as const

/** Assumed: `oracleState` that permits a price to be used, and `marketRegimeState` that permits to act. */
export const HEALTHY_ORACLE_STATE = 'healthy'
export const NORMAL_MARKET_REGIME = 'normal'

/** Assumed: an oracle's `priceWad` is whole loan tokens for one whole collateral token, times 10^18. */
export const PRICE_SCALE = 10n ** 18n

/**
 * Assumed: how an RFQ is traded. The bidder buys the asset and pays in the quote asset; the whole bid is in escrow until
 * it is spent or paid back; an `open` book shows every bid, a `sealed` one ours alone; of equal bids the one placed or
 * replaced earliest wins; and who may finalize an RFQ once it is closed.
 */
export const RFQ_TERMS: RfqTerms = {
  side: 'bidder_buys',
  book: 'open',
  ties: 'earliest',
  escrow: 'whole_bid',
  finalizer: 'anyone',
}
export type RfqTerms = {
  readonly side: 'bidder_buys' | 'bidder_sells'
  readonly book: 'open' | 'sealed'
  readonly ties: 'earliest' | 'latest'
  readonly escrow: 'whole_bid' | 'none'
  readonly finalizer: 'anyone' | 'winner' | 'seller'
}

type Names<Defaults> = { readonly [Name in keyof Defaults]: string }

/** What of all this a deployment may do otherwise by configuration: data only, shapes do not bend. */
export type Assumptions = {
  readonly query: Names<typeof QUERY>
  readonly streamQuery: Names<Omit<typeof STREAM_QUERY, 'subjects'>>
  readonly credentialHeaders: Names<typeof CREDENTIAL_HEADERS>
  readonly webhookHeaders: Names<typeof WEBHOOK_HEADERS>
  readonly rateLimitHeaders: Names<Omit<typeof RATE_LIMIT_HEADERS, 'limit'>>
  readonly eligibility: Names<typeof ELIGIBILITY>
  readonly healthyOracleState: string
  readonly normalMarketRegime: string
  /** What `priceWad` is for one whole loan token for one whole collateral token. */
  readonly priceScale: bigint
  readonly streamHeartbeatMs: number
  readonly challenge: Names<typeof CHALLENGE>
  readonly rfq: RfqTerms
  /** Our name of a check by the service's, where they differ. */
  readonly revalidations: Readonly<Record<string, Revalidation>>
}

/** What is assumed of a deployment whose configuration says nothing else. */
export const ASSUMPTIONS: Assumptions = {
  query: QUERY,
  streamQuery: STREAM_QUERY,
  credentialHeaders: CREDENTIAL_HEADERS,
  webhookHeaders: WEBHOOK_HEADERS,
  rateLimitHeaders: RATE_LIMIT_HEADERS,
  eligibility: ELIGIBILITY,
  healthyOracleState: HEALTHY_ORACLE_STATE,
  normalMarketRegime: NORMAL_MARKET_REGIME,
  priceScale: PRICE_SCALE,
  streamHeartbeatMs: STREAM_HEARTBEAT_MS,
  challenge: CHALLENGE,
  rfq: RFQ_TERMS,
  revalidations: {},
}
