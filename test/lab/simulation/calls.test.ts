import { expect, it } from 'vitest'
import type { Plan } from './plan.ts'
import { runSchedule } from './schedule.ts'

const READERS = 2
/** The model's nodes all take what is sent; a call of one of them is counted. */
const SENDERS = READERS

/** One liquidation, an approval and its payload, where nothing goes wrong; blocks come every 12 seconds. */
const planOf = (finalityBlocks: number): Plan => ({
  seed: 1,
  nodes: READERS,
  blockMs: 12_000,
  inclusion: 1,
  latencyMs: 10,
  finalityBlocks,
  finality: 'confirmations',
  feeCapWei: 300_000_000_000n,
  opportunities: [],
  crashes: [],
  nodeFaults: [],
  liar: null,
  serviceFaults: [],
  kmsFaults: [],
  reorgs: [],
  deep: null,
  intruder: null,
  spikes: [],
  backup: null,
  evictions: [],
})

/**
 * What nodes are asked because of one workflow: all calls of its own runs, and the receipts of its block. What each head
 * costs whoever is in flight is the keeper's (`test/pipeline/transactions/call-budget.test.ts`).
 */
async function ownCalls(finalityBlocks: number) {
  const { violations, states, calls } = await runSchedule(planOf(finalityBlocks))
  expect({ violations, states }).toEqual({ violations: [], states: { succeeded: 1 } })
  const own = [...calls].flatMap(([call, count]) => {
    const [who, method = ''] = call.split(' ')
    if (who === 'keeper' && method !== 'eth_getTransactionReceipt') return []
    return [[method, method === 'eth_sendRawTransaction' ? count / SENDERS : count] as const]
  })
  return Object.fromEntries(own)
}

it('costs a workflow at most 14 node calls with two readers, also where 75 blocks and 15 minutes pass until it is final', async () => {
  const [soon, late] = [await ownCalls(2), await ownCalls(75)]
  expect(late).toEqual(soon)
  const total = Object.values(late).reduce((sum, count) => sum + count, 0)
  expect(total).toBeLessThanOrEqual(14)
})
