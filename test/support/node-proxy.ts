import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { keccak256 } from 'viem'
import { z } from 'zod'
import { SERVER_OPTIONS } from '../../sandbox/server-options.ts'
import { bytesOf, doBefore, finish, type HttpDeed } from './http-deeds.ts'
import { listenOnLoopback } from './loopback.ts'
import { createView, type RpcCall, type RpcReply, type View } from './node-view.ts'

/** What is done to a call, or to the HTTP request that it came in. */
type Deed =
  | HttpDeed
  | { readonly kind: 'error'; readonly code: number; readonly message: string }
  /** Say this without asking the node. */
  | { readonly kind: 'result'; readonly result: unknown }
  /** Ask the node, and say something else. */
  | { readonly kind: 'change'; readonly change: (result: unknown, call: RpcCall) => unknown }
  /** Say this of the whole request, with the id of none: as nodes do that take so many calls at once, or so many a second. */
  | { readonly kind: 'refuse'; readonly code: number; readonly message: string }
  /** Say that raw bytes were taken, and do not pass them on. */
  | { readonly kind: 'swallow' }

/** A deed, and the calls that it is done to. */
export type NodeFault = {
  readonly deed: Deed
  /** Absent, every method. */
  readonly methods?: readonly string[]
  /** Asked for each call whose method fits, with how many there are in its request; absent, yes. */
  readonly when?: (call: RpcCall, calls: number) => boolean
  /** It is spent after so many calls; absent, never. */
  readonly times?: number
}

/** A node over HTTP that is as honest as the one behind it until a test says otherwise. */
export type NodeProxy = {
  readonly url: string
  /** The methods of all calls since the last `forget`, in order of arrival. */
  readonly methods: () => readonly string[]
  /** The HTTP requests since the last `forget`: a batch is one. */
  readonly requests: () => number
  readonly forget: () => void
  /** Do these from now on, and nothing else; the first that fits a call is done to it. */
  readonly setFaults: (...faults: readonly NodeFault[]) => void
  /** Asked once for each HTTP request, before the faults: what is done to all of it; null to pass it. */
  readonly setNoise: (noise: (() => HttpDeed | null) | null) => void
  /** See the chain so from now on. */
  readonly setView: (view: View) => void
  /** Cut every connection and refuse new ones, as a node that is down; `up` listens at the same port again. */
  readonly down: () => Promise<void>
  readonly up: () => Promise<void>
  readonly stop: () => Promise<void>
}

const JSON_HEADERS = { 'content-type': 'application/json' }

const call = z.looseObject({
  method: z.string(),
  params: z.array(z.unknown()).default([]),
  id: z.union([z.string(), z.number(), z.null()]).default(null),
})
const body = z.union([call, z.array(call)])
type Call = z.output<typeof call>

/** Start a proxy on loopback in front of a node; `onCall` sees each call that arrives, whatever is done to it. */
export async function startNodeProxy(
  target: string,
  onCall: (call: RpcCall) => void = () => undefined,
): Promise<NodeProxy> {
  const agent = new Agent({ keepAlive: true })
  const upstream = (text: string) => post(agent, target, text)
  const ask = async ({ method, params }: RpcCall): Promise<RpcReply> => {
    const answer = await upstream(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const { result, error } = JSON.parse(answer.text)
    return error === undefined ? { result } : { error }
  }
  let faults: { readonly fault: NodeFault; done: number }[] = []
  let view: View = { kind: 'honest' }
  let see = createView(view, ask)
  let noise: (() => HttpDeed | null) | null = null
  let methods: string[] = []
  let requests = 0

  const deedFor = (one: RpcCall, calls: number): Deed | null => {
    const found = faults.find(
      ({ fault, done }) =>
        done < (fault.times ?? Number.POSITIVE_INFINITY) &&
        (fault.methods === undefined || fault.methods.includes(one.method)) &&
        (fault.when === undefined || fault.when(one, calls)),
    )
    if (found === undefined) return null
    found.done += 1
    return found.fault.deed
  }

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const text = String(await bytesOf(incoming))
    const parsed = body.parse(JSON.parse(text))
    const calls = Array.isArray(parsed) ? parsed : [parsed]
    requests += 1
    methods.push(...calls.map(({ method }) => method))
    for (const one of calls) onCall(one)
    const all = noise?.() ?? null
    const deeds = calls.map((one) => all ?? deedFor(one, calls.length))
    const refusal = deeds.find((deed) => deed?.kind === 'refuse')
    if (refusal?.kind === 'refuse') {
      const { code, message } = refusal
      return finish(
        null,
        outgoing,
        200,
        JSON_HEADERS,
        JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }),
      )
    }
    const whole = deeds.find((deed): deed is HttpDeed => deed !== null && !isOfOneCall(deed)) ?? null
    if (whole !== null && (await doBefore(whole, outgoing))) return
    if (deeds.every((deed) => deed === whole) && view.kind === 'honest') {
      const answer = await upstream(text)
      return finish(whole, outgoing, answer.status, JSON_HEADERS, answer.text)
    }
    const replies = await Promise.all(
      calls.map(async (one, index) => ({
        jsonrpc: '2.0',
        id: one.id,
        ...(await replyTo(one, deeds[index] ?? null, see)),
      })),
    )
    const said = JSON.stringify(Array.isArray(parsed) ? replies : replies[0])
    finish(whole, outgoing, 200, JSON_HEADERS, said)
  }

  const server = createServer(SERVER_OPTIONS, (incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  const port = await listenOnLoopback(server)
  return {
    url: `http://127.0.0.1:${port}`,
    methods: () => methods,
    requests: () => requests,
    forget: () => {
      methods = []
      requests = 0
    },
    setFaults: (...next) => {
      faults = next.map((fault) => ({ fault, done: 0 }))
    },
    setNoise: (next) => {
      noise = next
    },
    setView: (next) => {
      view = next
      see = createView(next, ask)
    },
    down: close,
    up: async () => {
      if (!server.listening) await listenOnLoopback(server, port)
    },
    stop: async () => {
      await close()
      agent.destroy()
    },
  }
}

const isOfOneCall = (deed: Deed): deed is Exclude<Deed, HttpDeed> =>
  ['error', 'refuse', 'result', 'change', 'swallow'].includes(deed.kind)

async function replyTo(
  one: Call,
  deed: Deed | null,
  see: (call: RpcCall) => Promise<RpcReply>,
): Promise<RpcReply> {
  if (deed?.kind === 'error') return { error: { code: deed.code, message: deed.message } }
  if (deed?.kind === 'result') return { result: deed.result }
  if (deed?.kind === 'swallow')
    return { result: keccak256(z.templateLiteral(['0x', z.string()]).parse(one.params[0])) }
  const reply = await see(one)
  return deed?.kind === 'change' && 'result' in reply ? { result: deed.change(reply.result, one) } : reply
}

async function post(agent: Agent, target: string, text: string): Promise<{ status: number; text: string }> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const sent = request(target, { agent, method: 'POST', headers })
  sent.end(text)
  const [answer]: IncomingMessage[] = await once(sent, 'response')
  if (answer === undefined) throw new TypeError('the node gave no response')
  return { status: answer.statusCode ?? 502, text: String(await bytesOf(answer)) }
}
