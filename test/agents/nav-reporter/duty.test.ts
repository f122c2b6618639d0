import { expect, it } from 'vitest'
import type { Moment } from '../../../agents/agent.ts'
import { decide } from '../../../agents/nav-reporter/decide.ts'
import { due } from '../../../agents/nav-reporter/duty.ts'
import type { ReportSeen } from '../../../agents/nav-reporter/see.ts'
import {
  accepted,
  later,
  moment,
  NONE,
  NOW_S,
  observation,
  policy,
  readings,
  typeSeen,
  WAD,
} from './fixtures.ts'

const RULES = policy({ schedule: { everyS: 60 }, lateSMax: 40 })
const owed = (changes: Partial<ReportSeen>, rules = RULES, at: Moment = moment()) => {
  const seen = observation(changes, at)
  return due(seen, decide(seen, rules), rules)
}
const madeAt = (valuationTimeS: number) =>
  typeSeen(accepted({ valuationTimeS, submittedAtS: valuationTimeS + 1 }))
const silent = {
  readings: [{ source: 'chain', ok: false, check: 'source_failed', message: 'No.', known: [] }],
} as const

it('owes the scheduled report that is not made, late after half of what the policy allows, with the rule that keeps it', () => {
  const [now, next] = owed({ scheduled: madeAt(NOW_S - 60), ...silent })
  expect(now).toMatchObject({
    what: 'NAV report',
    subject: 'recoveryFund',
    sinceMs: NOW_S * 1_000,
    graceMs: 20_000,
  })
  expect(now).toMatchObject({ untilMs: (NOW_S + 40) * 1_000, check: 'quorum_short' })
  expect(now?.message).toContain('source_failed')
  const lastAtMs = (NOW_S - 60) * 1_000
  expect(next).toMatchObject({ what: 'NAV report', sinceMs: (NOW_S + 60) * 1_000, lastAtMs })
  expect(owed({ scheduled: typeSeen(NONE), interim: null })[0]?.lastAtMs).toBeUndefined()
})

it('owes only the next where the last is made, and interim ones from the heartbeat on', () => {
  const rules = policy({ schedule: { everyS: 60 } })
  const heartbeatS = rules.reports.recoveryFund?.interim?.heartbeatS ?? 0
  const dues = owed({ scheduled: madeAt(NOW_S) }, rules)
  expect(dues.map(({ what, sinceMs }) => [what, sinceMs])).toEqual([
    ['NAV report', (NOW_S + 60) * 1_000],
    ['interim NAV report', (NOW_S + heartbeatS) * 1_000],
  ])
  const old = NOW_S - heartbeatS - 600
  const beats = owed({ scheduled: madeAt(old), interim: typeSeen(NONE), ...silent }, rules)
  expect(beats).toContainEqual(
    expect.objectContaining({
      what: 'interim NAV report',
      sinceMs: (old + heartbeatS) * 1_000,
      check: 'quorum_short',
    }),
  )
})

it('is not late with the report of a fund that has nothing to value', () => {
  const empty = {
    source: 'holdings',
    ok: false,
    check: 'fund_without_shares',
    message: 'None.',
    known: [],
  } as const
  const [now] = owed({ scheduled: madeAt(NOW_S - 60), readings: [empty] })
  expect(now).toMatchObject({ check: 'fund_without_shares', chosen: true })
})

it('says that a report waits for a person, and what the last try ended with', () => {
  const scheduled = madeAt(NOW_S - 60)
  const seen = observation({ scheduled })
  const [proposal] = decide(seen, RULES).proposals
  if (proposal === undefined) throw new TypeError('nothing is proposed')
  const { workflowType, kind, subject, occurrence, input, exposure } = proposal
  const workflow = { workflowType, kind, subject, occurrence, input, exposure, workflowId: 'w1' }
  const held = { ...moment(), inFlight: [{ ...workflow, held: true as const }] }
  expect(owed({ scheduled }, RULES, held)[0]).toMatchObject({ check: 'held' })
  const times = { begunAtMs: 1, endedAtMs: 2, state: 'refused' as const, check: 'limit_hour_gas' }
  const refused = { ...moment(), recent: [{ ...workflow, ...times }] }
  expect(owed({ scheduled }, RULES, refused)[0]).toMatchObject({ check: 'limit_hour_gas' })
})

it('is not late with a first report whose time was before its sources were read, also once that is too late', () => {
  const unheard = readings((104n * WAD) / 100n).map((one) => ({
    ...one,
    known: [{ value: (104n * WAD) / 100n, asOfS: NOW_S + 3 }],
  }))
  const at = (seconds: number) => ({ ...moment(), ...later(seconds) })
  const first = (seconds: number, scheduled = typeSeen(NONE)) =>
    owed({ scheduled, interim: typeSeen(NONE), readings: unheard }, RULES, at(seconds))[0]
  expect(first(5)).toMatchObject({ check: 'sources_begin_after', chosen: true })
  expect(first(45)).toMatchObject({ chosen: true })
  expect(first(45, madeAt(NOW_S - 60))).not.toHaveProperty('chosen')
})
