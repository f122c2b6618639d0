import { describe, expect, it } from 'vitest'
import { createMetrics, type Gauges } from '../../src/ops/metrics.ts'

const facts = { version: '0.1.0', environment: 'sandbox', configHash: 'c0', rulesetHash: 'a1' }
const gauges: Gauges = {
  control: { killed: false, paused: true },
  feed: { mode: 'polling', messageAgeMs: 1_500 },
  nodes: [
    {
      ...{ node: 'read-1', state: 'behind', sinceMs: 0, blocksBehind: 3 },
      ...{ lastErrorCode: null, disagreements: 0 },
    },
  ],
  quorumMissingMs: 2_500,
  sweepAgeMs: null,
  serviceLagMs: 2_000,
  roles: [
    {
      role: 'liquidator',
      up: true,
      safe: { nonce_taken: 1 },
      workflowsLive: 2,
      workflowsHeld: 1,
      slotsOpen: 1,
      slotAgeMs: 61_000,
      decisionAgeMs: 250,
      nativeBalanceWei: 1_500_000_000_000_000_000n,
      marketsArmed: 1,
      marketsUnarmed: 1,
      budgets: { usdMicros1h: 0.25 },
    },
  ],
}

/** The samples of our own metrics, without zero buckets. */
const samples = (text: string) =>
  text.split('\n').filter((line) => line.startsWith('rolekeeper_') && !line.includes('_bucket'))

describe('metrics', () => {
  it('count what happened and show what is so', async () => {
    const metrics = createMetrics(facts)
    metrics.workflowMoved('liquidator', 'role.liquidator.liquidate', 'prepared', 40)
    metrics.workflowMoved('liquidator', 'role.liquidator.liquidate', 'succeeded', 2_000)
    metrics.refused('liquidator', 'guard', 'target_not_allowed')
    metrics.decided('liquidator', 1, 11, 3)
    metrics.kmsCalled('ok', 60)
    metrics.kmsCalled('kms.denied', 20)
    metrics.serviceCalled('ok', 20)
    metrics.sent('accepted')
    metrics.nodeAlone('read-2')
    metrics.webhookReceived('taken')
    metrics.struck('liquidator')
    metrics.scored('liquidator', 'won')
    metrics.alarmed('slot.stuck')
    expect(samples(await metrics.render(gauges))).toMatchSnapshot()
  })

  it('keeps the number of series bounded, whatever names it is told', async () => {
    const metrics = createMetrics(facts)
    for (let index = 0; index < 10_000; index++) metrics.refused('liquidator', 'guard', `check_${index}`)
    metrics.refused('liquidator', 'guard', '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
    metrics.refused('liquidator', 'guard', 'Position is "odd"')
    const lines = (await metrics.render(gauges)).split('\n')
    expect(lines.filter((line) => line.startsWith('rolekeeper_refusals_total'))).toHaveLength(201)
    expect(lines.length).toBeLessThan(2_000)
    expect(lines.join()).not.toContain('0xf39')
  })

  it('tells what is not known apart from zero', async () => {
    expect(await createMetrics(facts).render(gauges)).toContain('rolekeeper_sweep_age_seconds Nan')
  })
})
