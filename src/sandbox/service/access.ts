import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Operation, type Credentials as Presented, SCOPES } from '../../service/catalogue.ts'
import { ApiError } from './api-error.ts'
import type { Caller } from './handler.ts'
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
  return {
    key,
    scopes: new Set(key === null ? [] : SCOPES),
    applicationId: key === null ? null : SEEDED_APPLICATION,
    wallet,
    id: `${key ?? 'anonymous'}:${wallet ?? ''}`,
  }
}

const SEEDED_APPLICATION = 'app_sandbox'

/**
 * Check a caller against what an operation permits. Throws ApiError 401 when a credential is missing, 403 when the one
 * given is not enough, or its key lacks the operation's scope.
 */
export function authorise(caller: Caller, { permits, scope }: Pick<Operation, 'permits' | 'scope'>): void {
  if (!permits.some((presented) => holds(caller, presented))) {
    const none = caller.key === null && caller.wallet === null
    const half =
      permits.every((one) => one.endsWith('+wallet')) && (caller.key === null || caller.wallet === null)
    if (none || half) {
      throw new ApiError(401, 'authentication_required', `This operation needs ${permits.join(' or ')}.`)
    }
    throw new ApiError(403, 'insufficient_authority', `This operation needs ${permits.join(' or ')}.`)
  }
  if (scope !== null && caller.key !== null && !caller.scopes.has(scope)) {
    throw new ApiError(403, 'insufficient_scope', `The key lacks the scope ${scope}.`)
  }
}

function holds({ key, wallet }: Caller, presented: Presented): boolean {
  const parts = presented.split('+')
  if (parts.includes('wallet') && wallet === null) return false
  if (parts.includes('secret')) return key === 'secret'
  return !parts.includes('publishable') || key === 'publishable'
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
