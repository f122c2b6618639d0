import { z } from 'zod'
import { span } from '../../src/readable.js'
import { bps, count, name, seconds, settings } from '../../src/service/contract/yaml-scalars.ts'
import { DAY_S, isTimeZone, parseCron } from './calendar.ts'
import { nextDue, ON_HOLIDAY, type Schedule } from './schedule.ts'
import { feeMark, sourcePolicy, value } from './source-policy.ts'
import { unreachable, votesOf, withUpstreams } from './votes.ts'

const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, 'expected a date, for example 2026-12-25')
  .pipe(z.iso.date('expected a date that exists'))
  .transform((text) => Date.parse(`${text}T00:00:00Z`) / (DAY_S * 1_000))

const byCalendar = settings({
  /** Minute, hour, day of month, month, day of week. */
  cron: z.string().max(200),
  timeZone: z.string().refine(isTimeZone, { error: 'expected an IANA time zone, for example Europe/Zurich' }),
  holidays: z.array(date).max(1_000),
  onHoliday: z.enum(ON_HOLIDAY),
}).transform(({ cron, timeZone, holidays, onHoliday }, context): Schedule => {
  const refuse = (message: string, fix: string) => {
    context.addIssue({ code: 'custom', path: ['cron'], message, params: { fix } })
    return z.NEVER
  }
  const calendar = parseCron(cron)
  if (calendar === null) {
    return refuse(
      'expected five fields of cron',
      'write for example "0 16 * * 1-5", no step longer than its field',
    )
  }
  const schedule = { calendar, timeZone, holidays: new Set(holidays), onHoliday }
  // From the first holiday on, because holidays alone may leave nothing of it.
  const first = Math.min(...holidays, SOME_DAY)
  if (nextDue(schedule, first * DAY_S) === null) {
    return refuse(
      'the schedule never fires in eight years',
      'name a day that exists and is no holiday, for example "0 16 28 2 *"',
    )
  }
  return schedule
})
/** 2026-01-01: any day does, because calendars repeat. */
const SOME_DAY = 20_454

const schedule = settings({
  everyS: seconds(1, 31_536_000).optional(),
  calendar: byCalendar.optional(),
}).transform(({ everyS, calendar }, context): Schedule => {
  if (everyS !== undefined && calendar === undefined) return { everyS }
  if (calendar !== undefined && everyS === undefined) return calendar
  context.addIssue({ code: 'custom', message: 'expected exactly one of every and calendar' })
  return z.NEVER
})

const fees = settings({
  performanceFeeBps: bps().transform(BigInt),
  carryRateBps: bps().transform(BigInt),
  preferredReturnBps: bps().transform(BigInt),
  /** Where the chain keeps the two below, which every payment of fees changes. */
  mark: feeMark.optional(),
  /** What makes the two below hold: no payment moves them. */
  paidOut: z.literal('never').optional(),
  /** Value of one share, before fees, up to which nothing is owed. */
  highWaterValue: value().optional(),
  /** From when the preferred return counts. */
  accruesSince: z.iso
    .datetime({ offset: true, error: 'expected a date and time, for example 2026-01-01T00:00:00Z' })
    .transform((text) => Math.floor(Date.parse(text) / 1_000))
    .optional(),
}).refine(
  ({ mark, ...stated }) =>
    [stated.paidOut, stated.highWaterValue, stated.accruesSince].every(
      (each) => (mark === undefined) === (each !== undefined),
    ),
  {
    error:
      'expected mark, or all of highWaterValue, accruesSince and paidOut: never; of a fund that pays fees out, what is stated would take them again',
  },
)

const reportType = z.string().regex(/^[a-z_]{1,32}$/, 'expected lower-case letters and underscores')
const label = z.string().min(1).max(64)

const interim = settings({
  reportType,
  /** An interim report is for the latest multiple of this time, and only one for each. */
  everyS: seconds(1, 31_536_000),
  /** How far the value must be from the last one reported. */
  deviationBps: bps(1).transform(BigInt),
  deviationLabel: label,
  /** Age of the last report, by the time it is for, at which another is due whatever the value. */
  heartbeatS: seconds(1, 31_536_000),
  heartbeatLabel: label,
})

