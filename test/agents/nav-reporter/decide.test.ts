import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { InFlight, Stop } from '../../../agents/agent.ts'
import { decide } from '../../../agents/nav-reporter/decide.ts'
import { navReporterPolicy } from '../../../agents/nav-reporter/policy.ts'
import type { Statement } from '../../../agents/nav-reporter/statement.ts'
import { approvalPolicy, compileApproval, whyAsk } from '../../../src/guard/approval/approval.ts'
import { policyOf } from '../../support/policies.ts'
import {
  accepted,
  decided,
  FUND,
  fund,
  later,
  moment,
  NONE,
  NOW_S,
  ORACLE,
  observation,
  policy,
  readings,
  strategyText,
  typeSeen,
  VAULT,
  WAD,
} from './fixtures.ts'

const GROSS = (104n * WAD) / 100n
/** 1.04 less a tenth of what lies above 1: carry waits for the preferred return. */
const NET = (1_036n * WAD) / 1_000n
const view = { type: 'function', name: 'a', stateMutability: 'view', inputs: [], outputs: [] } as const
const mark = { contract: '$asset', args: [], decimals: 18, highWaterValue: view, accruesSince: view } as const
/** Fees of a fund that pays them out. */
const MARKED = {
  performanceFeeBps: 1_000n,
  carryRateBps: 2_000n,
  preferredReturnBps: 800n,
  mark,
} as never

