import { describe, expect, it } from 'vitest'
import type { Plan } from './plan.ts'
import { runSchedule } from './schedule.ts'

/** Every one up to twice what is deeper than finality, and some of those behind. */
const DEPTHS = [...Array.from({ length: 16 }, (_, index) => index + 1), 24, 32, 48, 63, 64]
/** Two workflows are in their blocks by then, and the newest head is read. */
const AT_MS = 8_900
/** What is deeper than finality is so by one block up to here. */
const DEEPER_THAN = 8

/** Nothing goes wrong but a reorg: its transactions are forgotten, or wait again, in turns. */
const planOf = (finalityBlocks: number, reorg: Pick<Plan, 'reorgs' | 'deep'>): Plan => ({
  seed: finalityBlocks,
  nodes: 2,
  blockMs: 1_000,
  inclusion: 1,
  latencyMs: 10,
  finalityBlocks,
  finality: 'confirmations',
  feeCapWei: 300_000_000_000n,
  opportunities: (['liquidate', 'settle'] as const).map((kind) => ({
    kind,
    seenAtMs: 0,
    fate: 'stays',
    goneAtMs: 0,
    urgent: false,
  })),
  crashes: [],
  nodeFaults: [],
  liar: null,
  serviceFaults: [],
  kmsFaults: [],
  spikes: [],
  backup: null,
  evictions: [],
  intruder: null,
  ...reorg,
})
const forgetsAt = (depth: number) => depth % 2

/** What was violated; that something is final which is not, and that a head was read without SAFE, is among it. */
const ran = async (plan: Plan) => {
  const { violations, states, alarms } = await runSchedule(plan)
  return { violations, states, isForkSeen: alarms.has('chain.reorg_past_finality') }
}

describe('a reorg of 1 to 64 blocks', () => {
  it('as deep as finality at most: nothing is called final that goes, and all that was in flight is done', async () => {
    for (const depth of DEPTHS) {
      const reorgs = [{ atMs: AT_MS, depth, forgets: forgetsAt(depth) }]
      const { states, ...rest } = await ran(planOf(depth, { reorgs, deep: null }))
      expect({ depth, ...rest }).toEqual({ depth, violations: [], isForkSeen: false })
      expect(states.succeeded).toBe(3)
    }
  })

  it('deeper than finality: SAFE at the first head, nothing signed until it is released, nothing false after', async () => {
    for (const depth of DEPTHS.slice(1)) {
      const finality = Math.min(depth - 1, DEEPER_THAN)
      const deep = { atMs: AT_MS, beyond: depth - finality, forgets: forgetsAt(depth) }
      const { states, ...rest } = await ran(planOf(finality, { reorgs: [], deep }))
      expect({ depth, ...rest }).toEqual({ depth, violations: [], isForkSeen: true })
      expect(states.succeeded).toBeGreaterThanOrEqual(1)
    }
  })
})
