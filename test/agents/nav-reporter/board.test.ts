import { expect, it } from 'vitest'
import { board } from '../../../agents/nav-reporter/board.ts'
import { decide } from '../../../agents/nav-reporter/decide.ts'
import type { ReportSeen } from '../../../agents/nav-reporter/see.ts'
import { moment, NONE, NOW_S, observation, policy, readings, typeSeen, WAD } from './fixtures.ts'

const RULES = policy({ schedule: { everyS: 60 } })
const shown = (changes: Partial<ReportSeen> = {}, rules = RULES) => {
  const seen = observation(changes)
  return board(seen, decide(seen, rules), rules).navs ?? []
}

it('shows a report with what each source says, the band around their median, and when the next is due', () => {
  const [nav] = shown({
    // Two values of one vote, beside three that agree.
    readings: readings((104n * WAD) / 100n, (104n * WAD) / 100n, WAD, WAD),
  })
  const apart = Number(RULES.reports.recoveryFund?.outlierBps) / 10_000
  expect(nav).toMatchObject({
    subject: 'recoveryFund',
    reported: '1.040000',
    reportedValue: 1.04,
    reportedAtS: NOW_S - 30,
    nextDueAtS: NOW_S + 60,
    sources: [
      { source: 'administrator', text: '1.040000', value: 1.04, asOfS: NOW_S, check: null },
      { source: 'custodian' },
      { source: 'chain', value: 1 },
      { source: 'holdings' },
      { source: 'valuer' },
    ],
  })
  expect(nav?.bandMin).toBeCloseTo(1.04 * (1 - apart), 9)
  expect(nav?.bandMax).toBeCloseTo(1.04 * (1 + apart), 9)
  expect(nav?.rule).toContain('must agree within')
})

it('counts no source for a value of now whose newest value is too old for one', () => {
  const last = { value: WAD, asOfS: NOW_S - 3_600 }
  const old = readings(WAD, WAD, WAD, WAD).map((each, index) =>
    index === 0 ? { ...each, known: [last] } : each,
  )
  const [nav] = shown({ readings: old })
  expect(nav?.sources.map(({ check }) => check)).toEqual(['source_ends_before', null, null, null, null])
})

it('counts a source that fails now by what it stated for now before', () => {
  const asOfS = Math.floor(moment().nowMs / 1_000)
  const known = [{ value: WAD, asOfS }]
  const failed = { ok: false, check: 'source_failed', message: 'No.', known } as const
  const [nav] = shown({
    readings: readings(WAD, WAD, WAD, WAD).map((each, index) =>
      index === 0 ? { ...each, ...failed } : each,
    ),
  })
  expect(nav?.sources[0]).toMatchObject({ source: 'administrator', check: null })
})

it('says of a source that is silent why it counts for nothing, and draws no band around nothing', () => {
  const [nav] = shown({
    readings: [{ source: 'chain', ok: false, check: 'source_failed', message: 'No.', known: [] }],
  })
  expect(nav?.sources).toEqual([
    { source: 'chain', text: null, value: null, asOfS: null, check: 'source_failed' },
  ])
  expect(nav).toMatchObject({ bandMin: null, bandMax: null })
})

it('has no report where none was accepted, and none of what its policy does not name', () => {
  expect(shown({ scheduled: typeSeen(NONE) })[0]).toMatchObject({
    reported: null,
    reportedAtS: null,
    reportedValue: null,
  })
  const seen = observation({ name: 'other' }, moment())
  expect(board(seen, { proposals: [], passedOver: [] }, RULES).navs).toEqual([])
})

it('says what was decided of it, by its name or by what is proposed', () => {
  const due = shown({ scheduled: typeSeen(NONE) })[0]
  expect(due?.check).toBe('proposed')
  expect(shown({ readings: [] })[0]?.check).not.toBeNull()
})
