import type { Hex } from 'viem'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { span } from '../readable.js'
import { createBatches } from './batches.ts'
import type { NoAnswer, NodeAddress, RpcAnswer } from './json-rpc.ts'

/** One node, by a name that is safe to log. */
export type Endpoint = {
  readonly name: string
  /** Whether its last request was answered; a node that was not is asked last. */
  readonly alive: () => boolean
  /**
   * Ask, and once more when the connection broke. After a failure it proves first that it is on our chain.
   * Throws RolekeeperError `node.unreachable`, `node.timeout` or `node.http_status`, or what `checkChain` throws.
   */
  readonly read: (method: string, params: readonly unknown[]) => Promise<RpcAnswer>
  /** Ask once and now, whatever happens: for what must be repeated neither blindly nor late. Throws as `read` does. */
  readonly once: (method: string, params: readonly unknown[]) => Promise<RpcAnswer>
  /** Ask for its chain id. Throws `node.wrong_chain`, `node.refused`, `node.bad_answer`, or as `read` does. */
  readonly checkChain: () => Promise<void>
  /** Give up what is under way and ask no more: every call fails as unreachable. */
  readonly close: () => Promise<void>
}

/** What a node says of its chain is asked for again after so long. */
const PROOF_MS = 10_000

const chainIdHex = z.string().regex(/^0x[0-9a-fA-F]{1,13}$/)

/** Map what came instead of an answer to our error. */
function unanswered(
  { name, timeoutMs, clock }: Pick<EndpointOptions, 'name' | 'timeoutMs' | 'clock'>,
  method: string,
  why: NoAnswer,
): RolekeeperError {
  if (why.kind === 'timeout') {
    return new RolekeeperError('node.timeout', `Node ${name} did not answer within ${span(timeoutMs)}.`, {
      fix: 'check the node, or add another one to `chain.nodes`.',
      facts: { node: name, timeoutMs },
      retry: 'later',
    })
  }
  if (why.kind === 'status') {
    return new RolekeeperError('node.http_status', `Node ${name} answered with HTTP status ${why.status}.`, {
      fix: "check the node's address, key and quota in `chain.nodes`.",
      facts: { node: name, status: why.status },
      retry: 'later',
    })
  }
  if (why.kind === 'limited') {
    const waitS = Math.max(1, Math.ceil((why.untilMs - clock.monotonicMs()) / 1_000))
    if (why.heldMs !== undefined) return tooLongToRead(name, why.heldMs, waitS)
    return new RolekeeperError(
      'node.rate_limited',
      `Node ${name} limits how often it is asked, and is left alone for ${waitS} s.`,
      {
        fix: "raise the node's quota, or add another one to `chain.nodes`.",
        facts: { node: name, waitS },
        retry: 'later',
      },
    )
  }
  if (why.kind === 'too_large') {
    return new RolekeeperError(
      'node.answer_too_large',
      `Node ${name} answered ${method} with more than 8 MiB.`,
      {
        fix: 'nothing, when it passes by itself: what can be asked for in parts is.',
        facts: { node: name, method },
        retry: 'later',
      },
    )
  }
  return new RolekeeperError('node.unreachable', `Node ${name} cannot be reached.`, {
    fix: 'check that it runs and that its address in `chain.nodes` is right.',
    facts: { node: name, kind: why.kind },
    retry: 'later',
  })
}

/** Make the error of a node that would hold up all else by what it answers. Pure. */
const tooLongToRead = (node: string, ms: number, waitS: number) =>
  new RolekeeperError(
    'node.bad_answer',
    `An answer of node ${node} took ${Math.round(ms)} ms to read, in which nothing else went on: it is left alone for ${waitS} s.`,
    {
      fix: 'look what it answers with, or use another node in `chain.nodes`.',
      facts: { node, ms: Math.round(ms), waitS },
      retry: 'later',
    },
  )

/** Make the error of an answer that is no answer. Pure. */
export const badAnswer = (node: string, method: string) =>
  new RolekeeperError('node.bad_answer', `Node ${node} gave an answer to ${method} that cannot be read.`, {
    fix: 'use another node in `chain.nodes`; this one is broken or not an Ethereum node.',
    facts: { node, method },
    retry: 'later',
  })

/** Make the error of a question that a node refuses with a JSON-RPC error. Pure. */
export const refused = (node: string, method: string, code: number) =>
  new RolekeeperError('node.refused', `Node ${node} refused ${method} with code ${code}.`, {
    fix:
      method === 'eth_simulateV1'
        ? 'use a node that supports eth_simulateV1 and holds the newest state.'
        : 'check what the node supports, or use another one in `chain.nodes`.',
    facts: { node, method, code },
    retry: 'later',
  })