describe('a report that is due', () => {
  test('is proposed for its valuation time, less fees, with sources, bridge and deviation', () => {
    const before = { idleAssets: 450_000_000_000n, holdingsAssets: 59_700_000_000n, supply: 500_000n * WAD }
    const { proposals, passedOver } = decided({ partsBefore: before })
    expect(passedOver).toEqual([])
    expect(proposals).toHaveLength(1)
    expect(proposals[0]).toMatchObject({
      workflowType: 'role.nav_reporter.navReportSignAndSubmit',
      kind: 'scheduled',
      subject: `${FUND}:${ORACLE}:nav`,
      occurrence: `${NOW_S}:0`,
      input: {
        oracleAddress: ORACLE,
        assetAddress: FUND,
        reportType: 'nav',
        value: String(NET),
        decimals: 18,
        valuationTimestamp: String(NOW_S),
        revision: 0,
        revisionLabel: 'scheduled',
      },
      exposure: { token: null, assets: 0n, usdMicros: 0n },
      deviationBps: 39,
    })
    expect(proposals[0]?.summary).toMatchInlineSnapshot(
      `"report recoveryFund nav of 2027-01-15T08:00:00Z: 1.036000 (−0.004000, 0.39 %), 4 of 4 votes; idle +0.020000, holdings +0.000000, fees −0.002060, units +0.000000, other −0.021940"`,
    )
    expect(proposals[0]?.reason).toMatchInlineSnapshot(`
      {
        "accepted": "administrator 1.04 of 2027-01-15T08:00:00Z, chain 1.04 of 2027-01-15T08:00:00Z, holdings 1.04 of 2027-01-15T08:00:00Z, custodian 1.04 of 2027-01-15T08:00:00Z, valuer 1.04 of 2027-01-15T08:00:00Z",
        "beforeFees": "1040000000000000000",
        "bridgeFees": "-2060000000000000",
        "bridgeHoldings": "0",
        "bridgeIdle": "20000000000000000",
        "bridgeOther": "-21940000000000000",
        "bridgeUnits": "0",
        "carry": "0",
        "decimals": 18,
        "holdingsAssets": "59700000000",
        "idleAssets": "460000000000",
        "performanceFee": "4000000000000000",
        "rejected": "",
        "shareDecimals": 18,
        "sources": 5,
        "supply": "500000000000000000000000",
        "value": "1036000000000000000",
      }
    `)
  })

  test('has a fee that was paid out taken again by a mark that is stated, and not by one that the fund keeps', () => {
    // The 0.004 owed were paid: what is left is the investors', and nothing is owed on it.
    const paid = {
      readings: readings(NET),
      marks: [{ highWaterValue: NET, accruesSinceS: NOW_S - 90, seenAtS: NOW_S }],
    }
    const value = (by: ReturnType<typeof policy>) => decided(paid, moment(), by).proposal?.input.value
    expect(value(policy({ fees: MARKED }))).toBe(String(NET))
    // Without it a policy says `paidOut: never`, or is refused.
    expect(value(policy())).toBe(String(NET - (NET - WAD) / 10n))
  })

  test('lays all of its bridge to other where it is not known what the last one was made of', () => {
    const { reason } = decided().proposal ?? {}
    expect(Object.entries(reason ?? {}).filter(([name]) => name.startsWith('bridge'))).toEqual([
      ['bridgeOther', String(NET - GROSS)],
    ])
  })

  test('is the first of its oracle without deviation or bridge', () => {
    const { proposal } = decided({ scheduled: typeSeen(NONE) })
    expect(proposal).toMatchObject({ occurrence: `${NOW_S}:0` })
    expect(proposal).not.toHaveProperty('deviationBps')
    expect(proposal?.reason).not.toHaveProperty('bridgeOther')
  })

  test('is not proposed twice: not when it is made, under way, or just done', () => {
    const made = decided({ scheduled: typeSeen(accepted({ valuationTimeS: NOW_S })) })
    expect([made.proposals, made.checks]).toEqual([[], { recoveryFund: 'not_due' }])
    const { proposal } = decided()
    if (proposal === undefined) throw new TypeError('nothing proposed')
    const flying: InFlight = { workflowId: 'w', ...proposal }
    expect(decided({}, moment({ inFlight: [flying] })).checks).toEqual({ recoveryFund: 'already_in_flight' })
    const times = { begunAtMs: 0, endedAtMs: 1 }
    const ended = { ...flying, ...times, kind: 'scheduled', state: 'succeeded' as const, check: null }
    expect(decided({}, moment({ recent: [ended] })).checks).toEqual({ recoveryFund: 'just_reported' })
    expect(decided({}, moment({ recent: [{ ...ended, state: 'refused' }] })).proposals).toHaveLength(1)
  })

  test('is made up to its last second, and then missed', () => {
    expect(decided({ readings: later25() }, later(24)).proposal?.occurrence).toBe(`${NOW_S}:0`)
    const { proposals, checks } = decided(
      { readings: later25() },
      later(25),
      policy({ lateSMax: 25, schedule: { everyS: 60 } }),
    )
    expect(proposals).toEqual([])
    expect(checks).toEqual({ [`recoveryFund:${NOW_S}`]: 'period_missed', recoveryFund: 'too_late' })
  })

  test('after downtime is the latest one alone, and the missed ones are listed', () => {
    const { proposals, checks } = decided({
      scheduled: typeSeen(accepted({ valuationTimeS: NOW_S - 120 })),
    })
    expect(proposals.map(({ occurrence }) => occurrence)).toEqual([`${NOW_S}:0`])
    expect(checks).toEqual({
      [`recoveryFund:${NOW_S - 30}`]: 'period_missed',
      [`recoveryFund:${NOW_S - 60}`]: 'period_missed',
      [`recoveryFund:${NOW_S - 90}`]: 'period_missed',
    })
  })

  test('says when to look again: when the next is due, or the heartbeat', () => {
    expect(decided().lookAgainAtMs).toBe((NOW_S + 30) * 1_000)
    const soon = policy({ schedule: { everyS: 600 } })
    expect(decided({}, moment(), soon).lookAgainAtMs).toBe((NOW_S + 90) * 1_000)
  })
})

const later25 = () =>
  readings(GROSS).map((reading) => (reading.ok ? { ...reading, asOfS: NOW_S + 25 } : reading))

