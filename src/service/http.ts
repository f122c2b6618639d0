import { Pool } from 'undici'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { type CircuitPhase, createCircuit } from './circuit.ts'
import { type Call, failureOfTransport } from './failure.ts'
import type { Headers } from './pacing.ts'

/** How long each part of a request may take, milliseconds; undici notices up to a second late. */
export type ServiceTimeouts = {
  readonly connectMs: number
  readonly headersMs: number
  /** Silence within a body. */
  readonly bodyMs: number
  /** One attempt from start to end: a body that drips a byte a second passes `bodyMs` for ever. */
  readonly attemptMs: number
}

/** A handshake is a few round trips; the slowest answer is a prepare with its preflight, well under a second. */
export const SERVICE_TIMEOUTS: ServiceTimeouts = {
  connectMs: 1_000,
  headersMs: 5_000,
  bodyMs: 5_000,
  attemptMs: 10_000,
}

/** 100 of the largest rows are about 200 kB; undici's own default is no limit. */
export const RESPONSE_BYTES_MAX = 1_048_576

/** Enough for two waves of reads at once; more would only queue in the service. */
const CONNECTIONS_MAX = 16
/** A fresh connection costs round trips in the next wave. The race with a server that closes is met by retries. */
const KEEP_ALIVE_MS = 60_000

/** What one attempt sends. */
type Sent = {
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  /** Sent as it is. */
  readonly body: string | null
  readonly signal: AbortSignal | undefined
  /** Asked right before it is sent, and not where the circuit is open; where it throws, nothing is. */
  readonly ready?: (() => void) | undefined
}

/** What an attempt brought, whatever its status. */
export type Reply = { readonly status: number; readonly headers: Headers; readonly text: string }

/** What is reported about requests, for metrics. */
export type HttpEvents = {
  readonly onCircuit: (phase: CircuitPhase) => void
  /** An attempt ended: `ok`, `status_NNN`, or the failure's code. `dateMs` is the service's clock as it answered, if it said. */
  readonly onAttempt: (outcome: string, tookMs: number, dateMs: number | null) => void
}

/** The one way to the service's origin. */
export type Http = {
  /** The configured URL, with its path prefix. */
  readonly base: URL
  /** Make one attempt: a reply, or why there was none. Throws `service.circuit_open` when none is made. */
  readonly attempt: (call: Call, sent: Sent) => Promise<Reply | RolekeeperError>
  /** Drop every connection and fail what is in flight. */
  readonly close: () => Promise<void>
}

/** Create the way to one origin: one pool, one circuit, explicit timeouts and sizes, no redirects. */
export function createHttp(
  baseUrl: string,
  timeouts: ServiceTimeouts,
  clock: Clock,
  events: HttpEvents,
): Http {
  const base = new URL(baseUrl)
  const circuit = createCircuit(clock, events.onCircuit)
  const pool = new Pool(base.origin, {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    // HTTP/2 would bring another set of timeouts and limits, for a handful of requests a second.
    allowH2: false,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyMs,
    maxResponseSize: RESPONSE_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
  })

  const request = async (call: Call, sent: Sent): Promise<Reply | RolekeeperError> => {
    const abort = new AbortController()
    const onAbort = () => abort.abort()
    const timer = setTimeout(
      () => abort.abort(new DOMException('attempt', 'TimeoutError')),
      timeouts.attemptMs,
    )
    sent.signal?.addEventListener('abort', onAbort, { once: true })
    try {
      if (sent.signal?.aborted) onAbort()
      const response = await pool.request({
        method: call.method,
        path: sent.query.size === 0 ? call.path : `${call.path}?${sent.query}`,
        headers: sent.headers,
        body: sent.body,
        signal: abort.signal,
      })
      const text = await response.body.text()
      return { status: response.statusCode, headers: response.headers, text }
    } catch (error) {
      const failure = failureOfTransport(call, error)
      if (sent.signal?.aborted) throw failure
      return failure
    } finally {
      clearTimeout(timer)
      sent.signal?.removeEventListener('abort', onAbort)
    }
  }

  return {
    base,
    attempt: (call, sent) =>
      circuit.attempt(
        call,
        async () => {
          sent.ready?.()
          const startedAtMs = performance.now()
          const made = await request(call, sent)
          events.onAttempt(outcomeOf(made), performance.now() - startedAtMs, dateOf(made))
          return made
        },
        (made) => (made instanceof RolekeeperError || made.status >= 500 ? outcomeOf(made) : null),
      ),
    close: () => pool.destroy(),
  }
}

/** The `date` of an answer, to a second. */
function dateOf(made: Reply | RolekeeperError): number | null {
  const date = made instanceof RolekeeperError ? undefined : made.headers.date
  const ms = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

function outcomeOf(made: Reply | RolekeeperError): string {
  if (made instanceof RolekeeperError) return made.code
  return made.status >= 200 && made.status < 300 ? 'ok' : `status_${made.status}`
}
