import type { Clock } from '../../../src/clock.ts'
import { RATE_LIMIT_HEADERS } from '../../../src/service/contract/assumptions.ts'

/** How many requests one caller may make in a window. */
export type RateLimit = { readonly requestsMax: number; readonly windowMs: number }

/** Generous: a keeper makes tens of requests a second; a loop without a pause makes thousands. */
export const DEFAULT_RATE_LIMIT: RateLimit = { requestsMax: 2_000, windowMs: 5_000 }

/** What one request left over. `resetS` is in seconds from now, rounded up. */
type Quota = {
  readonly ok: boolean
  readonly limit: number
  readonly remaining: number
  readonly resetS: number
}

/** Takes one request of a caller. */
export type TakeQuota = (caller: string) => Quota

/** Show a quota as every response does. Pure. */
export const quotaHeaders = ({ limit, remaining, resetS }: Quota) => ({
  [RATE_LIMIT_HEADERS.limit]: limit,
  [RATE_LIMIT_HEADERS.remaining]: remaining,
  [RATE_LIMIT_HEADERS.resetSeconds]: resetS,
})

/** More callers than this in one window share one count: memory stays bounded whatever is sent. */
const CALLERS_MAX = 1_000

/** Count requests by caller in fixed windows; the returned function takes one request. */
export function createRateLimiter(limit: RateLimit, clock: Clock): TakeQuota {
  let windowStartMs = clock.nowMs()
  const counts = new Map<string, number>()
  return (caller) => {
    const nowMs = clock.nowMs()
    if (nowMs - windowStartMs >= limit.windowMs) {
      windowStartMs = nowMs
      counts.clear()
    }
    const name = counts.has(caller) || counts.size < CALLERS_MAX ? caller : 'others'
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return {
      ok: count <= limit.requestsMax,
      limit: limit.requestsMax,
      remaining: Math.max(0, limit.requestsMax - count),
      resetS: Math.ceil((windowStartMs + limit.windowMs - nowMs) / 1_000),
    }
  }
}
