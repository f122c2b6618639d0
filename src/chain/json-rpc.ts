import { errors, Pool } from 'undici'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { RpcFailure } from './node-errors.ts'

/** A node's answer: a result that nobody has checked yet, or what it said instead. */
export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly failure: RpcFailure }

/** Why there is no answer: none in time, an HTTP status, a body that is no answer or is too large, or a broken connection. */
export type NoAnswer =
  | { readonly kind: 'timeout' | 'garbage' | 'too_large' | 'connection' }
  | { readonly kind: 'status'; readonly status: number }
  /**
   * The node limits how often it is asked, or took so long to read (`heldMs`) that it is asked less by us: it is left alone
   * until then, milliseconds of the monotonic clock.
   */
  | { readonly kind: 'limited'; readonly untilMs: number; readonly heldMs?: number }

/** A call as it is sent, but for its id. */
export type RpcCall = { readonly method: string; readonly params: readonly unknown[] }

/** What came back for one request. */
export type RpcReply = {
  /** One for each call. */
  readonly answers: readonly (RpcAnswer | NoAnswer)[]
  /** What the node said of all of them at once, in the place of answers, where they may be too many for it. */
  readonly refusal: RpcAnswer | NoAnswer | null
  /** The header of that name. */
  readonly retryAfter: string | null
  /** How long nothing else went on here while it was read, milliseconds. */
  readonly heldMs: number
}

/** Requests to one address. */
export type Requests = {
  /** Send calls as one request, which has one deadline, from its start to the body's end. Never throws. */
  readonly send: (calls: readonly RpcCall[]) => Promise<RpcReply>
  /** Give up what is under way and ask no more. */
  readonly close: () => Promise<void>
}

/** A node cannot fill our memory. What is larger is asked for in parts. */
const BODY_BYTES_MAX = 8 * 1024 * 1024
/** What is shorter than this is read in a moment: where the machine pauses meanwhile, it is not the node's doing. */
const LONG_CHARS = 64 * 1024
/** More requests at once than a keeper has workflows that move within one head's time; the rest waits, within its deadline. */
const CONNECTIONS_MAX = 64
/** A fresh connection costs round trips before a decision; heads are polled often enough to keep one open. */
const KEEP_ALIVE_MS = 30_000

/** The address of a node, or what says it now: the key in it may be replaced, the origin may not. */
export type NodeAddress = string | (() => string)

/** Take an address apart into what a request is made of. Pure. */
function requestTo(address: string) {
  const { origin, pathname, search, username, password } = new URL(address)
  const userinfo = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  const headers = {
    'content-type': 'application/json',
    ...(userinfo.length > 1 ? { authorization: `Basic ${userinfo.toString('base64')}` } : {}),
  }
  return { address, origin, path: pathname + search, headers }
}

/** Speak JSON-RPC 2.0 over HTTP to one address. */
export function createRequests(
  given: NodeAddress,
  timeoutMs: number,
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
): Requests {
  const addressNow = typeof given === 'string' ? () => given : given
  let to = requestTo(addressNow())
  const pool = new Pool(to.origin, {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    connect: { timeout: timeoutMs },
    maxResponseSize: BODY_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
  })

  async function send(calls: readonly RpcCall[]): Promise<RpcReply> {
    const deadline = AbortSignal.timeout(timeoutMs)
    const wire = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const address = addressNow()
    if (address !== to.address) to = requestTo(address)
    const { path, headers: own } = to
    try {
      const { statusCode, headers, body } = await pool.request({
        method: 'POST',
        path,
        headers: own,
        body: JSON.stringify(wire.length === 1 ? wire[0] : wire),
        signal: deadline,
      })
      const retryAfter = headers['retry-after']
      const text = await body.text()
      const fromMs = monotonicMs()
      return {
        ...readReply(statusCode, text, calls.length),
        retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
        heldMs: text.length < LONG_CHARS ? 0 : monotonicMs() - fromMs,
      }
    } catch (error) {
      // What broke holds the address and the body: nothing of it is kept.
      const isTooLarge = error instanceof errors.ResponseExceededMaxSizeError
      const kind = deadline.aborted ? 'timeout' : isTooLarge ? 'too_large' : 'connection'
      return { answers: calls.map(() => ({ kind })), refusal: null, retryAfter: null, heldMs: 0 }
    }
  }

  return { send, close: () => pool.destroy() }
}

const failure = z.object({ code: z.coerce.number(), message: z.coerce.string() })
const fault = z.object({ error: failure })
const answered = z.object({ id: z.number(), error: failure.nullish(), result: z.unknown().optional() })

/** Statuses that say so of a request; others are of who asks, or of the node. */
const TOO_MANY = [400, 413]

/** Take a reply apart, one answer for each of `size` calls. Pure. */
function readReply(status: number, text: string, size: number): Pick<RpcReply, 'answers' | 'refusal'> {
  const body = parse(text)
  const isOk = status >= 200 && status < 300
  // One error can stand for the whole batch, whatever the status; geth puts it into a list of one.
  const whole = Array.isArray(body) && body.length === 1 && size > 1 ? body[0] : body
  const refused = isFault(whole) ? fault.safeParse(whole) : null
  if (refused?.success || !isOk) {
    const refusal = refused?.success
      ? { ok: false as const, failure: refused.data.error }
      : { kind: 'status' as const, status }
    const mayBeTooMany = isOk || TOO_MANY.includes(status)
    return { answers: Array.from({ length: size }, () => refusal), refusal: mayBeTooMany ? refusal : null }
  }
  const byId = new Map<number, RpcAnswer>()
  for (const item of size === 1 ? [body] : Array.isArray(body) ? body : []) {
    const one = answered.safeParse(item)
    if (!one.success) continue
    const { id, error, result } = one.data
    byId.set(id, error == null ? { ok: true, result } : { ok: false, failure: error })
  }
  const answers = Array.from({ length: size }, (_, id) => byId.get(id) ?? { kind: 'garbage' as const })
  return { answers, refusal: null }
}

/** Before its schema is asked: a parse that fails costs as much as reading the answer. */
const isFault = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'error' in body && body.error != null

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
