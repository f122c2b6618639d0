import type { FastifyReply, FastifyRequest } from 'fastify'
import { RATE_LIMIT_HEADERS } from '../../../src/service/contract/assumptions.ts'
import type { ApiKeys } from '../tenants/api-keys.ts'
import { CREDENTIAL_HEADERS } from './access.ts'

/** What a page may send; a secret key is not among it. */
const SENT = [...Object.values(CREDENTIAL_HEADERS), 'content-type', 'idempotency-key'].join(', ')
const SHOWN = ['x-request-id', 'retry-after', ...Object.values(RATE_LIMIT_HEADERS)].join(', ')
const PREFLIGHT_SECONDS = 600

/**
 * Let pages of an origin that a publishable key is bound to read the answer; any other origin gets no such header.
 * Returns whether the request is a preflight of such a page, which is answered without credentials.
 * Source: Fetch standard, "CORS protocol".
 */
export function shareWithPages(request: FastifyRequest, reply: FastifyReply, keys: ApiKeys): boolean {
  const { origin } = request.headers
  if (origin === undefined) return false
  reply.header('vary', 'Origin')
  if (!keys.isBound(origin)) return false
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', SHOWN)
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined)
    return false
  reply.headers({
    'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
    'access-control-allow-headers': SENT,
    'access-control-max-age': PREFLIGHT_SECONDS,
  })
  return true
}
