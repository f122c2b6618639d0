import type { Clock } from '../clock.ts'
import { type Assumptions, RATE_LIMIT_HEADERS } from './contract/assumptions.ts'

/** No header closes the service to us for longer: a hostile `Retry-After` must not stop a keeper for a year. */
const CLOSED_MS_MAX = 60_000

/** Response headers as the HTTP client gives them, names in lower case. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Read `Retry-After` as milliseconds from now, for both of its forms. Undefined when absent or malformed. Pure.
 * Source: RFC 9110, section 10.2.3.
 */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  if (!/^[A-Z][a-z]{2}, .{1,40} GMT$/.test(value)) return undefined
  const atMs = Date.parse(value)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

/** Keeps our requests within what the service's headers allow. One for each origin. */
type Pacer = {
  /** Milliseconds until a request may be sent; 0 for now. */
  readonly delayMs: () => number
  /** Count a request as sent; call the returned function when it ended, with its headers if it was answered. */
  readonly sent: () => (headers?: Headers) => void
}

/** Create a pacer that learns from `x-ratelimit-*` and `Retry-After`. No quota is built in. */
export function createPacer(
  clock: Clock,
  names: Assumptions['rateLimitHeaders'] = RATE_LIMIT_HEADERS,
): Pacer {
  let inFlight = 0
  let remaining = Number.POSITIVE_INFINITY
  let resetAtMs = 0
  let closedUntilMs = 0

  const learn = (headers: Headers) => {
    const monotonicMs = clock.monotonicMs()
    const left = integer(headers[names.remaining])
    const resetSeconds = integer(headers[names.resetSeconds])
    if (left !== undefined && resetSeconds !== undefined) {
      // What is in flight may not be counted yet: assume that it is not.
      remaining = left - inFlight
      resetAtMs = monotonicMs + Math.min(resetSeconds * 1_000, CLOSED_MS_MAX)
    }
    const retryAfter = retryAfterMs(single(headers['retry-after']), clock.nowMs())
    if (retryAfter !== undefined) closedUntilMs = monotonicMs + Math.min(retryAfter, CLOSED_MS_MAX)
  }

  return {
    delayMs: () => {
      const monotonicMs = clock.monotonicMs()
      if (monotonicMs >= resetAtMs) remaining = Number.POSITIVE_INFINITY
      return Math.max(0, closedUntilMs - monotonicMs, remaining > 0 ? 0 : resetAtMs - monotonicMs)
    },
    sent: () => {
      inFlight += 1
      remaining -= 1
      return (headers) => {
        inFlight -= 1
        if (headers !== undefined) learn(headers)
      }
    },
  }
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

function integer(value: string | string[] | undefined): number | undefined {
  const text = single(value)
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
