import fc from 'fast-check'
import { KMS_FAULTS, type KmsWindow } from './kms.ts'
import { type FaultWindow, LIES, type Liar, NODE_FAULTS } from './node.ts'
import { SERVICE_FAULTS, type ServiceWindow } from './service.ts'

/** Where a process may die: at an await of the pipeline's own effects. */
const CRASH_POINTS = ['open', 'write', 'claim', 'barrier', 'post', 'sign', 'send', 'prepare', 'read'] as const
export type CrashPoint = (typeof CRASH_POINTS)[number]
type Crash = {
  readonly at: CrashPoint
  /** Counted over all processes of the schedule. */
  readonly nth: number
  readonly when: 'before' | 'after'
  readonly downMs: number
}

/**
 * One thing that may be done. `gone`: somebody else takes it at `goneAtMs`. `healthy`: there is nothing to take, whatever
 * anyone says.
 */
export type Opportunity = {
  readonly kind: 'liquidate' | 'settle'
  readonly seenAtMs: number
  readonly fate: 'stays' | 'gone' | 'healthy'
  readonly goneAtMs: number
  /** It goes before what waits, and what is in its way is bumped. */
  readonly urgent: boolean
}

/** Somebody else with our key sends an empty transfer: at the nonce that is mined next, or at the first that nobody has. */
type Intruder = { readonly atMs: number; readonly takes: 'held' | 'free' }

/** Everything that is chosen of one schedule. All times in milliseconds since its start. */
export type Plan = {
  /** What is left to chance inside: latencies, the order of what is due together, which call a fault hits. */
  readonly seed: number
  readonly nodes: 1 | 2 | 3
  readonly blockMs: number
  readonly finalityBlocks: number
  /** Whether the keeper counts them itself, or believes what its nodes tag. */
  readonly finality: 'confirmations' | 'finalized'
  /** Chance of a transaction that could go into a block to do so. */
  readonly inclusion: number
  readonly latencyMs: number
  /** The policy's fee cap, wei for one unit of gas; the lower one leaves no room for a replacement. */
  readonly feeCapWei: bigint
  readonly opportunities: readonly Opportunity[]
  readonly crashes: readonly Crash[]
  readonly nodeFaults: readonly FaultWindow[]
  readonly liar: Liar | null
  readonly serviceFaults: readonly ServiceWindow[]
  readonly kmsFaults: readonly KmsWindow[]
  /** Never deeper than finality. */
  readonly reorgs: readonly { readonly atMs: number; readonly depth: number; readonly forgets: number }[]
  /** One that is so many blocks deeper than finality; null for none. */
  readonly deep: { readonly atMs: number; readonly beyond: number; readonly forgets: number } | null
  readonly intruder: Intruder | null
  readonly spikes: readonly { readonly atMs: number; readonly lengthMs: number; readonly factor: number }[]
  /** The process dies at `restoreAtMs`, and the next one begins on the journal as it was `ageMs` earlier; null for none. */
  readonly backup: { readonly restoreAtMs: number; readonly ageMs: number } | null
  /** Times at which everyone drops all that waits. */
  readonly evictions: readonly number[]
}

