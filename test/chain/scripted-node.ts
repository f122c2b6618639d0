import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Hex } from 'viem'
import { z } from 'zod'

/** Every URL of a scripted node holds this; no error may. */
export const CANARY = 'canary-key-7f3a'

const request = z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) })

/** What a node answers: a result, or `{ fault }` for a JSON-RPC error. */
type Answer = (params: readonly unknown[]) => unknown
type Fault = { readonly fault: { readonly code: number; readonly message: string } }
const isFault = (value: unknown): value is Fault =>
  typeof value === 'object' && value !== null && 'fault' in value

type Reply = { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: unknown }

/** A JSON-RPC server that says what a test tells it. */
export type ScriptedNode = {
  readonly url: string
  /** Answers by method; replace any at any time. */
  readonly answers: Record<string, Answer>
  /** The methods of each HTTP request, in order: a batch is one entry. */
  readonly requests: (readonly string[])[]
  /** How connections behave: answer, hang, send headers and then nothing, drop after reading, or an HTTP status. */
  behave: 'answer' | 'hang' | 'headers' | 'drop' | number
  /** What a request is answered with in the place of answers, where it is anything. */
  instead: (methods: readonly string[]) => Reply | undefined
  readonly stop: () => Promise<void>
}

/** A header as a node shows it. */
export const wireBlock = (number: number, hash: Hex = `0x${number.toString(16).padStart(64, '0')}`) => ({
  number: `0x${number.toString(16)}`,
  hash,
  parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
  timestamp: `0x${(1_000 + number).toString(16)}`,
  baseFeePerGas: '0x3b9aca00',
  gasUsed: '0x0',
  gasLimit: '0x1c9c380',
  miner: `0x${'fe'.repeat(20)}`,
})

/** Start a node on a chain, at a height. */
export async function startScriptedNode(chainId: number, height: number): Promise<ScriptedNode> {
  const requests: (readonly string[])[] = []
  const answers: Record<string, Answer> = {
    eth_chainId: () => `0x${chainId.toString(16)}`,
    eth_getBlockByNumber: () => wireBlock(height),
  }
  const node: ScriptedNode = {
    url: '',
    answers,
    requests,
    behave: 'answer',
    instead: () => undefined,
    stop: async () => undefined,
  }

  function answer(one: unknown) {
    const { id, method, params } = request.parse(one)
    const said = answers[method]?.(params) ?? null
    return isFault(said) ? { jsonrpc: '2.0', id, error: said.fault } : { jsonrpc: '2.0', id, result: said }
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
    const batch = Array.isArray(body) ? body : [body]
    requests.push(batch.map((one) => request.parse(one).method))
    if (node.behave === 'hang') return
    if (node.behave === 'drop') return void incoming.socket.destroy()
    outgoing.setHeader('content-type', 'application/json')
    if (node.behave === 'headers') return outgoing.flushHeaders()
    if (typeof node.behave === 'number') {
      outgoing.statusCode = node.behave
      return void outgoing.end(JSON.stringify({ message: `no quota for ${CANARY}` }))
    }
    const other = node.instead(requests.at(-1) ?? [])
    if (other !== undefined) {
      outgoing.writeHead(other.status ?? 200, other.headers)
      return void outgoing.end(JSON.stringify(other.body ?? null))
    }
    outgoing.end(JSON.stringify(Array.isArray(body) ? batch.map(answer) : answer(body)))
  }

  const server = createServer((incoming, outgoing) => void handle(incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(node, {
    url: `http://127.0.0.1:${port}/v3/${CANARY}?token=${CANARY}`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}
