import { randomBytes } from 'node:crypto'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Clock } from '../../../src/clock.ts'
import { QUERY } from '../../../src/service/contract/assumptions.ts'
import { OPERATIONS, type Operation, type OperationId } from '../../../src/service/contract/catalogue.ts'
import type { EventLog } from '../events/events.ts'
import type { Fault } from '../faults/faults.ts'
import { sha256 } from '../store.ts'
import type { ApiKeys } from '../tenants/api-keys.ts'
import type { Audit } from '../tenants/audit.ts'
import type { Usage } from '../tenants/usage.ts'
import { ANYONE, authorise, identify } from './access.ts'
import { ApiError, errorObject, rawFailure } from './api-error.ts'
import { shareWithPages } from './cors.ts'
import type { AnyCall, Caller, Handlers, Performed } from './handler.ts'
import type { Idempotency, StoredAnswer } from './idempotency.ts'
import { parseBody } from './parse-body.ts'
import { quotaHeaders, type TakeQuota } from './rate-limit.ts'
import { assertUnambiguous, decodeUtf8 } from './strict-json.ts'
import type { WalletSessions } from './wallet-sessions.ts'

/** A larger body is refused; the largest that an operation takes is a tenth of it. */
const BODY_BYTES_MAX = 256 * 1_024
/** What begins so is for who runs the sandbox, who is no caller of the service. */
export const CONTROL_PREFIX = '/sandbox-control/'
/** Longer than any key, id or hash in a path. */
const PARAM_LENGTH_MAX = 200
const LINGER_MS = 1_000
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/
/** Strangers share one name, `anonymous:`; what keeps their stored answers apart is a key that nobody can guess. */
const ANONYMOUS_KEY_LENGTH_MIN = 32

/** What the HTTP layer is given. `fault` is read at every request; `onCrash` gets what no answer may show. */
type HttpDeps = {
  readonly handlers: Handlers
  readonly keys: ApiKeys
  readonly sessions: WalletSessions
  readonly idempotency: Idempotency
  readonly log: EventLog
  readonly audit: Audit
  readonly usage: Usage
  readonly take: TakeQuota
  /** Where a connection may become a WebSocket. */
  readonly streamPath: string
  readonly clock: Clock
  readonly fault: () => Fault
  readonly onCrash: (error: unknown) => void
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
}

/** A parsed body beside the text that its hash is taken of. */
type Body = { readonly raw: string; readonly value: unknown }

/** Name a request. */
export const newRequestId = () => `req_${randomBytes(12).toString('hex')}`

/** Whether a Host header names this machine: any other is a rebinding attempt. Pure. */
export const isLoopbackHost = (host: string | undefined) =>
  /^(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?$/.test(host ?? '')

/** Serve the operations over HTTP: credentials, limits, idempotency, the error object. Not listening yet. */
export function createHttp(deps: HttpDeps): FastifyInstance {
  const { take } = deps
  const app = fastify({
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
      const admitted = settle(() => admit(request, reply))
      return fail(reply, admitted.ok ? error : admitted.error)
    },
    clientErrorHandler: (_error, socket) => {
      if (!socket.writable) return
      socket.end(rawFailure(malformed, newRequestId(), quotaHeaders(take('refused'))))
      // The peer reads the answer, and has no longer to close its side than this.
      socket.setTimeout(LINGER_MS, () => socket.destroy())
    },
  })
  // An expectation that we do not know is none of our business; Node would answer a status that the API has not.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  const malformed = new ApiError(400, 'malformed_request', 'The request is not well-formed.')

  function admit(request: FastifyRequest, reply: FastifyReply): void {
    reply.header('x-request-id', request.id)
    request.caller = ANYONE
    const caller = settle(() => {
      if (!isLoopbackHost(request.headers.host))
        throw new ApiError(403, 'host_not_allowed', 'Unknown Host header.')
      return identify(request.headers, deps.keys, deps.sessions)
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

  function fail(reply: FastifyReply, error: unknown): FastifyReply {
    const failure = toApiError(error)
    if (failure.status === 500) deps.onCrash(error)
    if (failure.retryAfterS !== undefined) reply.header('retry-after', failure.retryAfterS)
    return send(reply, failureAnswer(failure, reply.request.id))
  }

  acceptJson(app)
  app.setErrorHandler((error, _request, reply) => fail(reply, error))
  app.setNotFoundHandler((_request, reply) =>
    fail(reply, new ApiError(400, 'not_found', 'There is no such operation.')),
  )
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url?.startsWith(CONTROL_PREFIX) === true) return
    if (isLoopbackHost(request.headers.host) && shareWithPages(request, reply, deps.keys)) {
      reply.header('x-request-id', request.id)
      return reply.code(204).send()
    }
    admit(request, reply)
  })
  for (const id of Object.keys(OPERATIONS) as OperationId[]) {
    const operation: Operation = OPERATIONS[id]
    const handler = handlerOf(deps.handlers, id)
    app.route({
      method: operation.method,
      url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
      onRequest: async (request) => authorise(request.caller, operation),
      onResponse: async ({ caller: { applicationId } }, reply) => {
        if (applicationId !== null) deps.usage.count(applicationId, id, reply.statusCode >= 400)
      },
      handler: (request, reply) => handle(deps, id, handler, request, reply),
    })
  }
  return app
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

/** A call as any handler takes it: the catalogue has checked that its parameters and body are that handler's. */
type CheckedCall = AnyCall & { readonly body: unknown }
type AnyHandler = (call: CheckedCall) => unknown

const handlerOf = (handlers: Handlers, id: OperationId) => handlers[id] as AnyHandler

async function handle(
  deps: HttpDeps,
  id: OperationId,
  handler: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const operation: Operation = OPERATIONS[id]
  const fault = deps.fault()
  const path = request.url
  if (fault.latencyMs !== undefined) await deps.clock.sleep(fault.latencyMs)
  if (fault.fail?.path.test(path)) {
    const { status, retryAfterS } = fault.fail
    const details = { retryable: true, ...(retryAfterS === undefined ? {} : { retryAfterS }) }
    throw new ApiError(status, 'injected_fault', 'A fault was set for this path.', details)
  }
  const body = request.body as Body | undefined
  const call: AnyCall = {
    caller: request.caller,
    params: request.params as Record<string, string>,
    query: checkedQuery(operation, request),
    host: request.headers.host ?? '',
    requestId: request.id,
  }
  const answered = () => handler({ ...call, body: checkedBody(operation, body?.value) })
  const answer = operation.changes
    ? await write(deps, id, answered as () => Performed | Promise<Performed>, request)
    : { status: 200, body: JSON.stringify(await answered()) }
  if (fault.dropReply?.test(path)) {
    reply.hijack()
    request.raw.socket.destroy()
    return
  }
  return send(reply, answer)
}

async function write(
  deps: HttpDeps,
  operation: OperationId,
  perform: () => Performed | Promise<Performed>,
  request: FastifyRequest,
): Promise<StoredAnswer> {
  const { idempotency, log } = deps
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string' || !IDEMPOTENCY_KEY.test(key)) {
    throw new ApiError(
      400,
      'idempotency_key_required',
      'Send an Idempotency-Key of 1 to 200 visible characters.',
    )
  }
  const caller = request.caller.id
  if (caller === ANYONE.id && key.length < ANONYMOUS_KEY_LENGTH_MIN) {
    throw new ApiError(
      400,
      'idempotency_key_too_short',
      `Without a credential an Idempotency-Key has at least ${ANONYMOUS_KEY_LENGTH_MIN} characters, and this one has ${key.length}; send a fresh UUID.`,
    )
  }
  const raw = (request.body as Body | undefined)?.raw ?? ''
  const requestHash = sha256(`${request.method} ${request.url}\n${raw}`)
  const earlier = idempotency.begin(request.caller, key, requestHash)
  if (earlier !== null) return earlier
  try {
    const performed = await perform()
    const answer = { status: 200, body: JSON.stringify(performed.body) }
    log.append(performed.events ?? [], () => {
      performed.commit()
      audit(deps, operation, performed, request)
      idempotency.finish(caller, key, answer)
    })
    performed.committed?.()
    return answer
  } catch (error) {
    const failure = toApiError(error)
    if (failure.retry === 'never') {
      const answer = failureAnswer(failure, request.id)
      idempotency.finish(caller, key, answer)
      return answer
    }
    idempotency.release(caller, key)
    throw error
  }
}

