import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Gauges } from '../../../src/ops/metrics/gauges.ts'
import { createMetrics } from '../../../src/ops/metrics/metrics.ts'
import { askPromtool } from '../../support/prometheus.ts'

const facts = {
  version: '0.1.0',
  environment: 'sandbox',
  configHash: 'c0',
  rulesetHash: () => 'a1',
  isInFleet: false,
  roles: [
    { role: 'liquidator', types: ['role.liquidator.liquidate'] as const, isShadow: false, isByHand: false },
  ],
  alarmTargets: [],
}
const gauges: Gauges = {
  facets: [
    { facet: 'node', about: 'read-1', state: 'warning', code: 'node.left_out', message: '', sinceMs: 0 },
  ],
  control: { killed: false, paused: true, pulled: [] },
  feed: { mode: 'polling', messageAgeMs: 1_500, connections: 2 },
  diskFreeBytes: 5_000_000_000,
  audit: { records: 4_711, waitingMs: 1_500 },
  nodes: [
    {
      node: 'read-1',
      state: 'behind',
      sinceMs: 0,
      blocksBehind: 3,
      lastErrorCode: null,
      disagreements: 0,
      errors: 4,
      headNumber: 12n,
    },
  ],
  quorumMissingMs: 2_500,
  sweepAgeMs: null,
  serviceLagMs: 2_000,
  capUsed: { usd_per_day: 0.75 },
  roles: [
    {
      role: 'liquidator',
      isByHand: false,
      up: true,
      safe: { nonce_taken: 1 },
      workflowsLive: 2,
      workflowsHeld: 1,
      slotsOpen: 1,
      slotAgeMs: 61_000,
      decisionAgeMs: 250,
      nativeBalanceWei: 1_500_000_000_000_000_000n,
      dutyLateMs: 65_000,
      dutyLate: 2,
      nextDueMs: 30_000,
      lastActAgeMs: 12_000,
      reportAgeMs: 86_400_000,
      leftUsdMicros: { debt_below_minimum: 31_000_000n },
      gasRunwayWorkflows: 7.5,
      exposureUsdMicros: 42_000_000n,
      inventory: { sUSD: 1_000.5 },
      approvalExpiresMs: 90_000,
      marketsArmed: 1,
      marketsUnarmed: 1,
      budgets: { usd_per_hour: 0.25 },
      allowances: { 'limits.allowances[0]': 0.5 },
    },
  ],
}

