import { AsyncLocalStorage } from 'node:async_hooks'
import type { Hex } from 'viem'
import type { Endpoint } from '../../../src/chain/endpoint.ts'
import type { RpcAnswer } from '../../../src/chain/json-rpc.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Block, Chain } from './chain.ts'
import { copyOf, type State } from './contracts.ts'
import type { Random } from './random.ts'
import { answer, type Said } from './rpc.ts'
import type { Owner, Scheduler } from './scheduler.ts'

/** What may be wrong with a node for a while. */
export const NODE_FAULTS = [
  'down',
  'stalls',
  'slow',
  'behind',
  'stands_still',
  'other_fork',
  'refuses',
  'swallows',
  'loses_replies',
] as const
export type NodeFault = (typeof NODE_FAULTS)[number]

/** A fault of one node, from and until, milliseconds since the start. */
export type FaultWindow = {
  readonly node: number
  readonly fault: NodeFault
  readonly fromMs: number
  readonly lengthMs: number
  /** Each call is hit with this chance. */
  readonly chance: number
}

/** What a lying node lies about. */
export const LIES = [
  'count',
  'receipt',
  'transaction',
  'head',
  'block',
  'read',
  'simulation',
  'final',
  'fees',
  'sends',
  'garbage',
  'silence',
] as const
type Lie = (typeof LIES)[number]

/** The one node of a schedule that lies, in some of its answers, and until when. */
export type Liar = {
  readonly node: number
  readonly lies: readonly Lie[]
  readonly chance: number
  readonly untilMs: number
}

const TIMEOUT_MS = 2_000

const failed = (name: string, code: 'unreachable' | 'timeout' | 'http_status'): RolekeeperError =>
  new RolekeeperError(`node.${code}`, `Node ${name}: ${code}.`, { facts: { node: name }, retry: 'later' })

/** What the nodes of a schedule share. */
export type NodeWorld = {
  readonly chain: Chain
  readonly scheduler: Scheduler
  readonly random: Random
  readonly startMs: number
  readonly faults: readonly FaultWindow[]
  readonly liar: Liar | null
  /** Milliseconds that an answer takes at most. */
  readonly latencyMs: number
  /** Called with each answer that was a lie. */
  readonly onLie: (node: number, method: string) => void
  /** Calls that were answered, by who asked and their method, for budgets. */
  readonly calls: Map<string, number>
}

/** Who asks a node: the run of a workflow; empty for the keeper itself. */
export const asking = new AsyncLocalStorage<string>()

/** One node of the model: it outlives the processes that ask it. */
export class ModelNode {
  readonly name: string
  readonly #index: number
  readonly #world: NodeWorld
  /** The block at which it began to stand still, or its own fork's newest. */
  #stuck: Block | null = null

  constructor(index: number, world: NodeWorld) {
    this.#index = index
    this.name = `read-${index + 1}`
    this.#world = world
  }