/** What belongs to no application, such as a challenge that anyone asks for, is in nobody's log. */
function audit(
  { audit }: HttpDeps,
  action: OperationId,
  performed: Performed,
  request: FastifyRequest,
): void {
  const applicationId = request.caller.applicationId ?? performed.applicationId
  if (applicationId === undefined) return
  const { id, requestId } = performed.body as { readonly id?: unknown; readonly requestId?: unknown }
  const target = Object.values(request.params as Record<string, string>)[0] ?? id ?? requestId
  const actor = request.caller.id
  const entry = { applicationId, action, actor, requestId: request.id }
  audit.record({ ...entry, target: typeof target === 'string' ? target : null })
}

/** Only the parameters that the operation takes: a filter that is silently ignored would be a wrong answer. */
function checkedQuery(operation: Operation, request: FastifyRequest): Record<string, readonly string[]> {
  const known: readonly string[] = [
    ...(operation.answer.kind === 'collection' ? [QUERY.cursor, QUERY.pageSize] : []),
    ...(operation.fields ? [QUERY.fields] : []),
    ...(operation.rowsOf === null ? [] : [QUERY[operation.rowsOf]]),
  ]
  const given = Object.entries(request.query as Record<string, string | string[]>)
  return Object.fromEntries(
    given.map(([name, value]) => {
      if (!known.includes(name))
        throw new ApiError(400, 'invalid_request', 'The query has an unknown parameter.')
      return [name, Array.isArray(value) ? value : [value]]
    }),
  )
}

/** No body counts as an empty object; where an operation takes none, only these two are taken. */
function checkedBody({ body: schema }: Operation, given: unknown): unknown {
  if (schema !== null) return parseBody(schema, given === undefined ? {} : given)
  if (given !== undefined) parseBody(NO_MEMBERS, given)
  return null
}

const NO_MEMBERS = z.strictObject({})

const failureAnswer = (failure: ApiError, requestId: string): StoredAnswer => ({
  status: failure.status,
  body: JSON.stringify(errorObject(failure, requestId)),
})

function send(reply: FastifyReply, answer: StoredAnswer): FastifyReply {
  return reply.code(answer.status).header('content-type', 'application/json; charset=utf-8').send(answer.body)
}

/** Fastify's own failures are all the client's, under statuses that the API does not declare: they become 400. */
function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new ApiError(400, 'body_too_large', `The body is over ${BODY_BYTES_MAX} bytes.`)
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new ApiError(400, 'unsupported_media_type', 'Send application/json.')
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new ApiError(400, 'malformed_request', 'The request is not well-formed.')
  }
  return new ApiError(500, 'internal', 'The service failed inside.', { retryable: true })
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
