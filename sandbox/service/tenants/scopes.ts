import { SCOPES, type Scope } from '../../../src/service/contract/operations.ts'
import { ApiError } from '../http/api-error.ts'
import type { Caller } from '../http/handler.ts'

/** What a live application may be approved for: there is no sandbox behind one. */
export const PRODUCTION_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !scope.startsWith('sandbox:'))

/**
 * Read the scopes that a body asks for, each once. Throws ApiError 400 `unknown_scope`, and 403 `insufficient_scope`
 * for one that the asking key does not hold itself: no key makes a stronger one.
 */
export function grantedScopes(asked: readonly string[], caller: Caller): readonly Scope[] {
  const scopes = SCOPES.filter((scope) => asked.includes(scope))
  if (asked.some((name) => !scopes.some((scope) => scope === name))) {
    throw new ApiError(400, 'unknown_scope', 'The service has no scope of a name that was given.')
  }
  assertHolds(caller, scopes)
  return scopes
}

/** Throws ApiError 403 `insufficient_scope` unless the asking key holds every one of the scopes. */
export function assertHolds(caller: Caller, scopes: readonly Scope[]): void {
  const missing = scopes.find((scope) => !caller.scopes.has(scope))
  if (missing === undefined) return
  throw new ApiError(403, 'insufficient_scope', `A key gives no scope that it lacks: ${missing}.`)
}
