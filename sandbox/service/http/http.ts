import { randomBytes } from 'node:crypto'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { OPERATIONS, type Operation, type OperationId } from '../../../src/service/contract/operations.ts'
import { SERVER_OPTIONS } from '../../server-options.ts'
import type { ApiKeys } from '../tenants/api-keys.ts'
import type { Usage } from '../tenants/usage.ts'
import { ANYONE, authorise, identify } from './access.ts'
import { type AnswerDeps, answerRequest, type Body, failureAnswer, send } from './answer.ts'
import { ApiError, BODY_BYTES_MAX, rawFailure, toApiError } from './api-error.ts'
import { shareWithPages } from './cors.ts'
import { quotaHeaders, type TakeQuota } from './rate-limit.ts'
import { assertUnambiguous, decodeUtf8 } from './strict-json.ts'
import type { WalletSessions } from './wallet-sessions.ts'

/** What begins so is for who runs the sandbox, who is no caller of the service. */
export const CONTROL_PREFIX = '/sandbox-control/'
/** Longer than any key, id or hash in a path. */
const PARAM_LENGTH_MAX = 200
const LINGER_MS = 1_000

/** What the HTTP layer is given. `onCrash` gets what no answer may show. */
type HttpDeps = AnswerDeps & {
  readonly keys: ApiKeys
  readonly sessions: WalletSessions
  readonly usage: Usage
  readonly take: TakeQuota
  /** Where a connection may become a WebSocket. */
  readonly streamPath: string
  readonly onCrash: (error: unknown) => void
}

/** Name a request. */
export const newRequestId = () => `req_${randomBytes(12).toString('hex')}`

/** Whether a Host header names this machine: any other is a rebinding attempt. Pure. */
export const isLoopbackHost = (host: string | undefined) =>
  /^(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?$/.test(host ?? '')

/** Serve the operations over HTTP: credentials, limits, idempotency, the error object. Not listening yet. */
export function createHttp(deps: HttpDeps): FastifyInstance {
  const app = createApp(deps)
  acceptJson(app)
  app.setErrorHandler((error, _request, reply) => fail(deps, reply, error))
  app.setNotFoundHandler((_request, reply) =>
    fail(deps, reply, new ApiError(400, 'not_found', 'There is no such operation.')),
  )
  app.addHook('onRequest', async (request, reply) => {
    reply.header('date', new Date(deps.clock.nowMs()).toUTCString())
    if (request.routeOptions.url?.startsWith(CONTROL_PREFIX) === true) return
    if (isLoopbackHost(request.headers.host) && shareWithPages(request, reply, deps.keys)) {
      reply.header('x-request-id', request.id)
      return reply.code(204).send()
    }
    admit(deps, request, reply)
  })
  for (const id of Object.keys(OPERATIONS) as OperationId[]) {
    const operation: Operation = OPERATIONS[id]
    app.route({
      method: operation.method,
      url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
      onRequest: async (request) => authorise(request.caller, operation),
      onResponse: async ({ caller: { applicationId } }, reply) => {
        if (applicationId !== null) deps.usage.count(applicationId, id, reply.statusCode >= 400)
      },
      handler: (request, reply) => answerRequest(deps, id, request, reply),
    })
  }
  return app
}

/** Create the server without routes: its limits, and what it answers before any hook runs. */
function createApp(deps: HttpDeps): FastifyInstance {
  const malformed = new ApiError(400, 'malformed_request', 'The request is not well-formed.')
  const app = fastify({
    ...SERVER_OPTIONS,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: 10_000,
    forceCloseConnections: true,
    genReqId: newRequestId,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    exposeHeadRoutes: false,
    http: {
      // Without one, Node would answer by itself, without the error object; `admit` refuses it.
      requireHostHeader: false,
      // Anywhere else the wish is ignored, as HTTP has it, and the request answered as it is.
      shouldUpgradeCallback: ({ url = '' }) => url.split('?')[0] === deps.streamPath,
    },
    frameworkErrors: (error, request, reply) => {
      // The router failed before any hook ran.
      const admitted = settle(() => admit(deps, request, reply))
      return fail(deps, reply, admitted.ok ? error : admitted.error)
    },
    clientErrorHandler: (_error, socket) => {
      if (!socket.writable) return
      socket.end(rawFailure(malformed, newRequestId(), quotaHeaders(deps.take('refused'))))
      // The peer reads the answer, and has no longer to close its side than this.
      socket.setTimeout(LINGER_MS, () => socket.destroy())
    },
  })
  // An expectation that we do not know is none of our business; Node would answer a status that the API has not.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  return app
}

/** Note who asks, and count the request; throws ApiError when the host, a credential or the rate is refused. */
function admit({ keys, sessions, take }: HttpDeps, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  request.caller = ANYONE
  const caller = settle(() => {
    if (!isLoopbackHost(request.headers.host))
      throw new ApiError(403, 'host_not_allowed', 'Unknown Host header.')
    return identify(request.headers, keys, sessions)
  })
  const quota = take(caller.ok ? caller.value.id : 'refused')
  reply.headers(quotaHeaders(quota))
  if (!quota.ok) {
    const details = { retryable: true, retryAfterS: quota.resetS }
    throw new ApiError(429, 'rate_limited', `The limit is ${quota.limit} requests a window.`, details)
  }
  if (!caller.ok) throw caller.error
  request.caller = caller.value
}

function fail({ onCrash }: HttpDeps, reply: FastifyReply, error: unknown): FastifyReply {
  const failure = toApiError(error)
  // A failure that was asked for is none of the service's own.
  if (failure.status === 500 && failure !== error) onCrash(error)
  if (failure.retryAfterS !== undefined) reply.header('retry-after', failure.retryAfterS)
  return send(reply, failureAnswer(failure, reply.request.id))
}

/** Keep a body's text beside its value; an empty body is no body. */
function acceptJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      const raw = decodeUtf8(bytes)
      if (raw === '') return { raw, value: undefined } satisfies Body
      const value = await new Promise<unknown>((resolve, reject) => {
        parse(request, raw, (error, parsed) => (error === null ? resolve(parsed) : reject(error)))
      })
      assertUnambiguous(raw)
      return { raw, value } satisfies Body
    },
  )
}

function settle<T>(
  work: () => T,
): { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown } {
  try {
    return { ok: true, value: work() }
  } catch (error) {
    return { ok: false, error }
  }
}
