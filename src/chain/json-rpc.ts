import { Pool } from 'undici'
import { z } from 'zod'
import type { RpcFailure } from './node-errors.ts'

/** A node's answer: a result that nobody has checked yet, or what it said instead. */
export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly failure: RpcFailure }

/** Why there is no answer: none in time, an HTTP status, a body that is no answer, or a broken connection. */
export type Unanswered =
  | { readonly kind: 'timeout' | 'garbage' | 'connection' }
  | { readonly kind: 'status'; readonly status: number }

/** JSON-RPC 2.0 over HTTP at one address. */
export type JsonRpc = {
  /** Ask once. Never throws. */
  readonly ask: (method: string, params: readonly unknown[]) => Promise<RpcAnswer | Unanswered>
  /** Give up what is under way and ask no more. */
  readonly close: () => Promise<void>
}

/** A block of 60 M gas with its transactions, receipts and code stay below; a node cannot fill our memory. */
const BODY_BYTES_MAX = 8 * 1024 * 1024
/** Calls beyond this many go out as another batch: nodes cap theirs (geth at 1,000, some providers at 100). */
const BATCH_MAX = 100
/** More requests at once than a keeper has workflows that move within one head's time; the rest waits, within its deadline. */
const CONNECTIONS_MAX = 64
/** A fresh connection costs round trips before a decision; heads are polled often enough to keep one open. */
const KEEP_ALIVE_MS = 30_000

type Waiting = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly answer: (answer: RpcAnswer | Unanswered) => void
}

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

/** Speak to one address. Calls of one event-loop turn are one request; it has one deadline, from start to the body's end. */
export function createJsonRpc(given: NodeAddress, timeoutMs: number): JsonRpc {
  const addressNow = typeof given === 'string' ? () => given : given
  let to = requestTo(addressNow())
  const pool = new Pool(to.origin, {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    connect: { timeout: timeoutMs },
    maxResponseSize: BODY_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
  })
  let waiting: Waiting[] = []

  async function post(batch: readonly Waiting[]): Promise<void> {
    const deadline = AbortSignal.timeout(timeoutMs)
    const calls = batch.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    let reply: Reply | Unanswered
    const address = addressNow()
    if (address !== to.address) to = requestTo(address)
    const { path, headers } = to
    try {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path,
        headers,
        body: JSON.stringify(calls.length === 1 ? calls[0] : calls),
        signal: deadline,
      })
      reply = { status: statusCode, text: await body.text() }
    } catch {
      // What broke holds the address and the body: nothing of it is kept.
      reply = { kind: deadline.aborted ? 'timeout' : 'connection' }
    }
    const answers = 'kind' in reply ? batch.map(() => reply) : answersIn(reply, batch.length)
    for (const [index, { answer }] of batch.entries()) answer(answers[index] ?? { kind: 'garbage' })
  }

  function flush(): void {
    const all = waiting
    waiting = []
    for (let from = 0; from < all.length; from += BATCH_MAX) void post(all.slice(from, from + BATCH_MAX))
  }

  return {
    ask: (method, params) =>
      new Promise((answer) => {
        waiting.push({ method, params, answer })
        if (waiting.length === 1) setImmediate(flush)
      }),
    close: () => pool.destroy(),
  }
}

type Reply = { readonly status: number; readonly text: string }

const failure = z.object({ code: z.coerce.number(), message: z.coerce.string() })
const fault = z.object({ error: failure })
const answered = z.object({ id: z.number(), error: failure.nullish(), result: z.unknown().optional() })

/** Take a reply apart, one answer for each of `size` calls. Pure. */
function answersIn({ status, text }: Reply, size: number): readonly (RpcAnswer | Unanswered)[] {
  const every = (answer: RpcAnswer | Unanswered) => Array.from({ length: size }, () => answer)
  const body = parse(text)
  const isOk = status >= 200 && status < 300
  // One error can stand for the whole batch, whatever the status.
  const refusal = isFault(body) ? fault.safeParse(body) : null
  if (refusal?.success && (size > 1 || !isOk)) return every({ ok: false, failure: refusal.data.error })
  if (!isOk) return every({ kind: 'status', status })
  const byId = new Map<number, RpcAnswer>()
  for (const item of size === 1 ? [body] : Array.isArray(body) ? body : []) {
    const one = answered.safeParse(item)
    if (!one.success) continue
    const { id, error, result } = one.data
    byId.set(id, error == null ? { ok: true, result } : { ok: false, failure: error })
  }
  return Array.from({ length: size }, (_, id) => byId.get(id) ?? { kind: 'garbage' })
}

/** Before its schema is asked: a parse that fails costs as much as reading the answer. */
const isFault = (body: unknown): boolean => typeof body === 'object' && body !== null && 'error' in body

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
