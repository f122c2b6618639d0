import type { Clock } from '../clock.ts'
import type { RolekeeperError } from '../errors.ts'
import type { Endpoint } from './endpoint.ts'
import type { NodeHealth } from './nodes.ts'
import type { Tips } from './tips.ts'
import type { Header } from './wire.ts'

/** How the reading nodes stand beside each other. */
export type NodeStanding = {
  /** Nodes in the order to ask: the best first, by state, then by height, then as configured. */
  readonly order: () => readonly Endpoint[]
  readonly slow: (node: Endpoint) => void
  readonly failed: (node: Endpoint, error: RolekeeperError) => void
  readonly alone: (node: Endpoint) => void
  readonly health: () => readonly NodeHealth[]
  readonly quorumMissingSinceMs: () => number | null
}

/** A node that let us wait, or stood alone, is asked after the others for so long. */
const SLOW_MS = 10_000
const ALONE_MS = 60_000
/** What a node said that nobody can read: it is asked after the others, as one that is alone with its answer. */
const UNREADABLE: ReadonlySet<string> = new Set([
  'node.answer_too_large',
  'node.bad_answer',
  'node.no_base_fee',
])
/** One that is asked again and lets us wait again within so long was slow all the time. */
const RELAPSE_MS = 5_000

/** The states from the best to ask to the worst. */
const STATES: readonly NodeHealth['state'][] = ['ok', 'behind', 'slow', 'alone', 'other_fork', 'down']

type StandingDeps = {
  readonly nodes: readonly Endpoint[]
  readonly agree: number
  readonly tips: Pick<Tips, 'tip' | 'at'>
  readonly agreedHead: () => Header | undefined
  readonly clock: Clock
}

/** Keep how each reading node stands. What it did wrong is forgotten after a while. */
export function createStanding(options: StandingDeps): NodeStanding {
  const { nodes, tips, agreedHead, clock } = options
  const behind = (node: Endpoint) => blocksBehind(node, options)
  const aloneUntilMs = new Map<Endpoint, number>()
  const slowness = createSlowness(clock)
  const disagreements = new Map<Endpoint, number>()
  const errors = new Map<Endpoint, number>()
  const lastErrorCode = new Map<Endpoint, string>()
  const isForked = createForked(options)
  const since = new Map<Endpoint, Pick<NodeHealth, 'state' | 'sinceMs'>>()

  function stateOf(node: Endpoint): NodeHealth['state'] {
    const head = agreedHead()
    if (!node.alive()) return 'down'
    if (head !== undefined && isForked(node, head)) return 'other_fork'
    if ((aloneUntilMs.get(node) ?? 0) > clock.monotonicMs()) return 'alone'
    if (slowness.untilMs(node) > clock.monotonicMs()) return 'slow'
    return (behind(node) ?? 0) > 0 ? 'behind' : 'ok'
  }

  function stateSince(node: Endpoint): Pick<NodeHealth, 'state' | 'sinceMs'> {
    const state = stateOf(node)
    const last = since.get(node)
    if (last?.state === state) return last
    const nowMs = state === 'slow' ? slowness.sinceMs(node) : clock.monotonicMs()
    // From one trouble to another it was not well meanwhile.
    const isStillUnwell = last !== undefined && last.state !== 'ok' && state !== 'ok'
    const now = { state, sinceMs: isStillUnwell ? last.sinceMs : nowMs }
    since.set(node, now)
    return now
  }

  return {
    quorumMissingSinceMs: createQuorumMissing(options, stateOf),
    order: () =>
      nodes
        .map((node) => ({
          node,
          rank: STATES.indexOf(stateSince(node).state),
          behind: behind(node) ?? Infinity,
        }))
        .toSorted((a, b) => a.rank - b.rank || (a.behind === b.behind ? 0 : a.behind - b.behind))
        .map(({ node }) => node),
    slow: slowness.note,
    failed: (node, error) => {
      count(errors, node)
      lastErrorCode.set(node, error.code)
      if (UNREADABLE.has(error.code)) aloneUntilMs.set(node, clock.monotonicMs() + ALONE_MS)
    },
    alone: (node) => {
      aloneUntilMs.set(node, clock.monotonicMs() + ALONE_MS)
      count(disagreements, node)
    },
    health: () =>
      nodes.map((node) => ({
        node: node.name,
        ...stateSince(node),
        blocksBehind: behind(node),
        headNumber: tips.tip(node)?.number ?? null,
        errors: errors.get(node) ?? 0,
        lastErrorCode: lastErrorCode.get(node) ?? null,
        disagreements: disagreements.get(node) ?? 0,
      })),
  }
}

