import type { Address } from 'viem'
import type {
  Agent,
  Answer,
  Moment,
  PinnedDeployment,
  Question,
  Rows,
  WatchedCollection,
} from '../../agents/agent.ts'
import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import { invariant, RolekeeperError } from '../errors.ts'
import type { List, Listed } from './collections.ts'
import { type FreshnessLimits, freshnessOf } from './freshness.ts'
import { createBatch, readBalance } from './views.ts'

/** An agent that asks for more than this is not done after it: a defect of the agent. */
const WAVES_MAX = 4

/** What asking needs from outside. */
export type AskingDeps = {
  readonly collections: Readonly<Record<WatchedCollection, List<unknown>>>
  readonly nodes: Pick<Nodes, 'head' | 'calls' | 'balanceWei'>
  readonly clock: Pick<Clock, 'nowMs'>
  /** Answers questions that are not for the chain. Never throws. */
  readonly outside: (question: Exclude<Question, { kind: 'call' }>) => Promise<Answer>
}

/** What the keeper knows when it looks. */
export type AskingInput = Pick<
  Moment,
  'signer' | 'chainId' | 'ours' | 'inFlight' | 'recent' | 'colleagues'
> & {
  readonly deployment: PinnedDeployment
  readonly limits: FreshnessLimits
  readonly priorityFeePerGasWei: bigint
}

/**
 * Observe for an agent: its collections, our balances and our head side by side, then what it asks for, wave by wave, at
 * the head's block. Throws what the reads throw; an optional collection that cannot be read is absent.
 */
export async function observeByAsking<Seen>(
  agent: Pick<Agent<unknown, Seen>, 'role' | 'watches' | 'see'>,
  policy: unknown,
  previous: Seen | null,
  deps: AskingDeps,
  input: AskingInput,
): Promise<Moment & Seen> {
  const { nodes, clock } = deps
  const { collections, optional = [] } = agent.watches
  const batch = createBatch()
  const balances = input.deployment.assets.map(({ address }) => ({
    address,
    assets: batch.ask(readBalance(address, input.signer)),
  }))
  const [required, others, head, nativeBalanceWei] = await Promise.all([
    Promise.all(collections.map(async (name) => [name, await deps.collections[name]()] as const)),
    Promise.all(optional.map(async (name) => [name, await readOptional(deps.collections[name])] as const)),
    nodes.head(),
    nodes.balanceWei(input.signer),
    batch.run(nodes),
  ])
  const nowMs = clock.nowMs()
  const { limits, priorityFeePerGasWei, ...known } = input
  const there = others.filter(
    (entry): entry is readonly [WatchedCollection, Listed<unknown>] => entry[1] !== null,
  )
  const moment: Moment = {
    ...known,
    nowMs,
    chain: {
      blockNumber: head.number,
      timestampS: head.timestampS,
      baseFeePerGasWei: head.baseFeePerGasWei,
      priorityFeePerGasWei,
    },
    freshness: freshnessOf(Object.fromEntries(required), head, nowMs, limits),
    nativeBalanceWei,
    balances: knownBalances(balances.map(({ address, assets }) => [address, assets()])),
  }
  const rows = Object.fromEntries(
    [...required, ...there].map(([name, { items }]) => [name, items]),
  ) as Partial<Rows>
  invariant(agent.see !== undefined, `the ${agent.role} neither sees by itself nor has a sight of its own`)
  let look = agent.see(rows, moment, policy, previous)
  for (let wave = 0; 'ask' in look; wave += 1) {
    invariant(wave < WAVES_MAX, `the ${agent.role} asks for more than ${WAVES_MAX} waves`)
    look = look.next(await answer(look.ask, deps, head.number))
  }
  return { ...moment, ...look.seen }
}

async function readOptional(list: List<unknown>): Promise<Listed<unknown> | null> {
  try {
    return await list()
  } catch (error) {
    if (error instanceof RolekeeperError) return null
    throw error
  }
}

function knownBalances(read: readonly (readonly [Address, bigint | null])[]): Moment['balances'] {
  return Object.fromEntries(read.filter((entry): entry is readonly [Address, bigint] => entry[1] !== null))
}

/** Answer one wave: its calls in one round trip at the block, the others beside them. */
async function answer(
  questions: readonly Question[],
  { nodes, clock, outside }: AskingDeps,
  blockNumber: bigint,
): Promise<readonly Answer[]> {
  const calls = questions.flatMap((question) => (question.kind === 'call' ? [question] : []))
  const [results, others] = await Promise.all([
    calls.length === 0 ? [] : nodes.calls(calls, blockNumber),
    Promise.all(questions.map((question) => (question.kind === 'call' ? null : outside(question)))),
  ])
  const byCall = new Map(calls.map((call, index) => [call, results[index] ?? null]))
  return questions.map((question, index): Answer => {
    const other = others[index]
    if (other != null) return other
    const text = question.kind === 'call' ? (byCall.get(question) ?? null) : null
    return text === null
      ? { ok: false, check: 'call_failed', message: 'The call reverted, or nothing is at its address.' }
      : { ok: true, text, atMs: clock.nowMs() }
  })
}
