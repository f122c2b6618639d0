import { Pool } from 'undici'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { type Call, failureOfReply, failureOfTransport, garbage } from './failure.ts'
import { readJson } from './json.ts'
import { createPacer, type Headers } from './pacing.ts'

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
/** A read is asked again soon anyway. A POST must learn its fate: its key makes every attempt the same one. */
const ATTEMPTS = { GET: 2, POST: 4 } as const
const BACKOFF_MS = 100
const BACKOFF_MS_MAX = 2_000
/** A caller that would wait longer for its turn is told so instead: what it wanted to do grows old. */
const TURN_WAIT_MS_MAX = 5_000

/** One request. `path` holds no query. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query?: URLSearchParams
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is, the same bytes on every attempt. */
  readonly body?: string
  readonly signal?: AbortSignal
}

/** The one way to the service's origin. */
export type Http = {
  readonly base: URL
  readonly callOf: (request: HttpRequest) => Call
  /** Send until answered; the JSON of a 2xx answer, and its exact text. Throws `service.*` errors. */
  readonly send: (request: HttpRequest) => Promise<{ readonly text: string; readonly value: unknown }>
  /** Drop every connection and fail what is in flight. */
  readonly close: () => Promise<void>
}

type Reply = { readonly status: number; readonly headers: Headers; readonly text: string }

/**
 * Create the way to one origin: one pool, explicit timeouts and sizes, no redirects, pacing and bounded retries.
 * @param headers sent with every request: the credentials.
 */
export function createHttp(
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  timeouts: ServiceTimeouts,
  clock: Clock,
): Http {
  const base = new URL(baseUrl)
  const prefix = base.pathname.replace(/\/$/, '')
  const pacer = createPacer(clock)
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
  const callOf = (request: HttpRequest): Call => ({
    host: base.host,
    method: request.method,
    path: `${prefix}${request.path}`,
  })

  const attempt = async (request: HttpRequest, call: Call): Promise<Reply | RolekeeperError> => {
    const abort = new AbortController()
    const onAbort = () => abort.abort()
    const timer = setTimeout(
      () => abort.abort(new DOMException('attempt', 'TimeoutError')),
      timeouts.attemptMs,
    )
    request.signal?.addEventListener('abort', onAbort, { once: true })
    const ended = pacer.sent()
    let answered: Headers | undefined
    try {
      if (request.signal?.aborted) onAbort()
      const response = await pool.request({
        method: request.method,
        path: request.query === undefined ? call.path : `${call.path}?${request.query}`,
        headers: { ...headers, ...request.headers },
        body: request.body ?? null,
        signal: abort.signal,
      })
      answered = response.headers
      return { status: response.statusCode, headers: answered, text: await response.body.text() }
    } catch (error) {
      return failureOfTransport(call, error)
    } finally {
      ended(answered)
      clearTimeout(timer)
      request.signal?.removeEventListener('abort', onAbort)
    }
  }

  const waitTurn = async (call: Call, signal: AbortSignal | undefined): Promise<void> => {
    const untilMs = clock.nowMs() + TURN_WAIT_MS_MAX
    for (let delayMs = pacer.delayMs(); delayMs > 0; delayMs = pacer.delayMs()) {
      if (clock.nowMs() + delayMs > untilMs) throw notOurTurn(call, delayMs)
      await pause(delayMs, call, signal)
    }
  }

  const pause = async (ms: number, call: Call, signal: AbortSignal | undefined): Promise<void> => {
    try {
      await clock.sleep(ms, signal)
    } catch {
      // A sleep ends early only when its caller gave up.
      throw failureOfTransport(call, new DOMException('given up', 'AbortError'))
    }
  }

  const send = async (request: HttpRequest) => {
    const call = callOf(request)
    for (let count = 1; ; count += 1) {
      if (pacer.delayMs() > 0) await waitTurn(call, request.signal)
      const reply = await attempt(request, call)
      if (!(reply instanceof RolekeeperError) && reply.status >= 200 && reply.status < 300)
        return readBody(call, reply)
      const failure =
        reply instanceof RolekeeperError
          ? reply
          : failureOfReply(call, { ...reply, requestId: first(reply.headers['x-request-id']) })
      const givenUp = failure.retry !== 'later' || count >= ATTEMPTS[request.method]
      if (givenUp || request.signal?.aborted) throw failure
      await pause(backoffMs(count), call, request.signal)
    }
  }

  return { base, callOf, send, close: () => pool.destroy() }
}

function readBody(call: Call, reply: Reply): { text: string; value: unknown } {
  if (!/^application\/json\s*(;|$)/i.test(first(reply.headers['content-type']) ?? ''))
    throw garbage(call, 'its content type is not application/json')
  const json = readJson(reply.text)
  if (!json.ok) throw garbage(call, json.message)
  return { text: reply.text, value: json.value }
}

const notOurTurn = (call: Call, delayMs: number) =>
  new RolekeeperError(
    'service.rate_limited',
    `The service at ${call.host} takes no request for ${delayMs} ms; ${call.method} ${call.path} waits ${TURN_WAIT_MS_MAX} ms at most.`,
    { fix: 'wait, or ask for a larger quota.', facts: { ...call, delayMs }, retry: 'later' },
  )

/** Doubling, with jitter so that several keepers do not come back together. */
const backoffMs = (count: number) =>
  Math.min(BACKOFF_MS * 2 ** (count - 1), BACKOFF_MS_MAX) * (0.5 + Math.random() / 2)

const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)