const count = (counts: Map<Endpoint, number>, node: Endpoint) => counts.set(node, (counts.get(node) ?? 0) + 1)

/** Whether enough nodes are there, and none shows a block above the one that they agree on. */
function hasQuorum(
  states: readonly NodeHealth['state'][],
  { nodes, agree, tips, agreedHead }: StandingDeps,
): boolean {
  const there = states.filter((state) => state !== 'down' && state !== 'other_fork').length
  const head = agreedHead()
  return (
    there >= agree &&
    head !== undefined &&
    nodes.every((node) => (tips.tip(node)?.number ?? 0n) <= head.number)
  )
}

/** Keep since when no quorum shows a newer block. */
function createQuorumMissing(
  options: StandingDeps,
  stateOf: (node: Endpoint) => NodeHealth['state'],
): () => number | null {
  /** The agreed head that stood when the quorum was first seen missing. */
  let missing: { readonly atHash: string | undefined; readonly sinceMs: number } | undefined
  return () => {
    const head = options.agreedHead()
    if (hasQuorum(options.nodes.map(stateOf), options)) missing = undefined
    else if (missing?.atHash !== head?.hash || missing === undefined)
      missing = { atHash: head?.hash, sinceMs: options.clock.monotonicMs() }
    return missing?.sinceMs ?? null
  }
}

/** Keep since when nodes let us wait, and for how long they are asked after the others. */
function createSlowness({ monotonicMs }: Pick<Clock, 'monotonicMs'>) {
  const spells = new Map<Endpoint, { readonly sinceMs: number; readonly untilMs: number }>()
  return {
    note: (node: Endpoint): void => {
      const last = spells.get(node)
      const isSame = last !== undefined && monotonicMs() - last.untilMs < RELAPSE_MS
      spells.set(node, { sinceMs: isSame ? last.sinceMs : monotonicMs(), untilMs: monotonicMs() + SLOW_MS })
    },
    sinceMs: (node: Endpoint): number => spells.get(node)?.sinceMs ?? monotonicMs(),
    untilMs: (node: Endpoint): number => spells.get(node)?.untilMs ?? 0,
  }
}

/** A node that has not shown the newest height yet is where it was at the last: a block that is a moment late says nothing. */
function createForked({ tips }: StandingDeps): (node: Endpoint, head: Header) => boolean {
  const forked = new Set<Endpoint>()
  return (node, head) => {
    const hash = tips.at(node, head.number)?.hash ?? tips.at(node, head.number + 1n)?.parentHash
    if (hash === head.hash) forked.delete(node)
    else if (hash !== undefined) forked.add(node)
    return forked.has(node)
  }
}

/** How far a node is below the height that it should have; null until it has shown a head. */
function blocksBehind(node: Endpoint, { nodes, agree, tips, agreedHead }: StandingDeps): number | null {
  const own = tips.tip(node)?.number
  const heights = nodes.flatMap((each) => (each.alive() ? (tips.tip(each)?.number ?? []) : []))
  const highest = heights.reduce((most, each) => (most > each ? most : each), 0n)
  // Where no node can be spared, one that stands still holds the head back; with one to spare the furthest may lie.
  const expected = heights.length > agree ? agreedHead()?.number : highest
  if (own === undefined || expected === undefined) return null
  return own < expected ? Number(expected - own) : 0
}
