import { moment } from '../../src/readable.js'
import { inputText } from '../../src/workflow/proposal.ts'
import type { Decision, InFlight, Observation } from '../agent.ts'
import { type Due, whyDue } from '../protocol/due.ts'
import type { NavReporterPolicy, ReportPolicy } from './policy.ts'
import { latestDue, nextDue } from './schedule.ts'
import { type NavReporterSeen, newest, type ReportSeen, reachedS } from './see.ts'

type Seen = Observation<NavReporterSeen>

/** What keeps a report without being late: there is nothing to say. */
const CHOSEN: ReadonlySet<string> = new Set(['fund_without_shares', 'just_reported', 'sources_begin_after'])

/** What the NAV reporter owes: the scheduled report that is not made, an interim one past its heartbeat, and the next. Pure. */
export const due = (seen: Seen, decision: Decision, policy: NavReporterPolicy): readonly Due[] =>
  seen.reports.flatMap((report) => {
    const one = policy.reports[report.name]
    if (one === undefined) return []
    const why = (otherwise: string) => {
      const isAbout = ({ input }: Pick<InFlight, 'input'>) =>
        inputText(input, 'oracleAddress') === report.oracle
      const found = whyDue({ ...seen, passedOver: decision.passedOver }, isAbout, [report.name], otherwise)
      // Before the first report of all nobody has missed one: the next is made of what is heard by then.
      const isFirst = found.check === 'too_late' && (newest(report)?.submittedAtS ?? 0) === 0
      return { ...found, ...(isFirst || CHOSEN.has(found.check ?? '') ? { chosen: true as const } : {}) }
    }
    const nowS = reachedS(seen)
    return [...scheduled(report, one, nowS, why), ...heartbeat(report, one, nowS, why)]
  })

type Why = (otherwise: string) => Pick<Due, 'check' | 'message' | 'chosen'>

/**
 * A person is told once half of the time is gone in which it can be made: sources that speak late are waited for until then.
 */
function scheduled(
  report: ReportSeen,
  { schedule, lateSMax }: ReportPolicy,
  nowS: number,
  why: Why,
): readonly Due[] {
  const { name, scheduled: type } = report
  const last = newest(report)
  const isFirst = last === null || last.submittedAtS === 0
  const dueOf = (atS: number, told: Pick<Due, 'check' | 'message' | 'chosen'>): Due => ({
    what: 'NAV report',
    subject: name,
    sinceMs: atS * 1_000,
    untilMs: (atS + lateSMax) * 1_000,
    graceMs: Math.max(1, lateSMax * 500),
    ...told,
    ...(isFirst ? {} : { lastAtMs: last.valuationTimeS * 1_000 }),
  })
  const [lastS, nextS] = [latestDue(schedule, nowS), nextDue(schedule, nowS)]
  const isMade = type !== null && type.latest.submittedAtS !== 0 && (lastS ?? 0) <= type.latest.valuationTimeS
  return [
    ...(lastS === null || isMade
      ? []
      : [dueOf(lastS, why(`That of ${moment(lastS)} was proposed just now.`))]),
    ...(nextS === null ? [] : [dueOf(nextS, { message: `The next is due at ${moment(nextS)}.` })]),
  ]
}

/** Interim reports are `every` apart: one that is later than that has left one out. */
function heartbeat(report: ReportSeen, { interim }: ReportPolicy, nowS: number, why: Why): readonly Due[] {
  const last = newest(report)
  if (interim === undefined || last === null || last.submittedAtS === 0) return []
  const atS = last.valuationTimeS + interim.heartbeatS
  const message = `The last report is of ${moment(last.valuationTimeS)}; an interim one follows at ${moment(atS)}.`
  const place = { what: 'interim NAV report', subject: report.name, sinceMs: atS * 1_000 }
  return [{ ...place, graceMs: interim.everyS * 1_000, ...(atS > nowS ? { message } : why(message)) }]
}