  #fault(): NodeFault | null {
    const { scheduler, startMs, faults, random } = this.#world
    const atMs = scheduler.nowMs() - startMs
    const hit = faults.find(
      ({ node, fromMs, lengthMs }) => node === this.#index && atMs >= fromMs && atMs < fromMs + lengthMs,
    )
    if (hit === undefined) {
      this.#stuck = null
      return null
    }
    // A look at another chain does not flicker; what goes wrong with a single call does.
    const lasts = hit.fault === 'behind' || hit.fault === 'stands_still' || hit.fault === 'other_fork'
    return lasts || random.chance(hit.chance) ? hit.fault : null
  }

  #tip(fault: NodeFault | null): Block {
    const { chain } = this.#world
    if (fault === 'behind') return chain.below(chain.tip, 3)
    if (fault === 'stands_still') {
      this.#stuck ??= chain.tip
      return this.#stuck
    }
    if (fault === 'other_fork') {
      this.#stuck ??= chain.mine(chain.below(chain.tip, 2), () => false)
      while (this.#stuck.number < chain.tip.number - 1) this.#stuck = chain.mine(this.#stuck, () => false)
      return this.#stuck
    }
    return chain.tip
  }

  /** Answer a call as this node does now; what is lost on the way back is an error of the transport. */
  ask(method: string, params: readonly unknown[], isAlive: Owner): Promise<RpcAnswer> {
    const { scheduler, random, latencyMs, calls, onLie } = this.#world
    const call = `${asking.getStore() ?? 'keeper'} ${method}`
    return new Promise((resolve, reject) => {
      const later = (ms: number, work: () => void) =>
        scheduler.after(ms, () => (isAlive() ? work() : undefined))
      const fault = this.#fault()
      const lie = this.#lie()
      if (fault === 'down') {
        later(1, () => reject(failed(this.name, 'unreachable')))
        return
      }
      if (lie === 'silence') onLie(this.#index, method)
      if (fault === 'stalls' || lie === 'silence') {
        later(TIMEOUT_MS, () => reject(failed(this.name, 'timeout')))
        return
      }
      const there = random.int(0, latencyMs)
      // The bytes are on their way: the one who sent them may be dead when they come.
      scheduler.after(there, () => {
        calls.set(call, (calls.get(call) ?? 0) + 1)
        const said =
          fault === 'refuses'
            ? { error: { code: -32_000, message: 'internal error' } }
            : this.#say(method, params, fault, lie)
        if (fault === 'loses_replies') {
          later(TIMEOUT_MS - there, () => reject(failed(this.name, 'timeout')))
          return
        }
        const back = fault === 'slow' ? random.int(300, 1_500) : random.int(0, latencyMs)
        later(back, () =>
          resolve('result' in said ? { ok: true, result: said.result } : { ok: false, failure: said.error }),
        )
      })
    })
  }

  /** What it lies about in this answer, where the answer is about it. */
  #lie(): Lie | null {
    const { liar, random, scheduler, startMs } = this.#world
    if (liar?.node !== this.#index || scheduler.nowMs() - startMs >= liar.untilMs) return null
    return random.chance(liar.chance) ? random.pick(liar.lies as [Lie, ...Lie[]]) : null
  }

  #say(method: string, params: readonly unknown[], fault: NodeFault | null, lie: Lie | null): Said {
    const { chain, random, onLie } = this.#world
    const view = { chain, tip: this.#tip(fault), passesOn: fault !== 'swallows' && lie !== 'sends' }
    const honest = answer(view, method, params)
    if (lie === null) return honest
    const bent = lieAbout(lie, method, honest, { ...view, random, params })
    if (bent !== null) onLie(this.#index, method)
    return bent ?? honest
  }

  /** This node as one process reaches it. */
  endpoint(isAlive: Owner): Endpoint {
    let alive = true
    const once = async (method: string, params: readonly unknown[]): Promise<RpcAnswer> => {
      try {
        const said = await this.ask(method, params, isAlive)
        alive = true
        return said
      } catch (error) {
        alive = false
        throw error
      }
    }
    return {
      name: this.name,
      alive: () => alive,
      once,
      read: async (method, params) => {
        try {
          return await once(method, params)
        } catch (error) {
          if (!(error instanceof RolekeeperError && error.code === 'node.unreachable')) throw error
          return once(method, params)
        }
      },
      close: async () => undefined,
      checkChain: async () => {
        await once('eth_chainId', [])
      },
    }
  }
}

type Honest = {
  readonly chain: Chain
  readonly tip: Block
  readonly random: Random
  readonly params: readonly unknown[]
}
type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const invented = (random: Random): Hex =>
  `0x11e${Math.floor(random.next() * 2 ** 40)
    .toString(16)
    .padStart(61, '0')}`

/** A lie in an answer, or null where this lie is not about it. */
export function lieAbout(lie: Lie, method: string, honest: Said, view: Honest): Said | null {
  if (!('result' in honest)) return null
  const { result } = honest
  const { random, chain, tip, params } = view
  const said = (bent: unknown): Said => ({ result: bent })
  switch (lie) {
    case 'count':
      return method === 'eth_getTransactionCount'
        ? said(random.pick(['0xf4240', `0x${(Number(result) + 1).toString(16)}`, '0x0']))
        : null
    case 'receipt':
      if (method === 'eth_getLogs') return said(bentLogs(result, view))
      return method === 'eth_getTransactionReceipt' ? said(bentReceipts(result, view, params[0])) : null
    case 'head':
      return method === 'eth_getBlockByNumber' && params[0] === 'latest' && isFields(result)
        ? said({
            ...result,
            number: `0x${(Number(result.number) + random.int(1, 50)).toString(16)}`,
            hash: invented(random),
          })
        : null
    case 'final':
      return method === 'eth_getBlockByNumber' && params[0] === 'finalized' && isFields(result)
        ? said(
            fieldsOf(
              answer({ chain, tip, passesOn: true }, 'eth_getBlockByNumber', ['latest', false]),
              result,
            ),
          )
        : null
    case 'block':
      return method.startsWith('eth_getBlockBy') && isFields(result) ? said(bentBlock(result, random)) : null
    case 'read':
      return ['eth_call', 'eth_getCode', 'eth_getStorageAt', 'eth_getBalance'].includes(method)
        ? said(random.pick(['0x', '0x1', `0x${'1'.padStart(64, '0')}`]))
        : null
    case 'transaction':
      return method === 'eth_getTransactionByHash' || method === 'eth_getTransactionByBlockHashAndIndex'
        ? said(isFields(result) ? random.pick([null, bentTransaction(result, random)]) : null)
        : null
    case 'fees':
      if (method === 'eth_estimateGas') return said(random.pick(['0x0', '0x989680']))
      return method === 'eth_feeHistory' && isFields(result)
        ? said({ ...result, reward: random.pick([[], [['0x0']], Array(10).fill(['0x38d7ea4c68000'])]) })
        : null
    case 'sends':
      if (method !== 'eth_sendRawTransaction') return null
      return random.pick<Said>([
        honest,
        said(invented(random)),
        { error: { code: -32_000, message: 'already known' } },
        { error: { code: -32_000, message: 'nonce too low' } },
      ])
    case 'silence':
      return null
    case 'simulation': {
      const rosy = { chain, tip, passesOn: true, bend: rosyState }
      return method === 'eth_simulateV1' || method === 'eth_call' ? answer(rosy, method, params) : null
    }
    case 'garbage':
      return said(random.pick([null, '0x', {}, [], '0x1', { number: '0x1' }]))
  }
}

const fieldsOf = (said: Said, otherwise: Fields): unknown => ('result' in said ? said.result : otherwise)

/** A state in which every position is worth taking. */
function rosyState(state: State): State {
  const rosy = copyOf(state)
  for (const [borrower, position] of rosy.positions) {
    rosy.positions.set(borrower, { ...position, collateral: 10n ** 12n, healthWad: 9n * 10n ** 17n })
  }
  rosy.paused = false
  return rosy
}

function bentReceipts(result: unknown, { random, chain, tip }: Honest, hash: unknown): unknown {
  const flip = (receipt: unknown) =>
    isFields(receipt) ? { ...receipt, status: receipt.status === '0x1' ? '0x0' : '0x1', logs: [] } : receipt
  if (isFields(result)) return random.chance(0.5) ? flip(result) : null
  const old = chain.finalized(tip)
  return {
    type: '0x2',
    transactionHash: hash,
    transactionIndex: '0x0',
    from: `0x${'99'.repeat(20)}`,
    to: null,
    contractAddress: null,
    blockNumber: `0x${old.number.toString(16)}`,
    blockHash: old.hash,
    status: random.pick(['0x0', '0x1']),
    gasUsed: '0x5208',
    cumulativeGasUsed: '0x5208',
    effectiveGasPrice: '0x1',
    logsBloom: '0x',
    logs: [],
  }
}

/** No transfer at all, or one more that nobody made. */
function bentLogs(result: unknown, { random, chain, tip, params }: Honest): unknown {
  const [filter] = params
  if (random.chance(0.5) || !isFields(filter) || !Array.isArray(result)) return []
  const { address, topics } = filter
  const old = chain.finalized(tip)
  const [event, ...accounts] = Array.isArray(topics) ? topics : []
  const [from, to] = [...accounts, null, null].map((account) => account ?? `0x${'9'.repeat(64)}`)
  const log = {
    address: Array.isArray(address) ? address[0] : address,
    topics: [event, from, to],
    data: `0x${'1'.padStart(64, '0')}`,
    blockNumber: `0x${old.number.toString(16)}`,
    blockHash: old.hash,
    transactionHash: invented(random),
    transactionIndex: '0x0',
    logIndex: '0x0',
    removed: false,
  }
  return [...result, log]
}

const bentTransaction = (transaction: Fields, random: Random): Fields =>
  random.pick<Fields>([
    { ...transaction, nonce: `0x${(Number(transaction.nonce) + 1).toString(16)}` },
    { ...transaction, value: '0x1' },
    { ...transaction, hash: invented(random) },
  ])

function bentBlock(block: Fields, random: Random): unknown {
  return random.pick([
    null,
    { ...block, transactions: [] },
    { ...block, hash: invented(random) },
    { ...block, parentHash: invented(random) },
    { ...block, timestamp: '0x1' },
    { ...block, baseFeePerGas: '0x1' },
  ])
}
