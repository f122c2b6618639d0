import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keccak256 } from 'viem'
import { z } from 'zod'
import { createView, type RpcCall, type RpcReply, type View } from './node-view.ts'

/** What is done to a call, or to the HTTP request that it came in. */
type Deed =
  /** Answer, as late as this. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Take the request and say nothing, until the client gives up. */
  | { readonly kind: 'hang' }
  /** Send status and headers, then nothing. */
  | { readonly kind: 'headers_only' }
  /** Send half of the body, then nothing. */
  | { readonly kind: 'half_body' }
  /** Cut the connection; the node never got the request. */
  | { readonly kind: 'drop_before' }
  /** Do what is asked and cut the connection instead of answering. */
  | { readonly kind: 'drop_after' }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterS?: number }
  /** Answer 200 with a page of HTML. */
  | { readonly kind: 'garbage' }
  | { readonly kind: 'error'; readonly code: number; readonly message: string }
  /** Say this without asking the node. */
  | { readonly kind: 'result'; readonly result: unknown }
  /** Ask the node, and say something else. */
  | { readonly kind: 'change'; readonly change: (result: unknown, call: RpcCall) => unknown }
  /** Say that raw bytes were taken, and do not pass them on. */
  | { readonly kind: 'swallow' }

/** A deed, and the calls that it is done to. */
type NodeFault = {
  readonly deed: Deed
  /** Absent, every method. */
  readonly methods?: readonly string[]
  /** Asked for each call whose method fits; absent, yes. */
  readonly when?: (call: RpcCall) => boolean
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
  /** See the chain so from now on. */
  readonly setView: (view: View) => void
  /** Cut every connection and refuse new ones, as a node that is down; `up` listens at the same port again. */
  readonly down: () => Promise<void>
  readonly up: () => Promise<void>
  readonly stop: () => Promise<void>
}

const call = z.looseObject({
  method: z.string(),
  params: z.array(z.unknown()).default([]),
  id: z.union([z.string(), z.number(), z.null()]).default(null),
})
const body = z.union([call, z.array(call)])
type Call = z.output<typeof call>

/** Start a proxy on loopback in front of a node. */
export async function startNodeProxy(target: string): Promise<NodeProxy> {
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
  let methods: string[] = []
  let requests = 0

  const deedFor = (one: RpcCall): Deed | null => {
    const found = faults.find(
      ({ fault, done }) =>
        done < (fault.times ?? Number.POSITIVE_INFINITY) &&
        (fault.methods === undefined || fault.methods.includes(one.method)) &&
        (fault.when === undefined || fault.when(one)),
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
    const deeds = calls.map((one) => deedFor(one))
    const whole = deeds.find((deed) => deed !== null && !isOfOneCall(deed)) ?? null
    if (whole !== null && (await doBefore(whole, outgoing))) return
    if (deeds.every((deed) => deed === whole) && view.kind === 'honest') {
      const answer = await upstream(text)
      return finish(whole, outgoing, answer.status, answer.text)
    }
    const replies = await Promise.all(
      calls.map(async (one, index) => ({
        jsonrpc: '2.0',
        id: one.id,
        ...(await replyTo(one, deeds[index] ?? null, see)),
      })),
    )
    finish(whole, outgoing, 200, JSON.stringify(Array.isArray(parsed) ? replies : replies[0]))
  }

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  const port = await listen(0)
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
    setView: (next) => {
      view = next
      see = createView(next, ask)
    },
    down: close,
    up: async () => void (await listen(port)),
    stop: async () => {
      await close()
      agent.destroy()
    },
  }
}

const isOfOneCall = ({ kind }: Deed) =>
  kind === 'error' || kind === 'result' || kind === 'change' || kind === 'swallow'

/** Do what is done to a whole request before the node is asked; true when that ends it. */
async function doBefore(deed: Deed, outgoing: ServerResponse): Promise<boolean> {
  switch (deed.kind) {
    case 'delay':
      await new Promise((resolve) => setTimeout(resolve, deed.ms))
      return outgoing.destroyed
    case 'hang':
      return true
    case 'drop_before':
      outgoing.destroy()
      return true
    case 'status':
      outgoing.writeHead(
        deed.status,
        deed.retryAfterS === undefined ? {} : { 'retry-after': String(deed.retryAfterS) },
      )
      outgoing.end('{"message":"no quota left"}')
      return true
    case 'garbage':
      outgoing.writeHead(200, { 'content-type': 'text/html' })
      outgoing.end('<html><body>Welcome to the wireless network</body></html>')
      return true
    default:
      return false
  }
}

function finish(deed: Deed | null, outgoing: ServerResponse, status: number, text: string): void {
  if (deed?.kind === 'drop_after') {
    outgoing.destroy()
    return
  }
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  if (deed?.kind === 'headers_only') outgoing.flushHeaders()
  else if (deed?.kind === 'half_body') outgoing.write(text.slice(0, text.length / 2))
  else outgoing.end(text)
}

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

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}
