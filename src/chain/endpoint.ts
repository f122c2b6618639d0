import { BaseError, type Hex, HttpRequestError, http, TimeoutError } from 'viem'
import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import type { RpcFailure } from './node-errors.ts'

/** A node's answer: a result that nobody has checked yet, or what it said instead. */
export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly failure: RpcFailure }

/** One node, by a name that is safe to log. Calls of one event-loop turn go out as one JSON-RPC batch. */
export type Endpoint = {
  readonly name: string
  /** Whether its last request was answered; a node that was not is asked last. */
  readonly alive: () => boolean
  /**
   * Ask, and once more when the connection broke. After a failure it proves first that it is on our chain.
   * Throws RolekeeperError `node.unreachable`, `node.timeout`, `node.http_status` or `node.wrong_chain`.
   */
  readonly read: (method: string, params: readonly unknown[]) => Promise<RpcAnswer>
  /** Ask once, whatever happens: for what must not be repeated blindly. Throws as `read` does. */
  readonly once: (method: string, params: readonly unknown[]) => Promise<RpcAnswer>
  /** Ask for its chain id. Throws `node.wrong_chain`, or as `read` does. */
  readonly checkChain: () => Promise<void>
}

const chainIdHex = z.string().regex(/^0x[0-9a-fA-F]{1,13}$/)

/** A block of 60 M gas with its transactions' hashes, receipts and code stay far below; a node cannot fill our memory. */
const BODY_BYTES_MAX = 8 * 1024 * 1024

/** Calls beyond this many go out as another batch: nodes cap theirs (geth at 1,000, some providers at 100). */
const BATCH_MAX = 100

/** Map a transport's error to ours: its text and its cause hold the URL and the body, so neither is kept. */
function fromTransport(name: string, timeoutMs: number, error: unknown): RolekeeperError {
  if (error instanceof TimeoutError || (error instanceof Error && error.name === 'AbortError')) {
    return new RolekeeperError('node.timeout', `Node ${name} did not answer within ${timeoutMs} ms.`, {
      fix: 'check the node, or add another one to `chain.nodes`.',
      facts: { node: name, timeoutMs },
      retry: 'later',
    })
  }
  if (error instanceof HttpRequestError && error.status !== undefined) {
    return new RolekeeperError(
      'node.http_status',
      `Node ${name} answered with HTTP status ${error.status}.`,
      {
        fix: "check the node's address, key and quota in `chain.nodes`.",
        facts: { node: name, status: error.status },
        retry: 'later',
      },
    )
  }
  return new RolekeeperError('node.unreachable', `Node ${name} cannot be reached.`, {
    fix: 'check that it runs and that its address in `chain.nodes` is right.',
    facts: { node: name, kind: error instanceof BaseError ? error.name : 'connection' },
    retry: 'later',
  })
}

const wrongChain = (name: string, chainId: number, said: string) =>
  new RolekeeperError('node.wrong_chain', `Node ${name} is on chain ${said}, not on chain ${chainId}.`, {
    fix: 'correct its address in `chain.nodes`, or `chain.id`.',
    facts: { node: name, chainId, said },
    retry: 'later',
  })

/** Create the client of one node. Nothing is asked yet; its first request proves the chain. */
export function createEndpoint(options: {
  readonly name: string
  readonly url: string
  readonly chainId: number
  readonly timeoutMs: number
}): Endpoint {
  const { name, chainId, timeoutMs } = options
  const transport = http(options.url, {
    raw: true,
    // A retry inside the transport would send raw bytes again unseen.
    retryCount: 0,
    timeout: timeoutMs,
    batch: { batchSize: BATCH_MAX, wait: 0 },
    maxResponseBodySize: BODY_BYTES_MAX,
    fetchOptions: { redirect: 'error' },
  })({})
  let proven = false
  let alive = true

  async function ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    try {
      const answer: { error?: RpcFailure; result?: unknown } = await transport.request({ method, params })
      alive = true
      if (answer.error === undefined) return { ok: true, result: answer.result }
      return {
        ok: false,
        failure: { code: Number(answer.error.code), message: String(answer.error.message) },
      }
    } catch (error) {
      alive = false
      // The next answer at this address may be another node's.
      proven = false
      throw fromTransport(name, timeoutMs, error)
    }
  }

  async function checkChain(): Promise<void> {
    const answer = await ask('eth_chainId', [])
    const said = chainIdHex.safeParse(answer.ok ? answer.result : undefined)
    if (!said.success) throw wrongChain(name, chainId, 'that it does not name')
    if (Number(said.data) !== chainId) throw wrongChain(name, chainId, String(Number(said.data)))
    proven = true
  }

  async function once(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    if (!proven) await checkChain()
    return ask(method, params)
  }

  async function read(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    try {
      return await once(method, params)
    } catch (error) {
      // A kept connection that the node closed while idle fails once and works again at once.
      if (!(error instanceof RolekeeperError && error.code === 'node.unreachable')) throw error
      return once(method, params)
    }
  }

  return { name, alive: () => alive, read, once, checkChain }
}

/** Write a quantity as JSON-RPC wants it. Pure. */
export const quantity = (value: bigint | number): Hex => `0x${value.toString(16)}`
