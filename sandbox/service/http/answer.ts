import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Clock } from '../../../src/clock.ts'
import { QUERY } from '../../../src/service/contract/assumptions.ts'
import { OPERATIONS, type Operation, type OperationId } from '../../../src/service/contract/operations.ts'
import type { EventLog } from '../events/events.ts'
import type { Fault } from '../faults/faults.ts'
import { sha256 } from '../store.ts'
import type { Audit } from '../tenants/audit.ts'
import { ANYONE } from './access.ts'
import { ApiError, errorObject, toApiError } from './api-error.ts'
import type { AnyCall, Caller, Handlers, Performed } from './handler.ts'
import type { Idempotency, StoredAnswer } from './idempotency.ts'
import { parseBody } from './parse-body.ts'

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/
/** Strangers share one name, `anonymous:`; what keeps their stored answers apart is a key that nobody can guess. */
const ANONYMOUS_KEY_LENGTH_MIN = 32

/** What a request is answered with. `fault` is read at every request. */
export type AnswerDeps = {
  readonly handlers: Handlers
  readonly idempotency: Idempotency
  readonly log: EventLog
  readonly audit: Audit
  readonly clock: Clock
  readonly fault: () => Fault
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
}

/** A parsed body beside the text that its hash is taken of. */
export type Body = { readonly raw: string; readonly value: unknown }

/** A call as any handler takes it: the catalogue has checked that its parameters and body are that handler's. */
type CheckedCall = AnyCall & { readonly body: unknown }
type AnyHandler = (call: CheckedCall) => unknown

/** Answer a request to one operation: faults first, then the checks of query and body, then its handler. */
export async function answerRequest(
  deps: AnswerDeps,
  id: OperationId,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const operation: Operation = OPERATIONS[id]
  const handler = deps.handlers[id] as AnyHandler
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
  deps: AnswerDeps,
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
  { audit }: AnswerDeps,
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

/** Render a failure as the answer to a request. Pure. */
export const failureAnswer = (failure: ApiError, requestId: string): StoredAnswer => ({
  status: failure.status,
  body: JSON.stringify(errorObject(failure, requestId)),
})

/** Send an answer that is whole. */
export function send(reply: FastifyReply, answer: StoredAnswer): FastifyReply {
  return reply.code(answer.status).header('content-type', 'application/json; charset=utf-8').send(answer.body)
}