/** Null but for one time in so many: the option of fast-check would have it the other way round. */
const oneIn = <T>(many: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: many - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

/** All faults have ended by then, but for a node that lies for ever. */
export const TROUBLE_MS = 30_000

const atMs = fc.integer({ min: 0, max: 18_000 })
const window = {
  fromMs: atMs,
  lengthMs: fc.integer({ min: 200, max: 12_000 }),
  chance: fc.constantFrom(0.3, 0.7, 1),
}

const opportunity: fc.Arbitrary<Opportunity> = fc.record({
  kind: fc.constantFrom('liquidate', 'liquidate', 'settle'),
  seenAtMs: fc.integer({ min: 0, max: 8_000 }),
  fate: fc.constantFrom('stays', 'stays', 'stays', 'gone', 'healthy'),
  goneAtMs: fc.integer({ min: 1_000, max: 15_000 }),
  urgent: fc.constantFrom(false, false, true),
})

const crash: fc.Arbitrary<Crash> = fc.record({
  at: fc.constantFrom(...CRASH_POINTS),
  nth: fc.integer({ min: 0, max: 24 }),
  when: fc.constantFrom('before', 'after'),
  downMs: fc.constantFrom(100, 1_000, 5_000, 15_000),
})

const backup = fc.record({
  restoreAtMs: fc.integer({ min: 5_000, max: 25_000 }),
  ageMs: fc.integer({ min: 100, max: 12_000 }),
})

const intruder = fc.record({
  atMs: fc.integer({ min: 2_000, max: 20_000 }),
  takes: fc.constantFrom('held', 'free'),
})

const deep = fc.record({
  atMs: fc.integer({ min: 5_000, max: 25_000 }),
  beyond: fc.integer({ min: 1, max: 12 }),
  forgets: fc.constantFrom(0, 0.3, 1),
})

const common = {
  seed: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  blockMs: fc.constantFrom(1_000, 2_000, 4_000),
  finalityBlocks: fc.integer({ min: 1, max: 6 }),
  finality: fc.constantFrom('confirmations', 'finalized'),
  inclusion: fc.constantFrom(1, 1, 0.6, 0.3),
  latencyMs: fc.constantFrom(10, 100),
  feeCapWei: fc.constantFrom(300_000_000_000n, 300_000_000_000n, 3_000_000_000n),
  opportunities: fc.array(opportunity, { minLength: 1, maxLength: 4 }),
  crashes: fc.array(crash, { maxLength: 4 }),
  serviceFaults: fc.array(fc.record({ ...window, fault: fc.constantFrom(...SERVICE_FAULTS) }), {
    maxLength: 2,
  }),
  kmsFaults: fc.array(fc.record({ ...window, fault: fc.constantFrom(...KMS_FAULTS) }), { maxLength: 2 }),
  reorgs: fc.array(
    fc.record({ atMs, depth: fc.integer({ min: 1, max: 6 }), forgets: fc.constantFrom(0, 0.3, 1) }),
    { maxLength: 3 },
  ),
  spikes: fc.array(
    fc.record({
      atMs,
      lengthMs: fc.integer({ min: 2_000, max: 12_000 }),
      factor: fc.constantFrom(2, 5, 20, 100),
    }),
    { maxLength: 1 },
  ),
  backup: oneIn(4, backup),
  evictions: fc.array(fc.integer({ min: 0, max: TROUBLE_MS }), { maxLength: 3 }),
  intruder: oneIn(7, intruder),
}

/** These reorgs stay shallower than finality: what is deeper is drawn by itself. */
const shallow = <P extends Pick<Plan, 'reorgs' | 'finalityBlocks'>>(plan: P): P => ({
  ...plan,
  reorgs: plan.reorgs.map((reorg) => ({ ...reorg, depth: Math.min(reorg.depth, plan.finalityBlocks) })),
})

/** A node that is alone is believed, so that one on a fork of its own would make things up. */
const believed = <P extends Pick<Plan, 'nodes' | 'nodeFaults'>>(plan: P): P =>
  plan.nodes > 1
    ? plan
    : { ...plan, nodeFaults: plan.nodeFaults.filter(({ fault }) => fault !== 'other_fork') }

/** Nodes that fail, lag and fork, but never make anything up. */
export const honestPlan: fc.Arbitrary<Plan> = fc
  .record({
    ...common,
    nodes: fc.constantFrom<1 | 2 | 3>(1, 2, 3, 3),
    nodeFaults: fc.array(
      fc.record({ ...window, node: fc.integer({ min: 0, max: 2 }), fault: fc.constantFrom(...NODE_FAULTS) }),
      { maxLength: 4 },
    ),
    liar: fc.constant(null),
    deep: oneIn(7, deep),
  })
  .map(shallow)
  .map(believed)

const TRANSPORT = ['down', 'stalls', 'slow', 'refuses', 'loses_replies'] as const

/** One of three nodes lies or stalls in any answer; the other two are at worst unreachable now and then. */
export const liarPlan: fc.Arbitrary<Plan> = fc
  .record({
    ...common,
    nodes: fc.constant(3 as const),
    nodeFaults: fc.array(
      fc.record({ ...window, node: fc.integer({ min: 0, max: 2 }), fault: fc.constantFrom(...TRANSPORT) }),
      { maxLength: 2 },
    ),
    liar: fc.record({
      node: fc.integer({ min: 0, max: 2 }),
      lies: fc.subarray([...LIES], { minLength: 1 }),
      chance: fc.constantFrom(0.1, 0.5, 1),
      untilMs: fc.constantFrom(10_000, TROUBLE_MS, 10_000_000),
    }),
    deep: fc.constant(null),
  })
  .map(shallow)

/** Often what a person has to look at afterwards, also several at once. */
export const troubledPlan: fc.Arbitrary<Plan> = fc
  .tuple(
    fc.oneof(honestPlan, liarPlan),
    fc.record({ backup: oneIn(2, backup), intruder: oneIn(2, intruder), deep: oneIn(2, deep) }),
  )
  .map(([plan, trouble]) => ({ ...plan, ...trouble, ...(plan.liar === null ? {} : { deep: null }) }))

/** Many opportunities at once. */
export const crowdedPlan: fc.Arbitrary<Plan> = fc
  .tuple(troubledPlan, fc.array(opportunity, { minLength: 6, maxLength: 16 }))
  .map(([plan, opportunities]) => ({ ...plan, opportunities }))
