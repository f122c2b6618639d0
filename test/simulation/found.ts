import { LIES } from './node.ts'
import type { Opportunity, Plan } from './plan.ts'

const seen = (
  kind: Opportunity['kind'],
  seenAtMs: number,
  fate: Opportunity['fate'] = 'stays',
  goneAtMs = 0,
): Opportunity => ({ kind, seenAtMs, fate, goneAtMs, urgent: false })
const urgent = (opportunity: Opportunity): Opportunity => ({ ...opportunity, urgent: true })

const calm = {
  ...{
    inclusion: 1,
    feeCapWei: 300_000_000_000n,
    crashes: [],
    nodeFaults: [],
    liar: null,
    serviceFaults: [],
  },
  ...{ kmsFaults: [], reorgs: [], deep: null, intruder: null, spikes: [], backup: null, evictions: [] },
}

/**
 * Schedules that once broke an invariant, cut down to what it took, by what was wrong. As plans: a seed draws another one
 * once anything about the drawing changes.
 */
export const FOUND: Readonly<Record<string, Plan>> = {
  'what a deep reorg took landed at a nonce that a person filled meanwhile, and was called somebody else’s': {
    ...calm,
    ...{ seed: 931_579_023, nodes: 1, blockMs: 4_000, finalityBlocks: 5, finality: 'confirmations' },
    ...{ inclusion: 0.3, latencyMs: 10, opportunities: [urgent(seen('liquidate', 1_217))] },
    crashes: [{ at: 'sign', nth: 3, when: 'before', downMs: 15_000 }],
    reorgs: [{ atMs: 9_247, depth: 5, forgets: 0.3 }],
    spikes: [{ atMs: 5_648, lengthMs: 3_256, factor: 20 }],
    backup: { restoreAtMs: 9_069, ageMs: 107 },
    evictions: [21_353, 22_367],
    intruder: { atMs: 2_012, takes: 'free' },
    deep: { atMs: 24_987, beyond: 3, forgets: 1 },
  },
  'a restored journal held a nonce final that a deep reorg had opened again, and knew nothing of its no-op': {
    ...calm,
    ...{ seed: 24, nodes: 3, blockMs: 1_000, finalityBlocks: 6, finality: 'confirmations' },
    ...{ inclusion: 0.6, latencyMs: 100 },
    opportunities: [
      urgent(seen('liquidate', 4_545, 'gone', 11_675)),
      urgent(seen('settle', 9_659)),
      urgent(seen('settle', 1, 'gone', 1_008)),
      urgent(seen('settle', 3_014)),
      urgent(seen('liquidate', 2, 'gone', 1_006)),
      seen('settle', 11_988),
      urgent(seen('liquidate', 11, 'gone', 14_990)),
      urgent(seen('liquidate', 2)),
    ],
    backup: { restoreAtMs: 24_997, ageMs: 8_678 },
    evictions: [24_268, 2],
    deep: { atMs: 15_845, beyond: 6, forgets: 0.3 },
  },
  'a restored journal went on with a round whose next one had landed, and did it twice': {
    ...calm,
    ...{ seed: 11, nodes: 3, blockMs: 2_000, finalityBlocks: 1, finality: 'confirmations', latencyMs: 10 },
    feeCapWei: 3_000_000_000n,
    opportunities: [
      seen('settle', 3_324, 'healthy'),
      urgent(seen('settle', 3_301, 'healthy')),
      seen('settle', 1_222, 'healthy'),
      seen('liquidate', 2_919),
    ],
    serviceFaults: [{ fromMs: 2_561, lengthMs: 5_967, chance: 0.7, fault: 'loses_replies' }],
    spikes: [{ atMs: 2_223, lengthMs: 10_016, factor: 20 }],
    backup: { restoreAtMs: 17_514, ageMs: 11_996 },
    intruder: { atMs: 17_714, takes: 'free' },
  },
  'what had ended without its effect had it after a deep reorg, and was done once more': {
    ...calm,
    ...{ seed: 27, nodes: 3, blockMs: 4_000, finalityBlocks: 1, finality: 'finalized', latencyMs: 100 },
    opportunities: [
      urgent(seen('liquidate', 3, 'healthy')),
      urgent(seen('liquidate', 3, 'gone', 12_509)),
      seen('liquidate', 9_471),
      urgent(seen('settle', 2_704, 'gone', 1_012)),
    ],
    intruder: { atMs: 9_511, takes: 'free' },
    deep: { atMs: 24_991, beyond: 7, forgets: 0.3 },
  },
  'soon after a start a block was called final that a reorg no deeper than finality had taken': {
    ...calm,
    ...{
      seed: 2_147_483_646,
      nodes: 3,
      blockMs: 1_000,
      finalityBlocks: 4,
      finality: 'finalized',
      latencyMs: 100,
    },
    opportunities: [seen('settle', 1_083), seen('liquidate', 11, 'gone', 1_004)],
    crashes: [
      { at: 'post', nth: 1, when: 'before', downMs: 1_000 },
      { at: 'barrier', nth: 1, when: 'before', downMs: 1_000 },
    ],
    reorgs: [{ atMs: 8_691, depth: 4, forgets: 0.3 }],
    evictions: [6_149],
    intruder: { atMs: 11_695, takes: 'free' },
    liar: { node: 1, lies: LIES.filter((lie) => lie !== 'count'), chance: 0.5, untilMs: 30_000 },
  },
  'a fork seen in one answer and not yet as a head made a workflow confirmed and in flight for ever at one instant':
    {
      ...calm,
      ...{
        seed: 1_007_810_777,
        nodes: 3,
        blockMs: 4_000,
        finalityBlocks: 6,
        finality: 'confirmations',
        latencyMs: 100,
      },
      opportunities: [
        urgent(seen('settle', 3_218)),
        seen('liquidate', 5_493),
        urgent(seen('settle', 2_591)),
        seen('settle', 3_056),
      ],
      inclusion: 0.3,
      serviceFaults: [{ fromMs: 17_986, lengthMs: 8_193, chance: 0.7, fault: 'loses_replies' }],
      kmsFaults: [{ fromMs: 15_739, lengthMs: 3_675, chance: 1, fault: 'denies' }],
      reorgs: [
        { atMs: 17_300, depth: 1, forgets: 0.3 },
        { atMs: 6_151, depth: 4, forgets: 0 },
      ],
      spikes: [{ atMs: 8_508, lengthMs: 9_569, factor: 2 }],
      backup: { restoreAtMs: 5_011, ageMs: 11_993 },
      intruder: { atMs: 2_011, takes: 'held' },
      deep: { atMs: 17_858, beyond: 6, forgets: 0 },
    },
  'what a deep reorg opened again was bumped beyond what was still reserved for it': {
    ...calm,
    ...{
      seed: 419_969_832,
      nodes: 1,
      blockMs: 2_000,
      finalityBlocks: 3,
      finality: 'finalized',
      latencyMs: 10,
    },
    opportunities: [
      seen('settle', 1_593, 'healthy'),
      urgent(seen('liquidate', 4_684)),
      seen('liquidate', 5_798),
      seen('settle', 6_941, 'healthy'),
      urgent(seen('liquidate', 1_739)),
      seen('liquidate', 3_884),
      urgent(seen('settle', 3_581, 'healthy')),
      seen('liquidate', 7_493),
    ],
    feeCapWei: 3_000_000_000n,
    crashes: [{ at: 'prepare', nth: 2, when: 'after', downMs: 1_000 }],
    serviceFaults: [
      { fromMs: 5_965, lengthMs: 11_357, chance: 0.7, fault: 'blocks' },
      { fromMs: 4_002, lengthMs: 9_953, chance: 0.7, fault: 'blocks' },
    ],
    kmsFaults: [{ fromMs: 3_211, lengthMs: 9_493, chance: 0.3, fault: 'loses_replies' }],
    reorgs: [
      { atMs: 5_336, depth: 2, forgets: 0 },
      { atMs: 4_932, depth: 2, forgets: 0.3 },
      { atMs: 13_366, depth: 1, forgets: 1 },
    ],
    backup: { restoreAtMs: 5_247, ageMs: 11_999 },
    intruder: { atMs: 19_994, takes: 'held' },
    nodeFaults: [{ fromMs: 14_950, lengthMs: 6_394, chance: 0.7, node: 1, fault: 'slow' }],
    deep: { atMs: 15_345, beyond: 5, forgets: 1 },
  },
  'a head that came during the start made it adopt a second first nonce, which was somebody else’s': {
    ...calm,
    ...{
      seed: 2_147_483_620,
      nodes: 2,
      blockMs: 4_000,
      finalityBlocks: 1,
      finality: 'finalized',
      latencyMs: 100,
    },
    opportunities: [
      urgent(seen('liquidate', 6_902, 'healthy')),
      seen('liquidate', 4_217, 'gone', 6_218),
      seen('liquidate', 7_314),
      seen('liquidate', 539, 'healthy'),
      seen('settle', 7_215),
      seen('liquidate', 637, 'healthy'),
      urgent(seen('liquidate', 31, 'gone', 8_317)),
      seen('liquidate', 428),
      urgent(seen('liquidate', 4_738, 'gone', 10_552)),
      seen('liquidate', 597, 'healthy'),
      seen('liquidate', 431),
      urgent(seen('settle', 6_317)),
      seen('liquidate', 1_668, 'healthy'),
      seen('settle', 2_026),
    ],
    crashes: [{ at: 'open', nth: 4, when: 'before', downMs: 15_000 }],
    kmsFaults: [
      { fromMs: 16_906, lengthMs: 2_054, chance: 0.3, fault: 'stalls' },
      { fromMs: 12_467, lengthMs: 10_789, chance: 0.7, fault: 'loses_replies' },
    ],
    spikes: [{ atMs: 2_382, lengthMs: 7_458, factor: 5 }],
    backup: { restoreAtMs: 19_764, ageMs: 5_884 },
    evictions: [29_987],
    intruder: { atMs: 5_099, takes: 'free' },
    nodeFaults: [
      { fromMs: 4, lengthMs: 8_537, chance: 0.7, node: 2, fault: 'refuses' },
      { fromMs: 3_947, lengthMs: 3_120, chance: 1, node: 0, fault: 'refuses' },
      { fromMs: 9, lengthMs: 3_561, chance: 0.3, node: 0, fault: 'refuses' },
    ],
  },
}
