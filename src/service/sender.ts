import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { Assumptions } from './contract/assumptions.ts'
import { OPERATIONS, type OperationId } from './contract/operations.ts'
import { type Call, failureOfReply, failureOfTransport, garbage } from './failure.ts'
import type { Http, Reply } from './http.ts'
import { readJson } from './json.ts'
import { createPacer } from './pacing.ts'

/** A read is asked again soon anyway. A change must learn its fate: its key makes every attempt the same one. */
const READ_ATTEMPTS = 2
const CHANGE_ATTEMPTS = 4
const BACKOFF_MS = 100
const BACKOFF_MS_MAX = 2_000
/** A caller that would wait longer for its turn fails instead: what it wanted to do grows old. */
const TURN_WAIT_MS_MAX = 5_000

/** One request of an operation; a change carries its idempotency key among the headers. */
export type ServiceRequest = {
  readonly operation: OperationId
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  /** Sent as it is, the same bytes on every attempt. */
  readonly body: string | null
  readonly signal: AbortSignal | undefined
  /** Asked right before it is sent; who gives it has it sent once, and sees to another try. */
  readonly ready?: (() => void) | undefined
}

/** The way to the service with one set of credentials. */
export type Sender = {
  /** The names that the service knows query parameters and headers by. */
  readonly assumed: Assumptions
  readonly callOf: (request: Pick<ServiceRequest, 'operation' | 'params'>) => Call
  /** Send until answered; the JSON of a 2xx answer, and its exact text. Throws `service.*` errors. */
  readonly send: (request: ServiceRequest) => Promise<{ readonly text: string; readonly value: unknown }>
}

/** Who asks: the headers of its credentials, and where the configuration names them. */
export type Asker = {
  readonly headers: Readonly<Record<string, string>>
  /** For example `service.secretKey`. */
  readonly keyPath: string
  /** Take the key out of a text of the service. */
  readonly hide: (text: string) => string
}

/** Create the way of one asker through a host: pacing by what the service says of its quota, and bounded retries. */
export function createSender(http: Http, asker: Asker, clock: Clock, assumed: Assumptions): Sender {
  const prefix = http.base.pathname.replace(/\/$/, '')
  // Quotas belong to keys.
  const pacer = createPacer(clock, assumed.rateLimitHeaders)

  const callOf: Sender['callOf'] = ({ operation, params }) => ({
    host: http.base.host,
    method: OPERATIONS[operation].method,
    path: prefix + pathOf(operation, params),
    operation,
    keyPath: asker.keyPath,
  })

  const attempt = async (request: ServiceRequest, call: Call): Promise<Reply | RolekeeperError> => {
    const ended = pacer.sent()
    let reply: Reply | RolekeeperError | undefined
    try {
      const headers = { ...asker.headers, ...request.headers }
      reply = await http.attempt(call, { ...request, headers })
      return reply
    } finally {
      ended(reply instanceof RolekeeperError ? undefined : reply?.headers)
    }
  }

  const waitTurn = async (call: Call, signal: AbortSignal | undefined): Promise<void> => {
    const untilMs = clock.monotonicMs() + TURN_WAIT_MS_MAX
    for (let delayMs = pacer.delayMs(); delayMs > 0; delayMs = pacer.delayMs()) {
      if (clock.monotonicMs() + delayMs > untilMs) throw notOurTurn(call, delayMs)
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

  const send = async (request: ServiceRequest) => {
    const call = callOf(request)
    const attempts = attemptsOf(request)
    let earlier: RolekeeperError | undefined
    for (let count = 1; ; count += 1) {
      if (pacer.delayMs() > 0) await waitTurn(call, request.signal)
      const reply = await attempt(request, call).catch((error: unknown) => {
        // Not asked this time: what was sent before may have taken effect all the same.
        throw earlier ?? error
      })
      if (!(reply instanceof RolekeeperError) && reply.status >= 200 && reply.status < 300)
        return readBody(call, reply)
      const failure = reply instanceof RolekeeperError ? reply : failureOf(reply, call, asker)
      if (failure.retry !== 'later' || count >= attempts || request.signal?.aborted) throw failure
      earlier = failure
      await pause(backoffMs(count), call, request.signal)
    }
  }

  return { assumed, callOf, send }
}

const attemptsOf = ({ operation, ready }: ServiceRequest): number => {
  if (ready !== undefined) return 1
  return OPERATIONS[operation].changes ? CHANGE_ATTEMPTS : READ_ATTEMPTS
}

/** What a service echoes of the key would stand in every place that says why. */
const failureOf = ({ status, text, headers }: Reply, call: Call, { hide }: Asker): RolekeeperError => {
  const requestId = first(headers['x-request-id'])
  return failureOfReply(call, {
    status,
    text: hide(text),
    requestId: requestId === undefined ? undefined : hide(requestId),
  })
}

/** Fill the braces of an operation's path; each parameter stays within its segment. */
function pathOf(operation: OperationId, params: Readonly<Record<string, string>>): string {
  return OPERATIONS[operation].path.replace(/\{(\w+)\}/g, (_braces, name: string) => {
    const value = params[name] ?? ''
    if (!/^\.{0,2}$/.test(value)) return encodeURIComponent(value)
    throw new RolekeeperError(
      'service.bad_request',
      `The operation ${operation} cannot be asked with "${value}" as its ${name}: it would name another path.`,
      { fix: 'find out where this id came from.', facts: { operation, name } },
    )
  })
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