describe('between scheduled reports', () => {
  const rarely = policy({ schedule: { everyS: 70_000 } })
  const made = { scheduled: typeSeen(accepted({ value: NET, valuationTimeS: NOW_S - 60 })) }
  test('nothing is due, and the nearest is named', () => {
    const { proposals, passedOver } = decided(made, moment(), rarely)
    expect(proposals).toEqual([])
    expect(passedOver).toMatchObject([{ check: 'not_due', near: 61 / 120 }])
  })

  test('a move opens an interim report at its limit, and not below', () => {
    const at = {
      ...made,
      scheduled: typeSeen(accepted({ value: (NET * 100n) / 101n, valuationTimeS: NOW_S - 60 })),
    }
    expect(decided(at, moment(), rarely).proposal).toMatchObject({
      kind: 'deviation',
      subject: `${FUND}:${ORACLE}:interim`,
      occurrence: `${NOW_S}:0`,
      input: { reportType: 'interim', revisionLabel: 'deviation', valuationTimestamp: String(NOW_S) },
      deviationBps: 101,
    })
    const below = {
      ...made,
      scheduled: typeSeen(accepted({ value: (NET * 100n) / 101n + 100n, valuationTimeS: NOW_S - 60 })),
    }
    const { proposals, passedOver } = decided(below, moment(), rarely)
    expect(proposals).toEqual([])
    expect(passedOver[0]).toMatchObject({
      check: 'not_due',
      near: 0.99,
      message: expect.stringContaining('0.99 %'),
    })
  })

  test('an old report opens one whatever the value', () => {
    const old = { scheduled: typeSeen(accepted({ value: NET, valuationTimeS: NOW_S - 119 })) }
    expect(decided(old, moment(), rarely).proposal).toMatchObject({
      kind: 'heartbeat',
      input: { revisionLabel: 'heartbeat' },
    })
    const young = { scheduled: typeSeen(accepted({ value: NET, valuationTimeS: NOW_S - 118 })) }
    expect(decided(young, moment(), rarely).proposals).toEqual([])
  })

  test('an interim one counts as the last report, and the next waits for its time', () => {
    const moved = { ...made, interim: typeSeen(accepted({ value: WAD, valuationTimeS: NOW_S })) }
    expect(decided(moved, moment(), rarely).checks).toMatchObject({ recoveryFund: 'interim_waits' })
    expect(decided(moved, later(10), rarely).proposal).toMatchObject({
      occurrence: `${NOW_S + 10}:0`,
      deviationBps: 360,
    })
  })

  test('none is opened before a first report', () => {
    expect(
      decided({ scheduled: typeSeen(NONE) }, moment(), policy({ schedule: { everyS: 7_000 } })).proposals,
    ).toEqual([])
  })
})

describe('a report that was made', () => {
  const made = (changes: Parameters<typeof accepted>[0]) => ({
    scheduled: typeSeen(accepted({ value: NET, valuationTimeS: NOW_S, ...changes })),
  })
  const off = (bps: bigint) => (NET * 10_000n) / (10_000n + bps)

  test('is told of where its sources say by now what is further away than is material', () => {
    const { passedOver } = decided(made({ value: off(51n) }))
    expect(passedOver).toMatchObject([
      {
        subject: `recoveryFund:${NOW_S}`,
        check: 'report_not_confirmed',
        message: expect.stringContaining(
          'Its sources say 1.036000000000000000 of 2027-01-15T08:00:00Z by now; the nav report',
        ),
        alarm: {
          fix: expect.stringContaining(
            'rolekeeper restate fundNavOracle --type nav --value 1.036000000000000000',
          ),
        },
      },
      { check: 'not_due' },
    ])
    expect(decided(made({ value: off(50n) + 1n })).checks).toEqual({ recoveryFund: 'not_due' })
    const interim = { ...made({}), interim: typeSeen(accepted({ value: WAD, valuationTimeS: NOW_S })) }
    expect(decided(interim).checks).toMatchObject({ [`recoveryFund:${NOW_S}`]: 'report_not_confirmed' })
  })

  test('is left alone once corrected, where too few agree, and when another time has come', () => {
    const wrong = made({ value: off(300n) })
    expect(decided(made({ value: off(300n), revision: 1 })).checks).toEqual({
      recoveryFund: 'interim_waits',
    })
    const apart = readings(GROSS, GROSS * 3n, GROSS * 2n, GROSS * 2n)
    expect(decided({ ...wrong, readings: apart }).checks).not.toHaveProperty(`recoveryFund:${NOW_S}`)
    expect(decided(wrong, later(30)).checks).not.toHaveProperty(`recoveryFund:${NOW_S}`)
  })
})

