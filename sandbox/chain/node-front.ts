import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { RolekeeperError } from '../../src/errors.ts'
import { SERVER_OPTIONS } from '../server-options.ts'
import { withDataFees } from './data-fees.ts'
import { type Ask, estimate, type RpcAnswer, refusal, simulate } from './node-front-rules.ts'
import { createNodeUpstream, type NodeUpstream } from './node-upstream.ts'
import { createReadWriteLock, type ReadWriteLock } from './read-write-lock.ts'

/** The node that people outside the sandbox see. */
export type NodeFront = {
  readonly url: string
  /**
   * Have a block mined every so many seconds from now on, while no state is read; 0 ends that. Resolves once no block of before is
   * to come. Anvil shows a block's state before it shows the block: what is read between the two is of neither.
   */
  readonly mineEvery: (seconds: number) => Promise<void>
  readonly stop: () => Promise<void>
}

/** A raw transaction is 128 kB at most; a batch of a hundred ordinary requests is far smaller than this. */
const REQUEST_BYTES_MAX = 4 * 1_024 * 1_024
const BATCH_MAX = 1_000
const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?$/

const rpcRequest = z.looseObject({
  method: z.string(),
  params: z.array(z.unknown()).default([]),
  id: z.union([z.string(), z.number(), z.null()]).default(null),
})
type RpcRequest = z.output<typeof rpcRequest>

/** Rules that a real node has and anvil has not. */
type Rules = Readonly<Record<string, (params: readonly unknown[], ask: Ask) => Promise<RpcAnswer>>>
const RULES: Rules = {
  eth_simulateV1: simulate,
  eth_estimateGas: estimate,
}
const OP_STACK_RULES: Rules = {
  ...RULES,
  eth_getTransactionReceipt: withDataFees('eth_getTransactionReceipt'),
  eth_getBlockReceipts: withDataFees('eth_getBlockReceipts'),
}

/**
 * What reads the state of a block. Of its head anvil may answer with the state of the block that it mines meanwhile, at
 * the time of the head: interest that is accrued in the next block then underflows. Where somebody else has blocks mined, it
 * is asked again while one comes in between, which makes that rare.
 */
const OF_STATE = new Set([
  ...['eth_call', 'eth_simulateV1', 'eth_estimateGas', 'eth_getBalance', 'eth_getCode', 'eth_getStorageAt'],
  'eth_getTransactionCount',
])

/**
 * Start a JSON-RPC node over HTTP on loopback in front of anvil: it enforces what geth enforces where anvil does not
 * (`node-front-rules.ts`), reads each block's own state, does not offer what runs the chain (`anvil_setBalance` and its
 * like), and passes everything else through. No WebSocket.
 * @param nodeUrl of anvil, on this machine.
 * @param isOpStack whether it charges for the bytes of transactions, which its receipts then say.
 */
export async function startNodeFront(nodeUrl: string, isOpStack = false): Promise<NodeFront> {
  const upstream = createNodeUpstream(nodeUrl)
  const lock = createReadWriteLock()
  const miner = createMiner(() => lock.write(() => upstream.createAsk()('evm_mine', [])))
  const server = createServer(SERVER_OPTIONS, (incoming, reply) => {
    serve(incoming, reply, { upstream, lock, rules: isOpStack ? OP_STACK_RULES : RULES }).catch(
      (error: unknown) => {
        if (reply.headersSent || !(error instanceof RolekeeperError)) reply.destroy()
        else
          answer(reply, error.code === 'sandbox.front_upstream' ? 502 : 400, rpcFailure(error.shortMessage))
      },
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mineEvery: miner.mineEvery,
    stop: async () => {
      const rested = miner.mineEvery(0)
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      upstream.close()
      await Promise.all([closed, rested])
    },
  }
}

/** Mine at intervals; while a block is not mined yet, no other is due. */
function createMiner(mine: () => Promise<void>): Pick<NodeFront, 'mineEvery'> {
  let timer: NodeJS.Timeout | undefined
  let mining: Promise<void> | undefined
  const tick = () => {
    // That a chain ended, it says itself.
    mining ??= mine()
      .catch(() => undefined)
      .finally(() => {
        mining = undefined
      })
  }
  return {
    mineEvery: async (seconds) => {
      clearInterval(timer)
      timer = seconds > 0 ? setInterval(tick, seconds * 1_000) : undefined
      await mining
    },
  }
}

const rpcFailure = (message: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32600, message } })

/** What stands behind the front. */
type Behind = { readonly upstream: NodeUpstream; readonly lock: ReadWriteLock; readonly rules: Rules }

async function serve(
  incoming: IncomingMessage,
  reply: ServerResponse,
  { upstream, lock, rules }: Behind,
): Promise<void> {
  const { method, headers } = incoming
  // A page in a browser must not reach the chain, by rebinding either.
  if (headers.origin !== undefined || !LOOPBACK.test(headers.host ?? ''))
    return answer(reply, 403, rpcFailure('caller from elsewhere'))
  if (method !== 'POST') return answer(reply, 405, rpcFailure('JSON-RPC is asked by POST'))
  const parsed = parse(await read(incoming))
  const requests = Array.isArray(parsed) ? parsed : [parsed]
  // Serialized anew: what was judged is what anvil gets, not what it would make of a key given twice.
  if (requests.every(isPlain(rules))) return upstream.pass(JSON.stringify(parsed), reply)
  const answers = await lock.read(() => answerAll(requests, upstream.createAsk(), rules))
  answer(reply, 200, JSON.stringify(Array.isArray(parsed) ? answers : answers[0]))
}

const isPlain =
  (rules: Rules) =>
  ({ method }: RpcRequest) =>
    refusal(method) === null && !OF_STATE.has(method) && rules[method] === undefined

/** On a machine so busy that each answer takes a block's time, nobody waits for ever. */
const ASKED_MAX = 4

/** Answer each; what reads a state is asked again while a block comes in between: then its block is no head any more. */
async function answerAll(
  requests: readonly RpcRequest[],
  ask: Ask,
  rules: Rules,
): Promise<readonly unknown[]> {
  const head = async () => JSON.stringify(await ask('eth_blockNumber', []))
  const answers = new Map<RpcRequest, unknown>()
  let due = requests
  for (let asked = 0; due.length > 0 && asked < ASKED_MAX; asked += 1) {
    // Asked first, in the same turn.
    const [before] = await Promise.all([
      head(),
      ...due.map(async (one) => answers.set(one, await answerOne(one, ask, rules))),
    ])
    due = before === (await head()) ? [] : requests.filter(({ method }) => OF_STATE.has(method))
  }
  return requests.map((one) => answers.get(one))
}

async function answerOne({ method, params, id }: RpcRequest, ask: Ask, rules: Rules) {
  const refused = refusal(method)
  const rule = rules[method]
  const answered =
    refused !== null
      ? { error: refused }
      : rule === undefined
        ? await ask(method, params)
        : await rule(params, ask)
  return { jsonrpc: '2.0', id, ...answered }
}

function parse(text: string): RpcRequest | readonly RpcRequest[] {
  try {
    return z.union([rpcRequest, z.array(rpcRequest).min(1).max(BATCH_MAX)]).parse(JSON.parse(text))
  } catch (cause) {
    throw new RolekeeperError('sandbox.front_request', 'The request is no JSON-RPC request or batch.', {
      cause,
    })
  }
}

function answer(reply: ServerResponse, status: number, body: string): void {
  reply.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  reply.end(body)
}

async function read(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > REQUEST_BYTES_MAX) {
      throw new RolekeeperError('sandbox.front_size', `The request is over ${REQUEST_BYTES_MAX} bytes.`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
