import { PUBLISHABLE_SCOPES } from '../../../src/service/contract/operations.ts'
import { ApiError, notFound } from '../http/api-error.ts'
import type { Call, Caller, Handler, Handlers } from '../http/handler.ts'
import { page } from '../http/page.ts'
import { type ApiKey, type ApiKeys, newApiKey } from './api-keys.ts'
import { applicationOf, type TenantDeps } from './application-operations.ts'
import { assertHolds, grantedScopes } from './scopes.ts'

/** Valid keys of one application. */
export const KEYS_MAX = 100

/** The keys of the asking key's own application. Source: service API, "POST /v1/keys". */
export const keyOperations = (deps: TenantDeps) =>
  ({
    listKeys: (call) => {
      const { id } = applicationOf(call.caller, deps.applications)
      const rows = deps.keys.ofApplication(id).map(keyRow)
      const keyOf = (row: (typeof rows)[number]) => `${row.createdAt} ${row.id}`
      return page(call, deps.cursors, { name: `keys ${id}`, rows, keyOf }, deps.freshness())
    },
    createKey: createKey(deps),
    rotateKey: rotateKey(deps),
    revokeKey: revokeKey(deps),
  }) satisfies Partial<Handlers>

function createKey({ applications, keys, clock }: TenantDeps): Handler<'createKey'> {
  return ({ body, caller }) => {
    const application = applicationOf(caller, applications)
    const scopes = grantedScopes(body.scopes, caller)
    const unknown = scopes.find((scope) => !application.scopes.includes(scope))
    if (unknown !== undefined) {
      throw new ApiError(403, 'insufficient_scope', `The application lacks the scope ${unknown}.`)
    }
    const origins = originsOf(body.kind, body.origins ?? [])
    if (body.kind === 'publishable' && scopes.some((scope) => !PUBLISHABLE_SCOPES.includes(scope))) {
      const message = `A publishable key holds no other scope than ${PUBLISHABLE_SCOPES.join(', ')}.`
      throw new ApiError(400, 'not_publishable', message)
    }
    if (keys.ofApplication(application.id).filter(isValid).length >= KEYS_MAX) {
      throw new ApiError(409, 'key_quota', `An application has at most ${KEYS_MAX} valid keys; revoke one.`)
    }
    const wanted = { kind: body.kind, scopes, origins, rotatedFromKeyId: null }
    const { key, token } = newApiKey(application, wanted, clock.nowMs())
    return { body: shownOnce(key, token), commit: () => keys.insert(key, token) }
  }
}

function originsOf(kind: ApiKey['kind'], given: readonly string[]): readonly string[] {
  if (kind === 'secret' && given.length > 0) {
    throw new ApiError(400, 'origins_of_secret_key', 'Only a publishable key is bound to origins.')
  }
  if (kind === 'publishable' && given.length === 0) {
    throw new ApiError(400, 'origins_required', 'A publishable key needs one or more origins.')
  }
  const origins = given.map((text) => new URL(text).origin)
  if (origins.some((origin, index) => origin !== given[index]?.replace(/\/$/, '').toLowerCase())) {
    throw new ApiError(400, 'invalid_origin', 'An origin is a scheme, a host and perhaps a port: no path.')
  }
  return [...new Set(origins)]
}

/**
 * POST /v1/keys/{keyId}/rotate: the new key holds what the old one held. A key may rotate itself; the answer to a
 * retry is then lost to it, because it is revoked by the first.
 */
function rotateKey({ applications, keys, clock }: TenantDeps): Handler<'rotateKey'> {
  return (call) => {
    const old = ownKey(call, keys)
    assertHolds(call.caller, old.scopes)
    const application = applicationOf(call.caller, applications)
    const nowMs = clock.nowMs()
    const { key, token } = newApiKey(application, { ...old, rotatedFromKeyId: old.id }, nowMs)
    return {
      body: shownOnce(key, token),
      commit: () => {
        revokeOrThrow(keys, old.id, nowMs)
        keys.insert(key, token)
      },
    }
  }
}

/** POST /v1/keys/{keyId}/revoke. A key may revoke itself, so that a leaked one can be ended by itself. */
function revokeKey({ keys, clock }: TenantDeps): Handler<'revokeKey'> {
  return (call) => {
    const key = ownKey(call, keys)
    const revokedMs = clock.nowMs()
    return {
      body: keyRow({ ...key, revokedMs }),
      commit: () => revokeOrThrow(keys, key.id, revokedMs),
    }
  }
}

/** Two calls may have judged the same valid key; the second to commit is refused. */
function revokeOrThrow(keys: ApiKeys, id: string, nowMs: number): void {
  if (keys.revoke(id, nowMs)) return
  throw new ApiError(409, 'key_revoked', 'The key was revoked before.')
}

function ownKey({ caller, params }: Pick<Call<'rotateKey'>, 'params'> & { caller: Caller }, keys: ApiKeys) {
  const key = keys.byId(params.keyId)
  if (key === null || key.applicationId !== caller.applicationId) throw notFound('key of this id')
  return key
}

const isValid = (key: ApiKey) => key.revokedMs === null

function keyRow({ createdMs, revokedMs, ...key }: ApiKey) {
  return {
    ...key,
    status: revokedMs === null ? 'active' : 'revoked',
    createdAt: new Date(createdMs).toISOString(),
    revokedAt: revokedMs === null ? null : new Date(revokedMs).toISOString(),
  }
}

const shownOnce = (
  { id, applicationId, kind, scopes, origins, rotatedFromKeyId, createdMs }: ApiKey,
  token: string,
) => ({
  id,
  applicationId,
  kind,
  token,
  scopes,
  origins,
  rotatedFromKeyId,
  secretShownOnce: true,
  createdAt: new Date(createdMs).toISOString(),
})
