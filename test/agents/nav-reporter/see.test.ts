import { expect, test } from 'vitest'
import type { Moment } from '../../../agents/agent.ts'
import { decide } from '../../../agents/nav-reporter/decide.ts'
import type { NavReporterPolicy } from '../../../agents/nav-reporter/policy.ts'
import { type NavReporterSeen, newest } from '../../../agents/nav-reporter/see.ts'
import {
  accepted,
  FUND,
  fund,
  iso,
  later,
  moment,
  NONE,
  NOW_S,
  ORACLE,
  policy,
  WAD,
  word,
} from './fixtures.ts'
import { look as lookAt, type World } from './world.ts'

const OUTSIDE = ['fundAdministrator', 'fundCustodian', 'fundValuer']
const statement = (value: string, atS = NOW_S) => JSON.stringify({ perShare: { value, asOf: iso(atS) } })
const world: World = {
  nav: accepted(),
  interim: NONE,
  administrator: statement('1.04'),
  custodian: `asOf,microsPerShare\n${iso(NOW_S)},1040000\n`,
  valuer: JSON.stringify({ valuations: [{ perShare: '1.04', asOf: iso(NOW_S) }] }),
  lens: word((104n * WAD) / 100n),
  idle: word(230_000_000_000n),
  fund: fund(),
}

function look(
  at: Moment,
  previous: NavReporterSeen | null,
  changes: Partial<World> = {},
  by: NavReporterPolicy = policy(),
) {
  const { seen, asked, waves } = lookAt({ ...world, ...changes }, at, by, previous)
  const sources = asked.flatMap((question) => (question.kind === 'source' ? [question.name] : []))
  return { seen, sources, waves, report: seen.reports[0] }
}

test('asks the oracle first, then every source, and reads what each says', () => {
  const { report, sources, waves } = look(moment(), null)
  expect(waves).toBe(2)
  expect(sources).toEqual(OUTSIDE)
  expect(report).toMatchObject({ oracle: ORACLE, asset: FUND, decimals: 18, askedAtMs: moment().nowMs })
  expect(report?.readings).toMatchObject([
    { source: 'administrator', ok: true, known: [{ value: (104n * WAD) / 100n, asOfS: NOW_S }] },
    { source: 'custodian', ok: true, known: [{ value: (104n * WAD) / 100n, asOfS: NOW_S }] },
    { source: 'chain', ok: true, known: [{ value: (104n * WAD) / 100n, asOfS: NOW_S + 1 }] },
    { source: 'holdings', ok: true, known: [{ value: 1_039_400_000_000_000_000n, asOfS: NOW_S }] },
    { source: 'valuer', ok: true, known: [{ value: (104n * WAD) / 100n, asOfS: NOW_S }] },
  ])
  expect(decide({ ...moment(), ...look(moment(), null).seen }, policy()).proposals).toHaveLength(1)
})

test('names what a source did not say, and lets the others stand', () => {
  const { report } = look(moment(), null, {
    administrator: '<html></html>',
    custodian: statement('1.04'),
    valuer: statement('1.04'),
    lens: null,
    idle: '0x',
    fund: fund({ totalSupply: '0' }),
  })
  expect(report?.readings.map((reading) => (reading.ok ? 'ok' : reading.check))).toEqual([
    'source_not_json',
    'source_not_csv',
    'source_unreadable',
    'source_unreadable',
    'source_without_value',
  ])
  expect(report?.parts).toBeNull()
})

test('asks outside sources again after pollS alone, and the chain each time', () => {
  const first = look(moment(), null)
  const soon = look(later(4), first.seen, { lens: word(WAD) })
  expect(soon.sources).toEqual([])
  expect(soon.report?.readings[0]).toEqual(first.report?.readings[0])
  expect(soon.report?.readings[2]).toMatchObject({ known: [{ value: WAD, asOfS: NOW_S + 5 }] })
  expect(soon.report?.askedAtMs).toBe(first.report?.askedAtMs)
  const again = look(later(5), soon.seen, { administrator: statement('1.05', NOW_S + 5) })
  expect(again.sources).toEqual(OUTSIDE)
  expect(again.report?.readings[0]?.known.at(-1)).toMatchObject({ value: (105n * WAD) / 100n })
})

