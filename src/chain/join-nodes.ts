import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import {
  type Agreement,
  createAgreement,
  fingerprint,
  type Question,
  quorumMissing,
  reachedBy,
} from './agreement.ts'
import { blockOfOn, transactionOn } from './block-reads.ts'
import type { Endpoint } from './endpoint.ts'
import { watchHeads } from './heads.ts'
import { createLogReads } from './log-reads.ts'
import {
  balanceOn,
  countOn,
  createCodeHasher,
  finalizedOn,
  headerAt,
  newestHeader,
  noopGasOn,
  priorityFeesOn,
  type StateAt,
  sendTo,
  simulateOn,
  viewCallOn,
} from './node-reads.ts'
import { createStanding } from './node-standing.ts'
import type { Head, Nodes } from './nodes.ts'
import { orderSimulation } from './simulation.ts'
import { createTips } from './tips.ts'
import { createUnanswered } from './unanswered.ts'
import type { Header } from './wire.ts'

/** How the nodes of one chain are asked. */
export type JoinOptions = {
  readonly chainId: number
  /** At least `agree`. The first is preferred among equals. */
  readonly readers: readonly Endpoint[]
  /** At least one; a public node or a private endpoint. */
  readonly senders: readonly Endpoint[]
  /** How many reading nodes must say the same. */
  readonly agree: number
  /** Whether the chain has a `finalized` tag, or how many blocks deep is deep enough. */
  readonly finality: 'finalized' | { readonly confirmations: bigint }
  /** How often each reading node is asked for its head while somebody listens. */
  readonly pollMs: number
  readonly clock: Clock
  /** A node said something else than those that agree (`node.alone`), or too few said the same (`node.disagreement`). */
  readonly onDisagreement?: (error: RolekeeperError) => void
}

/** An answer is usually there long before; one that is not by then is no longer waited for alone, milliseconds. */
const HEDGE_MS = 400

/** Make one port of several nodes: what is read counts when enough of them say the same. */
export function joinNodes(options: JoinOptions): Nodes {
  const { chainId, readers, senders, agree, clock, pollMs } = options
  const tips = createTips({
    nodes: readers,
    agree,
    clock,
    patienceMs: pollMs,
    fetchNewest: async (node) => {
      try {
        const header = await newestHeader(node)
        looked(node, null)
        return header
      } catch (error) {
        if (error instanceof RolekeeperError) {
          standing.failed(node, error)
          looked(node, error)
        }
        throw error
      }
    },
    fetchAt: headerAt,
  })
  const onDisagreed = (error: RolekeeperError) => options.onDisagreement?.(error)
  const heads = watchHeads({ nodes: readers, agree, tips, pollMs, hedgeMs: HEDGE_MS, clock, onDisagreed })
  const standing = createStanding({ nodes: readers, agree, tips, agreedHead: heads.known, clock })
  const unanswered = createUnanswered(clock)
  /** Nodes that did not show their newest block when they were looked at last, and why. */
  const headless = new Map<Endpoint, RolekeeperError>()
  const looked = (node: Endpoint, error: RolekeeperError | null) => {
    if (error === null) headless.delete(node)
    else headless.set(node, error)
    const answered = readers.length - headless.size
    const question = { method: NEWEST, block: 'latest', agree, answered }
    if (answered >= agree) unanswered.answered(NEWEST)
    else unanswered.failed(NEWEST, quorumMissing(question, [...headless.values()]))
  }
  const asking = createAgreement({
    agree,
    order: standing.order,
    hedgeMs: HEDGE_MS,
    clock,
    onSlow: standing.slow,
    onFailed: standing.failed,
    onDisagreed,
    onAnswered: unanswered.answered,
    onUnanswered: unanswered.failed,
    onAlone: (node, question) => {
      standing.alone(node)
      options.onDisagreement?.(stoodAlone(node, question, agree))
    },
  })
  const finalized = createFinalized(options, asking, heads.recent)
  const block = (height: bigint) => asking.ask(blockAt(height))
  const headerOf = async ({ number, hash }: Head) => {
    const header = heads.agreed(hash) ?? (await block(number))
    if (header?.hash === hash) return header
    throw quorumMissing({ method: 'eth_getBlockByNumber', block: hash, agree, answered: 0 }, [])
  }
  return {
    chainId,
    agree,
    head: heads.newest,
    recent: heads.recent,
    block,
    finalized,
    ...createReads(asking, heads.recent, headerOf, options),
    ...createCounts(asking, heads.recent, finalized, options),
    onHead: heads.listen,
    health: standing.health,
    quorumMissingSinceMs: standing.quorumMissingSinceMs,
    unanswered: unanswered.list,
    send: async (raw) => {
      const outcomes = await Promise.all(senders.map((node) => sendTo(node, raw)))
      unanswered.sent(outcomes)
      return outcomes
    },
    close: async () => {
      await Promise.all([...readers, ...senders].map((node) => node.close()))
      await heads.close()
    },
  }
}

