import type { IncomingHttpHeaders } from 'node:http'
import { invariant } from '../../../src/errors.ts'
import type { Operation, Credentials as Presented } from '../../../src/service/contract/operations.ts'
import type { ApiKey, ApiKeys } from '../tenants/api-keys.ts'
import { ApiError } from './api-error.ts'
import type { Caller } from './handler.ts'
import type { WalletSessions } from './wallet-sessions.ts'

/** Source: service API, "Authentication"; the operator's brand is written `svc`. */
export const CREDENTIAL_HEADERS = {
  publishableKey: 'x-svc-publishable-key',
  walletSession: 'x-svc-wallet-session',
} as const

/** Who asks when nothing is presented. */
export const ANYONE: Caller = {
  key: null,
  keyId: null,
  scopes: new Set(),
  applicationId: null,
  wallet: null,
  id: 'anonymous:',
}

/**
 * Say who asks. Throws ApiError 401 for a credential that is not valid (even where none is needed), and 403 for one
 * that is presented from the wrong place: a secret key from a browser, a publishable key from another origin, a
 * session beside another application's key.
 */
export function identify(headers: IncomingHttpHeaders, keys: ApiKeys, sessions: WalletSessions): Caller {
  const { origin } = headers
  // Both are looked at, so that a wrong one never passes unnoticed beside a right one.
  const [secret, publishable] = [secretKey(headers, keys), publishableKey(headers, keys)]
  const key = secret ?? publishable
  if (origin !== undefined && key === null && !keys.isBound(origin)) {
    throw new ApiError(403, 'origin_not_allowed', 'This origin is not bound to an application.')
  }
  const token = single(headers[CREDENTIAL_HEADERS.walletSession])
  const session = token === undefined ? null : sessions.find(token)
  const opener = typeof session?.keyId === 'string' ? keys.byId(session.keyId) : null
  // A session ends with the key that it was opened beside.
  if (token !== undefined && (session === null || typeof opener?.revokedMs === 'number')) {
    throw new ApiError(401, 'invalid_session', 'The wallet session is unknown or has ended.')
  }
  if (key === null && session === null) return ANYONE
  if (key !== null && opener !== null && opener.applicationId !== key.applicationId) {
    throw new ApiError(403, 'foreign_session', 'The wallet session was opened by another application.')
  }
  // Alone it may do what that key may: scopes are not shed by leaving the key away.
  const authority = key ?? opener
  const applicationId = authority?.applicationId ?? null
  return {
    key: key?.kind ?? null,
    keyId: authority?.id ?? null,
    scopes: new Set(authority?.scopes),
    applicationId,
    wallet: session?.address ?? null,
    id: `${key?.id ?? applicationId ?? 'anonymous'}:${session?.address ?? ''}`,
  }
}

/** Name the application of a caller that had to show a secret key. */
export function applicationOf({ applicationId }: Caller): string {
  invariant(applicationId !== null, 'a secret key belongs to an application')
  return applicationId
}

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
  if (scope !== null && caller.keyId !== null && !caller.scopes.has(scope)) {
    throw new ApiError(403, 'insufficient_scope', `The key lacks the scope ${scope}.`)
  }
}

function holds({ key, wallet }: Caller, presented: Presented): boolean {
  const parts = presented.split('+')
  if (parts.includes('wallet') && wallet === null) return false
  if (parts.includes('secret')) return key === 'secret'
  return !parts.includes('publishable') || key === 'publishable'
}

function secretKey(headers: IncomingHttpHeaders, keys: ApiKeys): ApiKey | null {
  if (headers.authorization === undefined) return null
  const token = /^Bearer (\S+)$/.exec(headers.authorization)?.[1] ?? ''
  const key = validKey(token, 'secret', keys)
  if (headers.origin !== undefined) {
    throw new ApiError(403, 'secret_key_from_browser', 'A secret key is never accepted from a browser.')
  }
  return key
}

function publishableKey(headers: IncomingHttpHeaders, keys: ApiKeys): ApiKey | null {
  const token = single(headers[CREDENTIAL_HEADERS.publishableKey])
  if (token === undefined) return null
  const key = validKey(token, 'publishable', keys)
  if (headers.origin === undefined) {
    throw new ApiError(
      403,
      'origin_required',
      'A publishable key is accepted only from an origin it is bound to.',
    )
  }
  if (!key.origins.includes(headers.origin)) {
    throw new ApiError(403, 'origin_not_allowed', 'The publishable key is not bound to this origin.')
  }
  return key
}

function validKey(token: string, kind: ApiKey['kind'], keys: ApiKeys): ApiKey {
  const key = keys.find(token)
  if (key === null || key.kind !== kind) {
    throw new ApiError(401, `invalid_${kind}_key`, `The ${kind} key is not valid.`)
  }
  if (key.revokedMs !== null) throw new ApiError(401, 'key_revoked', `The ${kind} key was revoked.`)
  return key
}

const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)
