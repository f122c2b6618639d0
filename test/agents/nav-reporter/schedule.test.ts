import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { parseCron } from '../../../agents/nav-reporter/calendar.ts'
import {
  dueBetween,
  latestDue,
  nextDue,
  type Schedule,
  waitOf,
} from '../../../agents/nav-reporter/schedule.ts'

const at = (text: string) => Date.parse(text) / 1_000
const iso = (atS: number | null) => (atS === null ? null : new Date(atS * 1_000).toISOString().slice(0, 16))

function calendar(
  cron: string,
  timeZone = 'Europe/Zurich',
  holidays: readonly string[] = [],
  onHoliday: 'skip' | 'before' | 'after' = 'skip',
): Schedule {
  const parsed = parseCron(cron)
  if (parsed === null) throw new TypeError(cron)
  const days = holidays.map((day) => at(`${day}T00:00:00Z`) / 86_400)
  return { calendar: parsed, timeZone, holidays: new Set(days), onHoliday }
}
/** The next moments that are due after a time. */
function upcoming(schedule: Schedule, from: string, count: number) {
  const found: (string | null)[] = []
  let afterS = at(from)
  for (let index = 0; index < count; index += 1) {
    const dueS = nextDue(schedule, afterS)
    found.push(iso(dueS))
    afterS = dueS ?? afterS
  }
  return found
}

describe('a calendar', () => {
  test('is due at local times of its days, whatever the season', () => {
    const close = calendar('30 16 * * 1-5')
    expect(upcoming(close, '2026-03-26T00:00:00Z', 4)).toEqual([
      '2026-03-26T15:30',
      '2026-03-27T15:30',
      '2026-03-30T14:30',
      '2026-03-31T14:30',
    ])
  })

  test('makes up for a time that the clock jumps over, and takes the first of a time that comes twice', () => {
    const night = calendar('30 2 * * *')
    expect(upcoming(night, '2026-03-28T12:00:00Z', 2)).toEqual(['2026-03-29T01:30', '2026-03-30T00:30'])
    expect(upcoming(night, '2026-10-24T12:00:00Z', 2)).toEqual(['2026-10-25T00:30', '2026-10-26T01:30'])
    expect(upcoming(calendar('0,30 1-3 * * *'), '2026-03-28T23:00:00Z', 4)).toEqual([
      '2026-03-29T00:00',
      '2026-03-29T00:30',
      '2026-03-29T01:00',
      '2026-03-29T01:30',
    ])
  })

  test('ends a step of weekdays with the Sunday', () => {
    // From Friday, every other day: a Friday and a Sunday.
    expect(upcoming(calendar('0 12 * * 5/2', 'UTC'), '2026-06-01T00:00:00Z', 3)).toEqual([
      '2026-06-05T12:00',
      '2026-06-07T12:00',
      '2026-06-12T12:00',
    ])
  })

  test('does not depend on the time zone of the machine', () => {
    const days = ['2026-03-07', '2026-03-28', '2026-04-23'] as const
    const dueIn = (machine: string) => {
      vi.stubEnv('TZ', machine)
      const night = ['Europe/Zurich', 'America/Havana'].map((zone) => calendar('0,30 0-3 * * *', zone))
      return night.flatMap((each) => days.map((day) => upcoming(each, `${day}T12:00:00Z`, 12)))
    }
    try {
      // The clocks of both machines jump over a time of one of these days.
      expect(dueIn('America/New_York')).toEqual(dueIn('UTC'))
      expect(dueIn('Africa/Cairo')).toEqual(dueIn('UTC'))
    } finally {
      vi.unstubAllEnvs()
    }
  })

  test('knows zones east and west of the date line, and half hours', () => {
    expect(upcoming(calendar('0 0 1 * *', 'Pacific/Kiritimati'), '2026-06-15T00:00:00Z', 1)).toEqual([
      '2026-06-30T10:00',
    ])
    expect(upcoming(calendar('0 17 * * *', 'America/New_York'), '2026-07-01T00:00:00Z', 1)).toEqual([
      '2026-07-01T21:00',
    ])
    expect(upcoming(calendar('0 9 * * *', 'Asia/Kolkata'), '2026-07-01T00:00:00Z', 1)).toEqual([
      '2026-07-01T03:30',
    ])
  })

  test.each([
    ['skip', ['2026-12-24T15:00', '2026-12-28T15:00']],
    ['before', ['2026-12-24T15:00', '2026-12-28T15:00']],
    ['after', ['2026-12-24T15:00', '2026-12-28T15:00']],
  ] as const)('on a holiday in a daily one: %s loses no other day', (onHoliday, expected) => {
    const daily = calendar('0 16 * * 1-5', 'Europe/Zurich', ['2026-12-25'], onHoliday)
    expect(upcoming(daily, '2026-12-24T00:00:00Z', 2)).toEqual(expected)
  })

  test.each([
    ['skip', '2026-12-18T15:00', '2027-01-08T15:00'],
    ['before', '2026-12-24T15:00', '2026-12-31T15:00'],
    ['after', '2026-12-28T15:00', '2027-01-04T15:00'],
  ] as const)('a weekly one on two holidays: %s', (onHoliday, first, second) => {
    const weekly = calendar('0 16 * * 5', 'Europe/Zurich', ['2026-12-25', '2027-01-01'], onHoliday)
    const after = onHoliday === 'skip' ? '2026-12-17T00:00:00Z' : '2026-12-19T00:00:00Z'
    expect(upcoming(weekly, after, 2)).toEqual([first, second])
  })

  test('finds a leap day, and nothing where there is none', () => {
    expect(upcoming(calendar('0 12 29 2 *', 'UTC'), '2097-01-01T00:00:00Z', 1)).toEqual(['2104-02-29T12:00'])
    expect(nextDue(calendar('0 12 30 2 *'), at('2026-01-01T00:00:00Z'))).toBeNull()
    expect(latestDue(calendar('0 12 30 2 *'), at('2026-01-01T00:00:00Z'))).toBeNull()
  })

  test('takes either day where both kinds are restricted', () => {
    expect(upcoming(calendar('0 0 13 * 5', 'UTC'), '2026-02-07T00:00:00Z', 3)).toEqual([
      '2026-02-13T00:00',
      '2026-02-20T00:00',
      '2026-02-27T00:00',
    ])
    expect(upcoming(calendar('*/30 0 * * 7', 'UTC'), '2026-02-07T00:00:00Z', 2)).toEqual([
      '2026-02-08T00:00',
      '2026-02-08T00:30',
    ])
    // A star with a step restricts nothing: only Mondays with an odd date are left.
    expect(upcoming(calendar('0 0 */2 * 1', 'UTC'), '2026-02-07T00:00:00Z', 2)).toEqual([
      '2026-02-09T00:00',
      '2026-02-23T00:00',
    ])
  })

  test('runs a step after a single number to the end, and knows the last day of a month', () => {
    expect(upcoming(calendar('40/10 23 L * *', 'UTC'), '2026-02-07T00:00:00Z', 3)).toEqual([
      '2026-02-28T23:40',
      '2026-02-28T23:50',
      '2026-03-31T23:40',
    ])
  })

  test("is due at the same times whatever the machine's clock shows", () => {
    const dues = ['1970-01-01T00:00:00Z', '2026-03-29T01:10:00Z', '2040-07-01T00:00:00Z'].map((now) => {
      vi.useFakeTimers({ now: new Date(now) })
      const found = upcoming(calendar('30 2,3 * * 0-6'), '2026-03-28T12:00:00Z', 5)
      vi.useRealTimers()
      return found
    })
    expect(new Set(dues.map(String)).size).toBe(1)
  })

  test.each([
    '',
    '* * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '5-1 * * * *',
    '*/0 * * * *',
    'a * * * *',
    '0 0 16 * * 1',
    '2026-01-01T00:00:00',
    '@reboot',
  ])('does not take %j for cron', (text) => {
    expect(parseCron(text)).toBeNull()
  })
})