/** Apart from other heights: where the newest block is not shown, an older one may be. */
const NEWEST = 'eth_getBlockByNumber (latest)'
const stoodAlone = (
  node: Endpoint,
  { method, block }: { readonly method: string; readonly block: string },
  agree: number,
) =>
  new RolekeeperError('node.alone', `Node ${node.name} answered ${method} otherwise than ${agree} others.`, {
    fix: 'compare this node with the others; remove it from `chain.nodes.read` when it goes on.',
    facts: { node: node.name, method, block, agree },
    retry: 'later',
  })

/**
 * The newest block that enough nodes call final: by height first, so that neither the last nor the first decides alone. One
 * that names none, or less than was final before, decides nothing while another may still answer.
 */
async function agreedFinalized(
  { finality, agree }: JoinOptions,
  asking: Agreement,
  recent: () => Promise<Head>,
  least: bigint,
): Promise<Head> {
  const at = async (height: bigint): Promise<Head> => {
    const found = await asking.ask(blockAt(height))
    if (found !== null) return found
    throw quorumMissing({ method: 'eth_getBlockByNumber', block: String(height), agree, answered: 0 }, [])
  }
  if (finality !== 'finalized') {
    const { number } = await recent()
    return at(number > finality.confirmations ? number - finality.confirmations : 0n)
  }
  const method = 'eth_getBlockByNumber'
  const shown = await asking.collect({
    method,
    block: 'finalized',
    ask: finalizedOn,
    counts: (header) => header !== null && header.number >= least,
  })
  const height = reachedBy(
    shown.map((header) => header?.number ?? 0n),
    agree,
  )
  const same = shown.filter((header) => header?.number === height)
  const [first] = same
  return first != null && same.length >= agree && new Set(same.map(fingerprint)).size === 1
    ? first
    : at(height)
}

function createFinalized(options: JoinOptions, asking: Agreement, recent: () => Promise<Head>) {
  let known: Head | undefined
  return async () => {
    known = await agreedFinalized(options, asking, recent, known?.number ?? 1n)
    return known
  }
}

const blockAt = (height: bigint): Question<Header | null> => ({
  method: 'eth_getBlockByNumber',
  block: String(height),
  ask: (node) => headerAt(node, height),
})

type Reads = Pick<
  Nodes,
  'calls' | 'codeHashes' | 'balanceWei' | 'transfers' | 'logs' | 'blockOf' | 'transaction' | 'simulate'
>

