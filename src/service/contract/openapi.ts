import {
  CREDENTIAL_HEADERS,
  ELIGIBILITY,
  eventEnvelope,
  expectedValue,
  HEALTHY_ORACLE_STATE,
  NORMAL_MARKET_REGIME,
  PRICE_SCALE,
  QUERY,
  RATE_LIMIT_HEADERS,
  REVALIDATIONS,
  STREAM_HEARTBEAT_MS,
  STREAM_QUERY,
  streamMessage,
  WORKFLOW_STAGES,
} from './assumptions.ts'
import { type ApiSchemas, apiSchemas, inlineSchema, type JsonObject } from './openapi-schemas.ts'
import {
  type Credentials,
  OPERATIONS,
  type Operation,
  type OperationId,
  PUBLISHABLE_SCOPES,
  SCOPES,
} from './operations.ts'
import { collectionEnvelope, freshness, PAGE_SIZE_MAX, serviceApiError } from './resources.ts'
import { CHALLENGE } from './wallet-session-assumptions.ts'
import { SERVICE_CATALOGUE } from './workflow-types.ts'

/** Source: service API, "Versioning". */
const API_VERSION = '1.0.0-private-preview'

/** What each failure means. Source: service API, "Errors". */
const FAILURES: Readonly<Record<string, string>> = {
  400: 'invalid request',
  401: 'authentication required',
  403: 'insufficient scope or authority',
  409: 'state conflict or idempotency conflict',
  429: 'rate limit exceeded',
  500: 'internal failure',
}

/**
 * Describe the service's API as an OpenAPI 3.1.0 document, derived from the catalogue. Parts that the service's
 * document does not show are named by `x-assumed` on each operation and listed whole in `x-assumptions`. Pure.
 * @param serverUrl where it is served, without a trailing slash.
 * Source: OpenAPI Specification 3.1.0.
 */
export function openApiDocument(serverUrl: string): JsonObject {
  const schemas = apiSchemas()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, entry] of Object.entries(OPERATIONS)) {
    const operation: Operation = entry
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(name as OperationId, operation, schemas),
    }
  }
  const failures = responses(schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lending, vault and recovery-fund service',
      version: API_VERSION,
      description: 'Derived from the catalogue of rolekeeper, a client of this service.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    security: [],
    paths,
    components: {
      ...COMPONENTS,
      responses: failures,
      schemas: used([paths, failures], schemas.components),
    },
    'x-assumptions': assumptions(),
  }
}

function describe(id: OperationId, operation: Operation, schemas: ApiSchemas): JsonObject {
  const { body, summary, permits, scope, assumed, changes, fields, rowsOf } = operation
  const isCollection = operation.answer.kind === 'collection'
  const answer = schemas.refOf(schemas.answerOf(id))
  const shared = [
    ...(isCollection ? ['Cursor', 'PageSize'] : []),
    ...(rowsOf === null ? [] : [rowsOf === 'wallet' ? 'OfWallets' : 'OfBorrowers']),
    ...(fields ? ['Fields'] : []),
    ...(changes ? ['IdempotencyKey'] : []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }))
  const parameters = [...pathParameters(operation), ...shared]
  return {
    operationId: id,
    summary,
    security: permits.map(securityOf),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body === null
      ? {}
      : {
          requestBody: { required: true, content: { 'application/json': { schema: schemas.refOf(body) } } },
        }),
    responses: {
      200: {
        description: 'success',
        headers: HEADER_REFS,
        content: { 'application/json': { schema: isCollection ? page(answer, schemas) : answer } },
      },
      ...Object.fromEntries(
        Object.keys(FAILURES).map((status) => [status, { $ref: `#/components/responses/Failure${status}` }]),
      ),
    },
    'x-required-scope': scope,
    'x-assumed': assumed,
  }
}

const page = (item: JsonObject, { refOf }: ApiSchemas): JsonObject => ({
  type: 'object',
  required: ['items', 'pageInfo', 'freshness'],
  properties: {
    items: { type: 'array', items: item, maxItems: PAGE_SIZE_MAX },
    pageInfo: refOf(collectionEnvelope.shape.pageInfo),
    freshness: refOf(freshness),
  },
})