test.each([
  ['as the policy says', 300, 14_400, 86_400, 300],
  ['a quarter of the time to be late in', 300, 600, 86_400, 150],
  ['a quarter of the time until the next', 300, 14_400, 300, 75],
  ['nothing', 0, 14_400, 86_400, 0],
])('a report waits for newer values: %s', (_, waitForNewerS, lateSMax, everyS, waits) => {
  expect(waitOf({ schedule: { everyS }, waitForNewerS, lateSMax }, 0)).toBe(waits)
})

test('what lies between two moments comes newest first, without them', () => {
  expect(dueBetween({ everyS: 10 }, 100, 150, 9)).toEqual([140, 130, 120, 110])
  expect(dueBetween({ everyS: 10 }, 100, 150, 2)).toEqual([140, 130])
  expect(dueBetween({ everyS: 10 }, 140, 150, 9)).toEqual([])
})

const zones = ['Europe/Zurich', 'America/New_York', 'UTC', 'Asia/Kolkata', 'Australia/Lord_Howe']
const anySchedule = fc.oneof(
  fc.integer({ min: 1, max: 1_000_000 }).map((everyS): Schedule => ({ everyS })),
  fc
    .tuple(
      fc.constantFrom('0 16 * * 1-5', '30 2 * * *', '15 1,2,3 * * 0,6', '0 */6 1,15 * *'),
      fc.constantFrom(...zones),
      fc.constantFrom('skip' as const, 'before' as const, 'after' as const),
    )
    .map(([cron, zone, rule]) => calendar(cron, zone, ['2026-12-25', '2026-12-28', '2026-03-29'], rule)),
)
// Four years with every change of the clock.
const moments = fc.integer({ min: at('2024-01-01T00:00:00Z'), max: at('2028-01-01T00:00:00Z') })

test('the latest and the next due moment enclose any time, and nothing lies between them', () => {
  fc.assert(
    fc.property(anySchedule, moments, (schedule, atS) => {
      const [before, after] = [latestDue(schedule, atS), nextDue(schedule, atS)]
      if (before === null || after === null) return false
      return (
        before <= atS &&
        after > atS &&
        nextDue(schedule, before) === after &&
        latestDue(schedule, after) === after
      )
    }),
    { numRuns: 10_000 },
  )
})