test('keeps of each source what a report may need, and asks anew once one has come due', () => {
  const first = look(later(-3), null, { administrator: statement('1.04', NOW_S - 2) })
  const due = look(later(0), first.seen, { administrator: statement('1.05', NOW_S + 1) })
  expect(due.sources).toEqual(OUTSIDE)
  const known = (one: typeof due) => one.report?.readings[0]?.known.map(({ asOfS }) => asOfS - NOW_S)
  expect(known(due)).toEqual([-2, 1])
  const last = look(later(28), due.seen, { administrator: statement('1.05', NOW_S + 29) })
  expect(known(last)).toEqual([-2, 1, 29])
  const next = look(later(30), last.seen, { administrator: statement('1.05', NOW_S + 31) })
  expect(known(next)).toEqual([29, 31])
  const back = look(later(40), next.seen, { administrator: statement('1.05', NOW_S + 30) })
  expect(back.report?.readings[0]).toMatchObject({ ok: false, check: 'source_went_back' })
})

test('asks outside sources four times while a report waits for newer values, until it is made', () => {
  const by = policy({ schedule: { everyS: 400 }, lateSMax: 400, waitForNewerS: 40, pollS: 300 })
  const first = look(moment(), null, {}, by)
  const askedAfter = (seconds: number, nav = world.nav) =>
    look(later(seconds), first.seen, { nav }, by).sources.length > 0
  expect([askedAfter(9), askedAfter(10)]).toEqual([false, true])
  expect(askedAfter(10, accepted({ valuationTimeS: NOW_S }))).toBe(false)
  expect(askedAfter(39)).toBe(false)
})

test('asks outside sources anew when the clock has gone back', () => {
  const ahead = look(later(3_600), null)
  expect(look(moment(), ahead.seen).sources).toEqual(OUTSIDE)
})

test('keeps what the fund was made of when it was last reported, for the bridge', () => {
  const first = look(moment(), null)
  expect(first.report?.partsBefore).toBeNull()
  const reported = {
    nav: accepted({ valuationTimeS: NOW_S, submittedAtS: NOW_S + 1, value: (1_036n * WAD) / 1_000n }),
  }
  const landed = look(later(2), first.seen, { ...reported, idle: word(235_000_000_000n) })
  expect(landed.report?.partsBefore).toEqual(first.report?.parts)
  const next = look(later(30), landed.seen, {
    ...reported,
    idle: word(235_000_000_000n),
    administrator: statement('1.06', NOW_S + 30),
  })
  expect(next.report?.partsBefore).toEqual(first.report?.parts)
  const [proposal] = decide({ ...later(30), ...next.seen }, policy()).proposals
  expect(proposal?.reason).toMatchObject({
    bridgeIdle: '20000000000000000',
    bridgeHoldings: '0',
    bridgeUnits: '0',
  })
})

test('says nothing of an oracle or an asset that is not pinned', () => {
  const { deployment } = moment()
  const without = moment({ deployment: { ...deployment, contracts: [] } })
  expect(look(without, null).report).toMatchObject({ oracle: null, asset: null, scheduled: null })
  const unfunded = look(moment({ deployment: { ...deployment, funds: [] } }), null)
  expect(unfunded.report?.readings[3]).toMatchObject({ check: 'fund_not_known' })
})

test('the newest report is of either type', () => {
  const { report } = look(moment(), null)
  if (report?.scheduled == null || report.interim === null) throw new TypeError('not read')
  expect(newest(report)).toBe(report.scheduled.latest)
  const interim = { ...report.interim, latest: accepted({ valuationTimeS: NOW_S }) }
  expect(newest({ ...report, interim })).toBe(interim.latest)
})

test('a report of nothing is none to compare with', () => {
  const { seen } = look(moment(), null, { nav: accepted({ value: 0n }) })
  const [proposal] = decide({ ...moment(), ...seen }, policy()).proposals
  expect(proposal).toMatchObject({ occurrence: `${NOW_S}:0` })
  expect(proposal).not.toHaveProperty('deviationBps')
})

test('a clock that jumped ahead and came back does not stop reports', () => {
  const jumped = look(moment({ nowMs: moment().nowMs + 10 ** 12 }), look(moment(), null).seen)
  expect(jumped.seen.latestMs).toBe(moment().nowMs)
  const back = look(later(2), jumped.seen)
  expect(decide({ ...later(2), ...back.seen }, policy()).proposals).toHaveLength(1)
})