describe('what stops a report', () => {
  test('a quorum that is short, by name, with each source and why', () => {
    const short = readings(GROSS, GROSS * 4n, GROSS * 1_000n, GROSS / 2n)
    const { proposals, passedOver } = decided({ readings: short })
    expect(proposals).toEqual([])
    expect(passedOver.map(({ subject, check }) => [subject, check])).toEqual([
      ['recoveryFund:chain', 'source_out_of_bounds'],
      ['recoveryFund:custodian', 'source_outlier'],
      ['recoveryFund:holdings', 'source_outlier'],
      ['recoveryFund', 'quorum_short'],
    ])
    expect(passedOver.map(({ alarm }) => alarm !== undefined)).toEqual([false, false, false, true])
    expect(passedOver.at(-1)?.message).toMatchInlineSnapshot(
      `"2 votes agree; the policy demands 3: chain source_out_of_bounds, custodian source_outlier, holdings source_outlier."`,
    )
  })

  test('sources that have not come to the valuation time yet, and no longer than they may be late', () => {
    const behind = readings(GROSS).map((one) => ({ ...one, known: [{ value: GROSS, asOfS: NOW_S - 61 }] }))
    const late = (seconds: number, asOfS = NOW_S - 61) =>
      decided(
        { readings: behind.map((one) => ({ ...one, known: [{ value: GROSS, asOfS }] })) },
        later(seconds),
        policy({ lateSMax: 200, schedule: { everyS: 300 } }),
      ).passedOver.at(-1)
    expect(late(98)).toMatchObject({ check: 'sources_behind' })
    expect(late(98)?.alarm).toBeUndefined()
    expect(late(100)?.check).toBe('quorum_short')
    expect(late(98, NOW_S - 200)?.alarm).toBeDefined()
  })

  test('values of before the valuation time, while newer ones are waited for: of a scheduled report alone', () => {
    const before = readings(GROSS).map((one) => ({ ...one, known: [{ value: GROSS, asOfS: NOW_S - 1 }] }))
    const by = (waitForNewerS: number) =>
      policy({ schedule: { everyS: 400 }, lateSMax: 200, waitForNewerS, interim: undefined })
    // Each is a second later than that.
    const at = (seconds: number, waitS: number) => decided({ readings: before }, later(seconds), by(waitS))
    expect(at(38, 40).proposals).toEqual([])
    expect(at(38, 40).passedOver.at(-1)).toMatchObject({ check: 'sources_behind' })
    expect(at(38, 40).lookAgainAtMs).toBe((NOW_S + 40) * 1_000)
    expect(at(39, 40).proposals).toHaveLength(1)
    // A quarter of the time to be late in is the most.
    expect([at(48, 60).proposals.length, at(49, 60).proposals.length]).toEqual([0, 1])
    const isMade = { readings: before, scheduled: typeSeen(accepted({ valuationTimeS: NOW_S })) }
    expect(decided(isMade, later(5), by(40)).lookAgainAtMs).toBe((NOW_S + 400) * 1_000)
    const moved = decided(
      { readings: before, scheduled: typeSeen(accepted({ valuationTimeS: NOW_S - 5_000, value: WAD / 2n })) },
      moment(),
      policy({ schedule: { everyS: 70_000 }, lateSMax: 1, waitForNewerS: 40 }),
    )
    expect(moved.proposals).toMatchObject([{ kind: 'deviation' }])
  })

  test('the few that spoke first apart: who of them is wrong is known once others have come', () => {
    const [wrong, behind] = [(GROSS * 105n) / 100n, { value: GROSS, asOfS: NOW_S - 1 }]
    const early = readings(wrong, 0n, GROSS, GROSS).map((one, index) =>
      index === 1 || index === 4 ? { ...one, known: [behind] } : one,
    )
    const by = policy({ schedule: { everyS: 400 }, lateSMax: 200, waitForNewerS: 40 })
    const waits = decided({ readings: early }, later(5), by)
    expect(waits.proposals).toEqual([])
    expect(waits.passedOver.at(-1)).toMatchObject({ check: 'sources_behind' })
    expect(waits.passedOver.every(({ alarm }) => alarm === undefined)).toBe(true)
    expect(decided({ readings: early }, later(39), by).proposals).toHaveLength(1)
  })

  test('a report that is held against what it waited for, not against values that it was made without', () => {
    const shares = (parts: bigint) => (GROSS * parts) / 1_000n
    const said = readings(shares(1_000n), shares(1_000n), shares(1_013n), shares(1_013n), shares(1_016n)).map(
      (one) =>
        one.source === 'valuer'
          ? { ...one, known: one.known.map(({ value }) => ({ value, asOfS: NOW_S - 40 })) }
          : one,
    )
    const by = policy({ schedule: { everyS: 400 }, lateSMax: 200, waitForNewerS: 40, materialityBps: 50n })
    const made = decided({ readings: said }, later(5), by).proposal
    const reported = typeSeen(accepted({ valuationTimeS: NOW_S, value: BigInt(String(made?.input.value)) }))
    const checks = (seconds: number) =>
      decided({ readings: said, scheduled: reported }, later(seconds), by).passedOver.map(
        ({ check }) => check,
      )
    expect(checks(20)).not.toContain('report_not_confirmed')
    expect(checks(40)).toContain('report_not_confirmed')
  })

  test('sources first read after the time of a first report: an alarm only where there was one before', () => {
    const unheard = readings(GROSS).map((one) => ({ ...one, known: [{ value: GROSS, asOfS: NOW_S + 3 }] }))
    const last = (scheduled: ReturnType<typeof typeSeen>, told: ReturnType<typeof readings> = unheard) =>
      decided({ readings: told, scheduled }, later(5)).passedOver.at(-1)
    const none = typeSeen(NONE)
    const silent = { ok: false as const, check: 'source_timeout', message: 'no', known: [] }
    const begun = unheard.map((one, index) => (index === 0 ? { source: one.source, ...silent } : one))
    for (const told of [unheard, begun]) {
      expect(last(none, told)).toMatchObject({ subject: 'recoveryFund', check: 'sources_begin_after' })
      expect(last(none, told)?.alarm).toBeUndefined()
    }
    const before = typeSeen(accepted({ valuationTimeS: NOW_S - 60 }))
    expect(last(before)).toMatchObject({ check: 'quorum_short', alarm: {} })
    const dead = unheard.map(({ source }) => ({ source, ...silent }))
    expect(last(none, dead)).toMatchObject({ check: 'quorum_short', alarm: {} })
  })

  test('a source that signs with another key, which a person hears of though there is a quorum', () => {
    const forged = { ok: false, check: 'source_signed_by_another', message: 'no' } as const
    const { proposals, passedOver } = decided({
      readings: readings(GROSS).map((one, index) => (index === 0 ? { ...one, ...forged, known: [] } : one)),
    })
    expect(proposals).toHaveLength(1)
    expect(passedOver).toMatchObject([
      { subject: 'recoveryFund:administrator', check: 'source_signed_by_another', alarm: {} },
    ])
  })

  test('a vote that is lost, as its source was not read, which a person hears of', () => {
    const told = (unread: Stop & { known?: readonly Statement[] }) =>
      decided({
        readings: readings(GROSS).map((one, index) =>
          index === 0 ? { ...one, ...unread, ok: false as const } : one,
        ),
      })
    const misread = { check: 'source_not_csv', message: 'no' }
    const lost = told({ ...misread, known: [] })
    expect(lost.proposals).toHaveLength(1)
    expect(lost.passedOver).toMatchObject([
      { ...misread, subject: 'recoveryFund:administrator', alarm: { as: 'source_not_counted' } },
    ])
    // It has spoken of this time before, and of a later one: it counts.
    expect(told(misread).passedOver).toEqual([])
  })

  test('holidays that are all over, which a person hears of from the day after the last one on', () => {
    const calendar = (holidays: readonly string[]) => ({
      calendar: { cron: '* * * * *', timeZone: 'Pacific/Kiritimati', holidays, onHoliday: 'skip' },
    })
    const at = (...holidays: readonly string[]) => {
      const strategy = strategyText() as { reports: { recoveryFund: Record<string, unknown> } }
      strategy.reports.recoveryFund.schedule = calendar(holidays)
      const { schedule } = navReporterPolicy.parse(strategy).reports.recoveryFund ?? {}
      return schedule === undefined ? undefined : decided({}, moment(), policy({ schedule })).passedOver
    }
    // 22:00 on the 15th there, which is 14 hours ahead.
    expect(at('2026-12-25', '2027-01-14')).toContainEqual(
      expect.objectContaining({
        subject: 'recoveryFund:holidays',
        check: 'holidays_over',
        message: 'The last of its holidays was 2027-01-14: a report falls due on those that follow.',
      }),
    )
    const checks = (...holidays: readonly string[]) => at(...holidays)?.map(({ check }) => check)
    expect(checks('2026-12-25', '2027-01-15')).not.toContain('holidays_over')
    expect(checks()).not.toContain('holidays_over')
  })

  test('fees that were paid out since, where nobody saw what they were counted from before', () => {
    const by = policy({ fees: MARKED })
    const from = (accruesSinceS: number, seenAtS: number) => ({ highWaterValue: WAD, accruesSinceS, seenAtS })
    const checked = (...marks: readonly ReturnType<typeof from>[]) => decided({ marks }, moment(), by)
    expect(checked().checks.recoveryFund).toBe('fee_mark_not_known')
    expect(checked(from(NOW_S - 90, NOW_S)).proposal?.reason.performanceFee).toBe('4000000000000000')
    expect(checked(from(NOW_S - 90, NOW_S - 1)).checks.recoveryFund).toBe('fee_mark_not_known')
    expect(checked(from(NOW_S + 1, NOW_S + 1)).checks.recoveryFund).toBe('fee_mark_not_known')
    // Values of before a payment have the fee in them still.
    const stale = readings(GROSS).map((one) => ({ ...one, known: [{ value: GROSS, asOfS: NOW_S - 20 }] }))
    expect(
      decided({ readings: stale, marks: [from(NOW_S - 19, NOW_S)] }, moment(), by).checks[
        'recoveryFund:chain'
      ],
    ).toBe('source_before_fees')
  })

  test('a fund without shares, which is nobody’s alarm', () => {
    const none = readings(GROSS).map(({ source }) => ({
      ok: false as const,
      source,
      message: '',
      known: [],
      check: source === 'holdings' ? 'fund_without_shares' : 'source_status',
    }))
    const last = decided({ readings: none }).passedOver.at(-1)
    expect([last?.check, last?.alarm]).toEqual(['fund_without_shares', undefined])
  })

  test.each([
    ['an oracle that is not pinned', { oracle: null }, 'oracle_not_pinned'],
    ['an oracle that does not answer', { scheduled: null }, 'oracle_not_read'],
    ['an oracle that does not say its interim reports', { interim: null }, 'oracle_not_read'],
    ['an unknown asset', { asset: null }, 'oracle_not_read'],
    ['an asset that is not pinned', { asset: ORACLE }, 'asset_not_pinned'],
    ['other decimals', { decimals: 6 }, 'decimals_differ'],
    ['no row of the fund', { fund: null }, 'fund_terms_differ'],
    ['other terms of the fund', { fund: fund({ carryRateBps: 2_001 }) }, 'fund_terms_differ'],
    ['unknown terms of the fund', { fund: fund({ performanceFeeBps: null }) }, 'fund_terms_differ'],
    [
      'an interim report of no time',
      { interim: typeSeen(accepted({ valuationTimeS: 2 ** 64 })) },
      'report_from_future',
    ],
    [
      'a report of tomorrow',
      { scheduled: typeSeen(accepted({ valuationTimeS: NOW_S + 2 })) },
      'report_from_future',
    ],
    [
      'a move beyond what the oracle takes',
      { scheduled: typeSeen(accepted({ value: 2n * NET + 10n })) },
      'beyond_oracle_move',
    ],
    [
      'a value below what the oracle takes',
      { scheduled: { ...typeSeen(NONE), valueMin: NET + 1n } },
      'beyond_oracle_bounds',
    ],
    [
      'a type that the oracle does not take',
      { scheduled: { ...typeSeen(NONE), valueMax: 0n } },
      'beyond_oracle_bounds',
    ],
  ])('%s', (_, changes, check) => {
    const { proposals, checks } = decided(changes)
    expect([proposals, checks]).toEqual([[], { recoveryFund: check }])
  })

  test('a move is made at what the oracle takes', () => {
    expect(decided({ scheduled: typeSeen(accepted({ value: 2n * NET })) }).proposals).toHaveLength(1)
  })

  test('old figures of the service', () => {
    const freshness = { ok: false, ageMs: 90_000, message: 'funds lags 90000 ms' }
    expect(decided({}, moment({ freshness })).checks).toEqual({ recoveryFund: 'observation_not_fresh' })
  })

  test('a vault is reported without terms of a fund', () => {
    const { fees: _, interim: __, ...rest } = policy().reports.recoveryFund ?? {}
    const by = {
      ...policy(),
      reports: { recoveryFund: rest as NonNullable<ReturnType<typeof policy>['reports'][string]> },
    }
    expect(
      decided({ asset: VAULT, fund: null, interim: null, parts: null }, moment(), by).proposal?.input.value,
    ).toBe(String(GROSS))
  })
})

