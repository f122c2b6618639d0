import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { z } from 'zod'
import { RolekeeperError } from '../../src/errors.ts'
import type { Ask, RpcAnswer } from './node-front-rules.ts'
import { TO_CHAIN } from './to-chain.ts'

/** The node behind the front. Its failures are RolekeeperError `sandbox.front_upstream`. */
export type NodeUpstream = {
  /** Send a JSON-RPC message, and its answer on to `reply` as it comes. */
  readonly pass: (body: string, reply: ServerResponse) => Promise<void>
  /** Begin to ask: what is asked in one turn travels as one batch. */
  readonly createAsk: () => Ask
  readonly close: () => void
}

/** Our own node client reads 8 MiB at most. */
const ANSWER_BYTES_MAX = 32 * 1_024 * 1_024

const answers = z.array(
  z.object({
    id: z.number(),
    result: z.unknown().optional(),
    error: z.object({ code: z.number(), message: z.string() }).optional(),
  }),
)

type UpstreamCall = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly resolve: (answer: RpcAnswer) => void
  readonly reject: (cause: unknown) => void
}

/** Connect to a node; nothing is asked yet. */
export function createNodeUpstream(url: string): NodeUpstream {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })

  async function post(body: string, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = request(url, { agent, method: 'POST', headers, signal, timeout: TO_CHAIN.timeout })
    sent.on('timeout', () => sent.destroy())
    // A failure after the answer began is its reader's; without a listener it would end the process.
    sent.on('error', () => {})
    sent.end(body)
    try {
      const [answer] = await once(sent, 'response')
      return answer as IncomingMessage
    } catch (cause) {
      throw unanswered(cause)
    }
  }

  async function send(asked: readonly UpstreamCall[]): Promise<void> {
    const body = asked.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    try {
      const chunks: Buffer[] = []
      const incoming = await post(JSON.stringify(body), AbortSignal.timeout(TO_CHAIN.timeout))
      for await (const chunk of bounded(incoming)) chunks.push(chunk)
      const answered = answers.parse(JSON.parse(Buffer.concat(chunks).toString()))
      const byId = new Map(answered.map((answer) => [answer.id, answer]))
      for (const [id, { resolve }] of asked.entries()) {
        const { result, error } = byId.get(id) ?? {}
        resolve(error === undefined ? { result: result ?? null } : { error })
      }
    } catch (cause) {
      const failure = cause instanceof RolekeeperError ? cause : unanswered(cause)
      for (const { reject } of asked) reject(failure)
    }
  }

  return {
    pass: async (body, reply) => {
      const gone = new AbortController()
      reply.once('close', () => {
        if (!reply.writableFinished) gone.abort()
      })
      const incoming = await post(body, gone.signal)
      const length = incoming.headers['content-length']
      reply.writeHead(incoming.statusCode ?? 502, {
        'content-type': 'application/json',
        ...(length === undefined ? {} : { 'content-length': length }),
      })
      for await (const chunk of bounded(incoming)) {
        if (!reply.write(chunk)) await once(reply, 'drain', { signal: gone.signal })
      }
      reply.end()
    },
    createAsk: () => {
      let turn: UpstreamCall[] = []
      return (method, params) =>
        new Promise((resolve, reject) => {
          turn.push({ method, params, resolve, reject })
          if (turn.length > 1) return
          queueMicrotask(() => {
            const asked = turn
            turn = []
            void send(asked)
          })
        })
    },
    close: () => agent.destroy(),
  }
}

async function* bounded(incoming: IncomingMessage): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) {
      incoming.destroy()
      throw unanswered(new RangeError(`The answer is over ${ANSWER_BYTES_MAX} bytes.`))
    }
    yield chunk
  }
}

const unanswered = (cause: unknown) =>
  new RolekeeperError('sandbox.front_upstream', "The sandbox's chain did not answer.", {
    fix: 'check that the sandbox still runs; ask for less at once.',
    retry: 'later',
    cause,
  })
