import { randomUUID } from 'node:crypto'
import type { Address, Hex } from 'viem'
import type { z } from 'zod'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import {
  polledEvent,
  QUERY,
  streamToken,
  type TransactionRegistration,
  trackedTransaction,
  walletChallenge,
  walletSession,
  workflowProgress,
} from './assumptions.ts'
import { readCollection, readPage } from './collection.ts'
import { deploymentResource, networkResource } from './directory-resources.ts'
import { firstIssuePath, garbage } from './failure.ts'
import { createHttp, type HttpRequest, type ServiceTimeouts } from './http.ts'
import {
  activityResource,
  assetResource,
  creditFacilityResource,
  eligibilityResource,
  liquidationRecoveryResource,
  marketResource,
  positionResource,
} from './resources.ts'
import { connectStream, type StreamHandlers, type StreamRequest, streamUrl } from './stream.ts'
import { preparedWorkflow } from './workflows.ts'

/** How the service is reached. */
export type ServiceClientOptions = {
  /** Origin and optional path prefix, for example `https://api.example.com`. */
  readonly baseUrl: string
  /** Where the stream may be when its host is not the base URL's. */
  readonly streamUrl?: string
  readonly secretKey: string
  readonly timeouts: ServiceTimeouts
}

/** The service's operations that this release uses. */
export type ServiceClient = ReturnType<typeof createServiceClient>

/**
 * Create the client of one service. Every method throws {@link RolekeeperError} with a `service.*` code; its `retry`
 * says whether asking again can help. Lists are whole collections; rows that do not parse are counted, not thrown.
 * Source: service API, "Endpoints".
 */
export function createServiceClient(options: ServiceClientOptions, clock: Clock) {
  const http = createHttp(options.baseUrl, credentials(options.secretKey), options.timeouts, clock)
  const streamBase = new URL(options.streamUrl ?? options.baseUrl)

  const collection =
    <S extends z.ZodType>(path: string, row: S) =>
    () =>
      readCollection(http, { path }, row)

  const ask = async <S extends z.ZodType>(request: HttpRequest, schema: S) => {
    const { text, value } = await http.send(request)
    const parsed = schema.safeParse(value)
    if (!parsed.success)
      throw garbage(
        http.callOf(request),
        `the answer does not fit at ${firstIssuePath(parsed.error, 'answer')}`,
      )
    return { bytes: text, answer: parsed.data }
  }

  const get = async <S extends z.ZodType>(path: string, schema: S, query?: URLSearchParams) =>
    (await ask({ method: 'GET', path, ...(query === undefined ? {} : { query }) }, schema)).answer

  const post = <S extends z.ZodType>(
    path: string,
    body: string,
    key: string,
    schema: S,
    signal?: AbortSignal,
  ) =>
    ask(
      { method: 'POST', path, body, headers: postHeaders(key), ...(signal === undefined ? {} : { signal }) },
      schema,
    )

  const createStreamToken = async (signal?: AbortSignal) =>
    (await post('/v1/stream-token', '{}', randomUUID(), streamToken, signal)).answer

  return {
    /** The authority that error texts name, and that a wallet challenge must name. */
    base: http.base,
    listMarkets: collection('/v1/markets', marketResource),
    listCreditFacilities: collection('/v1/credit-facilities', creditFacilityResource),
    listPositions: collection('/v1/positions', positionResource),
    listLiquidationRecovery: collection('/v1/liquidation-recovery', liquidationRecoveryResource),
    listAssets: collection('/v1/assets', assetResource),
    listActivity: collection('/v1/activity', activityResource),
    listDeployments: collection('/v1/deployments', deploymentResource),
    listNetworks: collection('/v1/networks', networkResource),

    /** List what the session's wallet may do. */
    listEligibility: (session: string) =>
      readCollection(
        http,
        { path: '/v1/eligibility', headers: { 'x-svc-wallet-session': session } },
        eligibilityResource,
      ),

    /** Read one market, whole or the named fields (top-level names or dotted paths). */
    getMarket: (id: string, fields: readonly string[] = []) => {
      const query = new URLSearchParams()
      for (const field of fields) query.append(QUERY.fields, field)
      return get(`/v1/markets/${encodeURIComponent(id)}`, marketResource, query)
    },

    /**
     * Have a workflow prepared. Every attempt sends the same bytes under the same key, so that a lost reply is asked
     * for again; `service.conflict` means that the key was used with other bytes.
     * @param body the exact JSON text that the journal holds.
     * @returns the exact text of the answer, and the answer, parsed strictly.
     */
    prepareWorkflow: (body: string, idempotencyKey: string) =>
      post('/v1/workflows/prepare', body, idempotencyKey, preparedWorkflow),

    /** Read how far a workflow has come. */
    getWorkflow: (requestId: string) =>
      get(`/v1/workflows/${encodeURIComponent(requestId)}`, workflowProgress),

    /** Tell the service which transaction carries an intent. */
    registerTransaction: async (requestId: string, body: TransactionRegistration, idempotencyKey: string) => {
      const path = `/v1/workflows/${encodeURIComponent(requestId)}/transactions`
      return (await post(path, JSON.stringify(body), idempotencyKey, workflowProgress)).answer
    },

    /** Read what the service knows of a transaction: no rows when it knows nothing. */
    getTransaction: (chainId: number, txHash: Hex) =>
      readCollection(http, { path: `/v1/transactions/${chainId}/${txHash}` }, trackedTransaction),

    /** Read one page of events after a cursor, oldest first; null begins at the oldest that is kept. */
    pollEvents: (cursor: string | null, signal: AbortSignal) =>
      readPage(http, { path: '/v1/events', signal }, polledEvent, cursor),

    createStreamToken,

    /** Open the event stream, with a token of its own. */
    openStream: async (request: StreamRequest, handlers: StreamHandlers) => {
      const token = await createStreamToken(request.signal)
      const call = http.callOf({ method: 'POST', path: '/v1/stream-token' })
      return connectStream(streamUrl(call, token.url, streamBase), token.token, request, handlers)
    },

    /** Ask for the text that a wallet signs to open a session. */
    createWalletChallenge: async (address: Address, chainId: number) => {
      const body = JSON.stringify({ address, chainId })
      return (await post('/v1/wallet-sessions/challenges', body, randomUUID(), walletChallenge)).answer
    },

    /** Answer a challenge with its signature, 65 bytes. */
    confirmWalletChallenge: async (challengeId: string, signature: Hex) => {
      const body = JSON.stringify({ challengeId, signature })
      return (await post('/v1/wallet-sessions/confirm', body, randomUUID(), walletSession)).answer
    },

    /** Drop every connection; what is in flight fails. */
    close: http.close,
  }
}

const postHeaders = (idempotencyKey: string) => ({
  'content-type': 'application/json',
  'idempotency-key': idempotencyKey,
})

/** Source: service API, "Authentication". A key that cannot be a header value is refused here, unprinted. */
function credentials(secretKey: string): Readonly<Record<string, string>> {
  if (!/^[\x21-\x7e]{1,4096}$/.test(secretKey))
    throw new RolekeeperError(
      'service.unauthorized',
      'The secret key is empty or holds a character that no key has.',
      {
        fix: 'check `service.secretKey` for blanks and line ends.',
      },
    )
  return { accept: 'application/json', authorization: `Bearer ${secretKey}` }
}