const pathParameters = ({ path }: Operation): readonly JsonObject[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

const SCHEMES = { secret: 'SecretKey', publishable: 'PublishableKey', wallet: 'WalletSession' } as const

/** All of one entry are needed together; the empty entry is open to anyone. */
const securityOf = (permitted: Credentials): JsonObject =>
  Object.fromEntries(
    Object.entries(SCHEMES)
      .filter(([credential]) => permitted.split('+').includes(credential))
      .map(([, scheme]) => [scheme, []]),
  )

const HEADERS = {
  'x-request-id': { description: 'Names the request.', schema: { type: 'string' } },
  [RATE_LIMIT_HEADERS.limit]: { description: 'Requests a window.', schema: { type: 'integer' } },
  [RATE_LIMIT_HEADERS.remaining]: { description: 'Requests left of it.', schema: { type: 'integer' } },
  [RATE_LIMIT_HEADERS.resetSeconds]: { description: 'Seconds to the next.', schema: { type: 'integer' } },
}
const HEADER_REFS = Object.fromEntries(
  Object.keys(HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
)

const responses = ({ refOf }: ApiSchemas): JsonObject =>
  Object.fromEntries(
    Object.entries(FAILURES).map(([status, description]) => [
      `Failure${status}`,
      {
        description,
        headers: HEADER_REFS,
        content: { 'application/json': { schema: refOf(serviceApiError) } },
      },
    ]),
  )

const rowsOfParameter = (name: string) => ({
  name,
  in: 'query',
  description: 'Only rows of these wallets.',
  style: 'form',
  explode: true,
  schema: { type: 'array', items: { type: 'string' } },
})

const COMPONENTS = {
  securitySchemes: {
    SecretKey: { type: 'http', scheme: 'bearer', description: 'For servers; never from a browser.' },
    PublishableKey: { type: 'apiKey', in: 'header', name: CREDENTIAL_HEADERS.publishableKey },
    WalletSession: { type: 'apiKey', in: 'header', name: CREDENTIAL_HEADERS.walletSession },
  },
  headers: HEADERS,
  parameters: {
    Cursor: {
      name: QUERY.cursor,
      in: 'query',
      description: 'Where the page begins: `pageInfo.nextCursor` of the page before.',
      schema: { type: 'string', maxLength: 4_096 },
    },
    PageSize: {
      name: QUERY.pageSize,
      in: 'query',
      schema: { type: 'integer', minimum: 1, maximum: PAGE_SIZE_MAX },
    },
    OfWallets: rowsOfParameter(QUERY.wallet),
    OfBorrowers: rowsOfParameter(QUERY.borrower),
    Fields: {
      name: QUERY.fields,
      in: 'query',
      description:
        'Names or dotted paths of what is wanted; identity, chain, address and freshness always come.',
      style: 'form',
      explode: true,
      schema: { type: 'array', items: { type: 'string' } },
    },
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      required: true,
      description: 'Chosen by the caller: the same key with the same bytes is the same change.',
      schema: { type: 'string', minLength: 1, maxLength: 200 },
    },
  },
}

/** What the service's document leaves open beside the parts that `x-assumed` names. */
const assumptions = () => ({
  query: QUERY,
  streamQuery: STREAM_QUERY,
  streamHeartbeatMs: STREAM_HEARTBEAT_MS,
  streamMessage: inlineSchema(streamMessage),
  eventEnvelope: inlineSchema(eventEnvelope),
  rateLimitHeaders: RATE_LIMIT_HEADERS,
  scopes: SCOPES,
  publishableScopes: PUBLISHABLE_SCOPES,
  revalidations: REVALIDATIONS,
  workflowStages: WORKFLOW_STAGES,
  eligibility: ELIGIBILITY,
  healthyOracleState: HEALTHY_ORACLE_STATE,
  normalMarketRegime: NORMAL_MARKET_REGIME,
  priceScale: String(PRICE_SCALE),
  challenge: CHALLENGE,
  expectedValue: inlineSchema(expectedValue),
  workflowTypes: Object.fromEntries(
    Object.entries(SERVICE_CATALOGUE).map(([type, { input, name, ...rest }]) => [
      type,
      { ...rest, input: inlineSchema(input) },
    ]),
  ),
})

/** The components that something refers to, directly or through another. */
function used(by: unknown, components: ApiSchemas['components']): ApiSchemas['components'] {
  const found = new Set<string>()
  const look = (node: unknown) => {
    for (const [, name = ''] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name)) continue
      found.add(name)
      look(components[name])
    }
  }
  look(by)
  return Object.fromEntries(Object.entries(components).filter(([name]) => found.has(name)))
}
