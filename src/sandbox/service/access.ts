import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from './api-error.ts'
import type { Access, Caller } from './operation.ts'
import type { WalletSessions } from './wallet-sessions.ts'

/** The sandbox's own credentials: one secret key, one publishable key, and the origins that key is bound to. */
export type Credentials = {
  readonly secretKey: string
  readonly publishableKey: string
  /** For example `http://127.0.0.1:5173`. */
  readonly origins: readonly string[]
}

/** Source: service API, "Authentication"; the operator's brand is written `svc`. */
export const CREDENTIAL_HEADERS = {
  publishableKey: 'x-svc-publishable-key',
  walletSession: 'x-svc-wallet-session',
} as const

/**
 * Say who asks. Throws ApiError 401 for a credential that is not valid (even where none is needed), and 403 for one
 * that is presented from the wrong place: a secret key from a browser, a publishable key from a foreign origin.
 */
export function identify(
  headers: IncomingHttpHeaders,
  credentials: Credentials,
  sessions: WalletSessions,
): Caller {
  const origin = headers.origin
  if (origin !== undefined && !credentials.origins.includes(origin)) {
    throw new ApiError(403, 'origin_not_allowed', 'This origin is not bound to the application.')
  }
  const secret = hasSecretKey(headers, credentials, origin)
  const publishable = hasPublishableKey(headers, credentials, origin)
  const token = single(headers[CREDENTIAL_HEADERS.walletSession])
  const session = token === undefined ? null : sessions.find(token)
  if (token !== undefined && session === null) {
    throw new ApiError(401, 'invalid_session', 'The wallet session is unknown or has expired.')
  }
  const key = secret ? 'secret' : publishable ? 'publishable' : null
  const wallet = session?.address ?? null
  return { key, wallet, id: `${key ?? 'anonymous'}:${wallet ?? ''}` }
}

/** Throw ApiError 401 when the operation needs a credential that is missing, 403 when the one given is not enough. */
export function authorise(caller: Caller, access: Access): void {
  const anonymous = caller.key === null && caller.wallet === null
  if (access !== 'any' && anonymous) {
    throw new ApiError(401, 'authentication_required', 'This operation needs a credential.')
  }
  if (access === 'secret' && caller.key !== 'secret') {
    throw new ApiError(403, 'insufficient_scope', 'This operation takes a secret key only.')
  }
  if (access === 'key' && caller.key === null) {
    throw new ApiError(403, 'insufficient_scope', 'This operation takes a publishable or a secret key.')
  }
  if (access === 'key_and_wallet' && (caller.key === null || caller.wallet === null)) {
    throw new ApiError(401, 'authentication_required', 'This operation needs a key and a wallet session.')
  }
}

function hasSecretKey(
  headers: IncomingHttpHeaders,
  credentials: Credentials,
  origin: string | undefined,
): boolean {
  if (headers.authorization === undefined) return false
  const token = /^Bearer (\S+)$/.exec(headers.authorization)?.[1]
  if (token === undefined || !same(token, credentials.secretKey)) {
    throw new ApiError(401, 'invalid_secret_key', 'The secret key is not valid.')
  }
  if (origin !== undefined) {
    throw new ApiError(403, 'secret_key_from_browser', 'A secret key is never accepted from a browser.')
  }
  return true
}

function hasPublishableKey(
  headers: IncomingHttpHeaders,
  credentials: Credentials,
  origin: string | undefined,
): boolean {
  const key = single(headers[CREDENTIAL_HEADERS.publishableKey])
  if (key === undefined) return false
  if (!same(key, credentials.publishableKey)) {
    throw new ApiError(401, 'invalid_publishable_key', 'The publishable key is not valid.')
  }
  if (origin === undefined) {
    throw new ApiError(
      403,
      'origin_required',
      'A publishable key is accepted only from an origin it is bound to.',
    )
  }
  return true
}

const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