/** The samples of our own metrics, without buckets and what was not counted yet. */
const samples = (text: string) =>
  text.split('\n').filter((line) => line.startsWith('rolekeeper_') && !/_bucket|_total\{.*\} 0$/.test(line))

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
    metrics.accounted('liquidator', { moved: 4_500_000n, gas: -250_000n, positions: 0n, marked: null })
    expect(samples(await metrics.render(gauges))).toMatchSnapshot()
  })

  it('counts what is known beforehand from 0, also an alarm of a role with a hyphen, so that a first one is an increase', async () => {
    const metrics = createMetrics(facts)
    const alarm = 'rolekeeper_alarms_total{code="nav-reporter.quorum_short"}'
    const before = await metrics.render(gauges)
    expect(before).toContain(`${alarm} 0\n`)
    expect(before).toContain('rolekeeper_sends_total{outcome="rejected"} 0\n')
    const outcome = '{role="liquidator",type="role.liquidator.liquidate",outcome="quarantined"}'
    expect(before).toContain(`rolekeeper_workflow_outcomes_total${outcome} 0\n`)
    metrics.alarmed('nav-reporter.quorum_short')
    const after = await metrics.render(gauges)
    expect(after).toContain(`${alarm} 1\n`)
    expect(after).not.toContain('code="other"')
  })

  it('shows of a role that people work what happens, and nothing of what it never decides or owes', async () => {
    const types = ['role.partner.partnerFeeSharesClaim'] as const
    const roles = [{ role: 'partner', types, isShadow: false, isByHand: true }]
    const metrics = createMetrics({ ...facts, roles })
    const page = await metrics.render({
      ...gauges,
      roles: gauges.roles.map((each) => ({ ...each, role: 'partner', isByHand: true })),
    })
    const series = page.split('\n').filter((line) => line.includes('role="partner"'))
    const names = new Set(series.map((line) => line.slice('rolekeeper_'.length, line.indexOf('{'))))
    expect(series.length).toBeLessThan(25)
    expect([...names].toSorted()).toEqual([
      ...['allowance_used_ratio', 'approval_expires_seconds', 'budget_used_ratio', 'exposure_dollars'],
      ...[
        'gas_runway_workflows',
        'inventory_tokens',
        'last_act_age_seconds',
        'native_balance_ether',
        'role_up',
      ],
      ...['signers_safe', 'slot_age_seconds', 'slots_open', 'strikes_total', 'workflow_outcomes_total'],
      ...['workflows_held', 'workflows_live'],
    ])
  })

  it('has names, units and help that promtool has nothing to say about, those of Node included', async () => {
    const page = await createMetrics({ ...facts, isInFleet: true }).render(gauges)
    expect(await askPromtool(['check', 'metrics'], page)).toEqual({ ok: true, said: '' })
    const bad = await askPromtool(['check', 'metrics'], `${page}# TYPE x_total gauge\nx_total 1\n`)
    expect(bad).toEqual({ ok: false, said: expect.stringContaining('non-counter metrics') })
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

  it('say how an instance of a fleet stands, and nothing of fleets where there is none', async () => {
    const { fleet, render } = createMetrics({ ...facts, isInFleet: true })
    fleet?.term('begun')
    fleet?.redisCalled('claim', 'ok', 2)
    fleet?.redisCalled('claim', 'journal.unknown', 2_000)
    const standing = {
      seats: 8,
      seatsHeld: 3,
      seatFreeMs: 1_500,
      instances: 2,
      redisSilentMs: 250,
      isStandby: false,
      isRedisUnfit: false,
      isQueueDeaf: true,
    }
    const page = samples(await render({ ...gauges, fleet: standing }))
    const alone = samples(await createMetrics(facts).render(gauges))
    const namesOf = (lines: readonly string[]) => new Set(lines.map((line) => line.replace(/[ {].*/, '')))
    const ofFleets = [...namesOf(page)].filter((name) => !namesOf(alone).has(name))
    expect(page.filter((line) => ofFleets.includes(line.replace(/[ {].*/, '')))).toMatchSnapshot()
    expect([...namesOf(alone)].join()).not.toContain('fleet')
  })

  it('are what the alerts of a fleet ask for', async () => {
    const metrics = createMetrics({ ...facts, isInFleet: true })
    const families = (await metrics.render(gauges)).matchAll(/^# TYPE (rolekeeper_\w+) /gm)
    const known = new Set([...families].map(([, name]) => name))
    const { groups } = parse(readFileSync('config/fleet-alerts.yaml', 'utf8'))
    const rules: readonly { readonly expr: string }[] = groups[0].rules
    const asked = rules.flatMap(({ expr }) => [...expr.matchAll(/rolekeeper_\w+/g)].map(([name]) => name))
    expect(asked.length).toBeGreaterThan(8)
    expect(asked.filter((name) => !known.has(name))).toEqual([])
  })

  it('name the rules of now: those of a policy that was tightened were those of the start', async () => {
    let hash = 'a1'
    const { render } = createMetrics({ ...facts, rulesetHash: () => hash })
    expect(await render(gauges)).toContain('ruleset_hash="a1"')
    hash = 'b2'
    const page = await render(gauges)
    expect(page).toContain('ruleset_hash="b2"')
    expect(page).not.toContain('ruleset_hash="a1"')
  })

  it('tells what is not known apart from zero', async () => {
    expect(await createMetrics(facts).render(gauges)).toContain('rolekeeper_sweep_age_seconds Nan')
  })
})