test('a value beyond the tolerance is one that a person is asked about first', () => {
  const { approval } = z.object({ approval: approvalPolicy([]) }).parse(policyOf('nav-reporter'))
  const asks = compileApproval(approval, { assets: [] })
  const asked = (lastValue: bigint) => {
    const { proposal } = decided({ scheduled: typeSeen(accepted({ value: lastValue })) })
    return proposal === undefined ? undefined : whyAsk(proposal, asks)?.check
  }
  expect(asked((NET * 100n) / 103n + 1n)).toBeUndefined()
  expect(asked((NET * 100n) / 103n - 1n)).toBe('approval_beyond_bps')
  expect(asked(2n * NET)).toBe('approval_beyond_bps')
})

describe('a clock', () => {
  test('that runs ahead of the chain makes no report of a time that is not there', () => {
    const ahead = moment({ nowMs: (NOW_S + 59) * 1_000 })
    expect(decided({}, ahead).proposal?.occurrence).toBe(`${NOW_S}:0`)
    const jumped = moment({ nowMs: (NOW_S + 62) * 1_000 })
    expect(decided({}, jumped).checks).toEqual({ recoveryFund: 'clock_apart' })
    expect(decided({}, moment({ nowMs: NOW_S * 1_000_000 })).checks).toEqual({ recoveryFund: 'clock_apart' })
  })

  test('that goes back far is named, with the chain or alone', () => {
    const back = moment({ nowMs: (NOW_S - 60) * 1_000 })
    expect(decided({}, back).checks).toEqual({ recoveryFund: 'clock_apart' })
    const both = { ...observation({}, later(-300)), latestMs: moment().nowMs }
    expect(decide(both, policy()).passedOver.map(({ check }) => check)).toEqual(['clock_went_back'])
    expect(decided({}, later(-300)).checks).toEqual({ recoveryFund: 'report_from_future' })
  })
})