/** Whether an answer was too large to be taken: less may be asked for at once. Pure. */
export const isTooLarge = (error: unknown): boolean =>
  error instanceof RolekeeperError && error.code === 'node.answer_too_large'

/** Whether a node was not asked, or said that it is asked too often: it is left alone for as long as that says. Pure. */
export const isLeftAlone = (error: RolekeeperError): boolean => error.facts.waitS !== undefined

/** JSON-RPC's code of a method that a node does not have. */
const NO_METHOD = -32_601

/** Whether less of the same may be answered. Nodes word it in too many ways to tell their limits from other refusals. Pure. */
export const isTooWide = (error: unknown): boolean =>
  isTooLarge(error) ||
  (error instanceof RolekeeperError && error.code === 'node.refused' && error.facts.code !== NO_METHOD)

const wrongChain = (name: string, chainId: number, actual: number) =>
  new RolekeeperError('node.wrong_chain', `Node ${name} is on chain ${actual}, not on chain ${chainId}.`, {
    fix: 'correct its address in `chain.nodes`, or `chain.id`.',
    facts: { node: name, chainId, said: actual },
    retry: 'later',
  })

type EndpointOptions = {
  readonly name: string
  readonly url: NodeAddress
  readonly chainId: number
  readonly timeoutMs: number
  readonly clock: Clock
  /** Called when it refuses who asks: a key in its address may have been replaced. */
  readonly onDenied?: (() => void) | undefined
}

/** Create the client of one node. Nothing is asked yet; its first request proves the chain. */
export function createEndpoint(options: EndpointOptions): Endpoint {
  const { name, chainId, timeoutMs, clock } = options
  const rpc = createBatches(options.url, timeoutMs, clock)
  let proven = false
  let provenAtMs = 0
  let alive = true

  async function ask(method: string, params: readonly unknown[], waits: boolean): Promise<RpcAnswer> {
    const answer = await rpc.ask(method, params, waits)
    // One whose answer is too large is there.
    alive = 'ok' in answer || answer.kind === 'too_large'
    if ('ok' in answer) return answer
    // The next answer at this address may be another node's.
    if (answer.kind !== 'limited') proven = false
    if (answer.kind === 'status' && (answer.status === 401 || answer.status === 403)) options.onDenied?.()
    throw unanswered(options, method, answer)
  }

  async function checkChain(waits: boolean): Promise<void> {
    const method = 'eth_chainId'
    const answer = await ask(method, [], waits)
    // One whose chain is not proven answers nothing that counts.
    alive = false
    if (!answer.ok) throw refused(name, method, answer.failure.code)
    const parsed = chainIdHex.safeParse(answer.result)
    if (!parsed.success) throw badAnswer(name, method)
    if (Number(parsed.data) !== chainId) throw wrongChain(name, chainId, Number(parsed.data))
    proven = true
    alive = true
    provenAtMs = clock.monotonicMs()
  }

  /** A name may lead to another node one day. Asked beside the work, which then waits for the proof anew. */
  async function doubtChain(): Promise<void> {
    provenAtMs = clock.monotonicMs()
    const answer = await rpc.ask('eth_chainId', [])
    if (!('ok' in answer && answer.ok)) return
    const parsed = chainIdHex.safeParse(answer.result)
    if (parsed.success && Number(parsed.data) !== chainId) proven = false
  }

  async function attempt(method: string, params: readonly unknown[], waits: boolean): Promise<RpcAnswer> {
    if (!proven) await checkChain(waits)
    else if (clock.monotonicMs() - provenAtMs > PROOF_MS) void doubtChain()
    return ask(method, params, waits)
  }

  async function read(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    try {
      return await attempt(method, params, true)
    } catch (error) {
      // A kept connection that the node closed while idle fails once and works again at once.
      if (!(error instanceof RolekeeperError && error.code === 'node.unreachable')) throw error
      return attempt(method, params, true)
    }
  }

  return {
    name,
    alive: () => alive,
    read,
    close: rpc.close,
    once: (method, params) => attempt(method, params, false),
    checkChain: () => checkChain(true),
  }
}

/** Write a quantity as JSON-RPC wants it. Pure. */
export const quantity = (value: bigint | number): Hex => `0x${value.toString(16)}`
