import { RolekeeperError } from '../../../src/errors.ts'
import type { ServiceApiError } from '../../../src/service/contract/resources.ts'

/** The statuses of a failure. Source: service API, "Errors": every operation declares these and no other. */
export type FailureStatus = 400 | 401 | 403 | 409 | 429 | 500

/** What a failure says beside its status, code and sentence. */
type FailureDetails = {
  readonly retryable?: boolean
  readonly retryAfterS?: number
  /** What stands in the way, as a name. */
  readonly blockedReason?: string
}

/** A request that the service answers with the error object. The message is at most 200 characters. */
export class ApiError extends RolekeeperError {
  readonly status: FailureStatus
  readonly apiCode: string
  /** Seconds for the `Retry-After` header, or undefined for none. */
  readonly retryAfterS: number | undefined
  readonly blockedReason: string | undefined

  constructor(status: FailureStatus, code: string, message: string, details: FailureDetails = {}) {
    super(`api.${code}`, message.slice(0, 200), { retry: details.retryable === true ? 'later' : 'never' })
    this.status = status
    this.apiCode = code
    this.retryAfterS = details.retryAfterS
    this.blockedReason = details.blockedReason
  }
}

/** Refuse an id that names nothing. 400, because the declared set of statuses has no 404. Pure. */
export const notFound = (what: string) => new ApiError(400, 'not_found', `There is no ${what}.`)

/** Refuse a request for another chain. Pure. */
export const unknownChain = (chainId: number) =>
  new ApiError(400, 'unknown_chain', `This service is on chain ${chainId}.`)

/** Render a failure as the documented error object. Pure. */
export function errorObject(error: ApiError, requestId: string): ServiceApiError {
  return {
    ok: false,
    code: error.apiCode,
    message: error.shortMessage,
    requestId,
    retryable: error.retry !== 'never',
    ...(error.blockedReason === undefined ? {} : { blockedReason: error.blockedReason }),
  }
}

/** Render a failure as a whole HTTP response, for a socket that no request was parsed from. Pure. */
export function rawFailure(
  error: ApiError,
  requestId: string,
  headers: Readonly<Record<string, string | number>> = {},
): string {
  const body = JSON.stringify(errorObject(error, requestId))
  return [
    `HTTP/1.1 ${error.status} ${error.apiCode}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

/** A larger body is refused; the largest that an operation takes is a tenth of it. */
export const BODY_BYTES_MAX = 256 * 1_024

/** Name any failure as the API does. Fastify's own are all the client's, under statuses that it does not declare: 400. Pure. */
export function toApiError(error: unknown): ApiError {
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