describe('whatever is seen', () => {
  const bps = fc.integer({ min: -15_000, max: 15_000 })
  const someReadings = fc
    .tuple(bps, bps, bps, bps)
    .map((each) => readings(...each.map((one) => GROSS + (GROSS * BigInt(one)) / 20_000n)))
  const policies = [7, 30, 70_000].map((everyS) => policy({ schedule: { everyS } }))
  const seen = fc
    .record({
      readings: someReadings,
      agoS: fc.integer({ min: -5, max: 400 }),
      laterS: fc.integer({ min: 0, max: 100 }),
      apartS: fc.integer({ min: -70, max: 70 }),
      by: fc.constantFrom(...policies),
    })
    .map((given) => {
      const at = later(given.laterS)
      return {
        by: given.by,
        seen: observation(
          { readings: given.readings, scheduled: typeSeen(accepted({ valuationTimeS: NOW_S - given.agoS })) },
          { ...at, nowMs: at.nowMs + given.apartS * 1_000 },
        ),
      }
    })

  test('the same is decided again, and made once: what is made is not due', () => {
    fc.assert(
      fc.property(seen, ({ seen: one, by }) => {
        const decision = decide(one, by)
        expect(decide(structuredClone(one), by)).toEqual(decision)
        for (const { input, subject, occurrence } of decision.proposals) {
          const valuationTimeS = Number(input.valuationTimestamp)
          const type = typeSeen(accepted({ valuationTimeS, value: BigInt(String(input.value)) }))
          const isInterim = input.reportType === 'interim'
          const reports = one.reports.map((report) => ({
            ...report,
            ...(isInterim ? { interim: type } : { scheduled: type }),
          }))
          const again = decide({ ...one, reports }, by).proposals
          expect(again.filter((each) => each.subject === subject && each.occurrence === occurrence)).toEqual(
            [],
          )
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('however wild, a decision is made, and a report is within what policy and oracle believe', () => {
    const by = policy()
    const uint = fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      fc.constantFrom(0n, 1n, WAD, GROSS, NET, 2n ** 64n - 1n),
    )
    const seconds = fc.oneof(
      fc.constantFrom(0, NOW_S - 60, NOW_S, NOW_S + 1),
      fc.nat(2 ** 31),
      fc.constant(2 ** 63),
    )
    const report = fc.record({
      value: uint,
      valuationTimeS: seconds,
      revision: fc.nat(9),
      submittedAtS: seconds,
    })
    // The look takes a report of nothing for none.
    const latest = report.map((one) => (one.value === 0n ? NONE : one))
    const type = fc.option(
      fc.record({
        latest: fc.oneof(latest, fc.constant(accepted())),
        valueMin: uint,
        valueMax: uint,
        moveBpsMax: uint,
      }),
      { nil: null },
    )
    const said = fc.record({
      source: fc.constant(''),
      ok: fc.constant(true as const),
      known: fc.array(fc.record({ value: uint, asOfS: seconds }), { minLength: 1, maxLength: 3 }),
    })
    const parts = fc.record({
      idleAssets: uint,
      holdingsAssets: uint,
      supply: uint.map((supply) => supply + 1n),
    })
    const anything = fc.record({
      scheduled: type,
      interim: type,
      readings: fc
        .tuple(said, said, said, said)
        .map((four) => four.map((one, index) => ({ ...one, source: readings()[index]?.source ?? '' }))),
      parts: fc.option(parts, { nil: null }),
      partsBefore: fc.option(parts, { nil: null }),
    })
    fc.assert(
      fc.property(anything, (changes) =>
        decide(observation(changes), by).proposals.every(({ input }) => {
          const value = BigInt(String(input.value))
          const to = input.reportType === 'interim' ? changes.interim : changes.scheduled
          return (
            to !== null && value > 0n && value <= 10n * WAD && value >= to.valueMin && value <= to.valueMax
          )
        }),
      ),
      { numRuns: 1_000 },
    )
  })

  test('no report is for a time that is not there or was reported, or on the word of less than a quorum', () => {
    fc.assert(
      fc.property(seen, ({ seen: one, by }) => {
        const nowS = Math.min(one.nowMs / 1_000, one.chain.timestampS)
        return decide(one, by).proposals.every(({ input, reason }) => {
          const timeS = Number(input.valuationTimestamp)
          const last = one.reports[0]?.scheduled?.latest.valuationTimeS ?? 0
          return timeS <= nowS && timeS > last && String(reason.accepted).split(', ').length >= 3
        })
      }),
      { numRuns: 1_000 },
    )
  })
})