const report = settings({
  /** A name of deployment.contracts; what it is the oracle of, it says itself. */
  oracle: name,
  decimals: count('decimals', 0, 36),
  reportType,
  revisionLabel: label,
  schedule,
  /** A report that is later than this is missed: so long it is waited for sources that speak late. */
  lateSMax: seconds(1, 31_536_000),
  /** So long after its time a scheduled report waits for values of that time or later, at most: see `waitOf`. */
  waitForNewerS: seconds(0, 86_400).default(300),
  interim: interim.optional(),
  sources: z.record(name, sourcePolicy).transform((sources) => withUpstreams(sources, new Map())),
  /** How many sources must agree; those of one upstream count once. */
  quorum: count('sources', 1, 100),
  /** How far the vote of an upstream may be from the median of all. */
  outlierBps: bps(1).transform(BigInt),
  /** How far a report may be from what its sources say of its time later; beyond, a person is told to look. */
  materialityBps: bps(1).transform(BigInt).default(50n),
  /** Sources are asked again after this time. */
  pollS: seconds(1, 86_400),
  fees: fees.optional(),
}).superRefine((one, context) => {
  const refuse = (path: string[], message: string, fix: string) =>
    context.addIssue({ code: 'custom', path, message, params: { fix } })
  const votes = votesOf(one.sources).length
  if (votes === 0) {
    refuse(['sources'], 'expected at least one source', 'add one, for example of kind http')
  } else if (one.quorum > votes) {
    const { problem, fix } = unreachable(one.sources)
    refuse(['quorum'], problem, fix)
  } else if (one.quorum * 2 <= votes) {
    const least = Math.floor(votes / 2) + 1
    refuse(['quorum'], `two groups of the ${votes} votes could each be one`, `write at least "${least}"`)
  }
  const read = new Map<string, string>()
  for (const [key, source] of Object.entries(one.sources)) {
    if (!('source' in source)) continue
    const other = read.get(source.source)
    read.set(source.source, key)
    if (other === undefined) continue
    refuse(
      ['sources', key, 'source'],
      `${other} reads ${source.source} already: one answer would count twice in the quorum`,
      'name another source, or remove one of the two',
    )
  }
  if (one.interim?.reportType === one.reportType) {
    refuse(
      ['interim', 'reportType'],
      'an interim report would take the place of a scheduled one',
      'use another report type, for example interim',
    )
  }
  for (const [key, { ageSMax }] of Object.entries(one.sources)) {
    if (ageSMax > one.pollS) continue
    refuse(
      ['sources', key, 'ageMax'],
      `sources are asked every ${span(one.pollS * 1_000)}, so its value would grow too old in between`,
      'raise ageMax, or lower poll',
    )
  }
})

/**
 * The NAV reporter's strategy, as policies/nav-reporter.yaml states it under `strategy`. Strict: an unknown key is
 * refused. A value is in units of 10^-decimals of the quote asset for one whole share.
 */
export const navReporterPolicy = settings({
  reports: z.record(name, report).refine((reports) => Object.keys(reports).length > 0, {
    error: 'expected at least one report',
  }),
  /** How far our clock may be from the chain's, and how far back it may step. */
  clockApartSMax: seconds(1, 3_600),
}).refine(
  ({ reports }) => {
    const keys = Object.values(reports).flatMap(({ oracle, reportType: type, interim: other }) =>
      [type, ...(other === undefined ? [] : [other.reportType])].map((each) => `${oracle}:${each}`),
    )
    return new Set(keys).size === keys.length
  },
  { path: ['reports'], error: 'two reports have the same oracle and report type' },
)
export type NavReporterPolicy = z.infer<typeof navReporterPolicy>
/** What the policy says of one report. */
export type ReportPolicy = NavReporterPolicy['reports'][string]