/** What is read at one block, or of one block. */
function createReads(
  { ask }: Agreement,
  recent: () => Promise<Header>,
  headerOf: (head: Head) => Promise<Header>,
  { chainId, clock }: JoinOptions,
): Reads {
  const codeHash = createCodeHasher()
  const logs = createLogReads(clock)
  return {
    calls: async (calls, at) => {
      const state = at === undefined ? (await recent()).hash : typeof at === 'bigint' ? at : at.hash
      return ask({
        method: 'eth_call',
        block: String(state),
        ask: (node) => Promise.all(calls.map((call) => viewCallOn(node, call, state))),
      })
    },
    codeHashes: async (addresses) => {
      const { hash } = await recent()
      return ask({
        method: 'eth_getCode',
        block: hash,
        ask: (node) => Promise.all(addresses.map((address) => codeHash(node, address, hash))),
      })
    },
    balanceWei: async (address, at) => {
      const { hash } = at ?? (await recent())
      return ask({ method: 'eth_getBalance', block: hash, ask: (node) => balanceOn(node, address, hash) })
    },
    transfers: (of) =>
      ask({ method: 'eth_getLogs', block: String(of.toBlock), ask: (node) => logs.transfers(node, of) }),
    logs: (of) =>
      ask({ method: 'eth_getLogs', block: String(of.toBlock), ask: (node) => logs.logs(node, of) }),
    blockOf: (hash, senders, before) =>
      ask({
        method: 'eth_getBlockByHash',
        block: hash,
        ask: (node) => blockOfOn(node, hash, senders, before),
      }),
    transaction: (hash) =>
      ask({ method: 'eth_getTransactionByHash', block: 'latest', ask: (node) => transactionOn(node, hash) }),
    simulate: async (request) => {
      const parent = await (request.at === undefined ? recent() : headerOf(request.at))
      const order = orderSimulation(request, parent, chainId, clock.nowMs())
      const block = order.parentHash
      const simulation = await ask({
        method: 'eth_simulateV1',
        block,
        ask: (node) => simulateOn(node, order),
      })
      if (!('rejected' in simulation)) return simulation
      throw new RolekeeperError(
        'node.simulation_rejected',
        `The nodes would not simulate: ${simulation.rejected}.`,
        {
          fix: 'nothing, when it passes by itself; else check the signer: its balance, its nonce and the fee cap.',
          facts: { reason: simulation.rejected },
          retry: 'now',
        },
      )
    },
  }
}

/** What is counted or estimated: each node by its own pool or method, so that a number counts that enough of them reach. */
function createCounts(
  { ask, collect }: Agreement,
  recent: () => Promise<Head>,
  finalized: () => Promise<Head>,
  { agree }: JoinOptions,
): Pick<Nodes, 'transactionCount' | 'feeHistory' | 'estimateNoopGas'> {
  return {
    transactionCount: async (address, at) => {
      const method = 'eth_getTransactionCount'
      const countAt = (state: StateAt) => ({
        method,
        block: String(state),
        ask: (node: Endpoint) => countOn(node, address, state),
      })
      if (at === 'pending') {
        const counts = (await collect({ ...countAt(at), waitMs: 2_000 })).map(BigInt)
        // As many may be wrong as need not agree; a silent one may have seen more than all, so the slow are waited for.
        return Number(reachedBy(counts, counts.length - agree + 1))
      }
      return ask(countAt(at === 'finalized' ? (await finalized()).hash : at))
    },
    feeHistory: async () => {
      const { number } = await recent()
      const block = String(number)
      const pools = await collect({
        method: 'eth_feeHistory',
        block,
        ask: (node) => priorityFeesOn(node, number),
      })
      // One that shows fewer blocks than enough others do takes none of theirs away.
      const lengths = pools.map((tips) => BigInt(tips.length))
      const length = Number(reachedBy(lengths, agree))
      const whole = pools.filter((tips) => tips.length >= length)
      const tipsWei = Array.from({ length }, (_, index) =>
        reachedBy(
          whole.map((tips) => tips[index] ?? 0n),
          agree,
        ),
      )
      return { tipsWei }
    },
    estimateNoopGas: async (signer) =>
      reachedBy(
        await collect({ method: 'eth_estimateGas', block: 'latest', ask: (node) => noopGasOn(node, signer) }),
        agree,
      ),
  }
}
