import type { Decision, Moment } from '../agent.ts'
import { type Board, judgedBy, type NavRow, ROWS_MAX } from '../board.ts'
import { decimal, percent } from '../protocol/text.ts'
import type { NavReporterPolicy, ReportPolicy } from './policy.ts'
import { subjectOf } from './propose.ts'
import { agree, median, type Reading } from './quorum.ts'
import { nextDue } from './schedule.ts'
import { type NavReporterSeen, newest, type ReportSeen } from './see.ts'
import { votesOf } from './votes.ts'

/** Show each report with what its sources state now, and the band that the oracle takes. Pure. */
export function board(
  seen: Moment & NavReporterSeen,
  decided: Decision,
  { reports }: NavReporterPolicy,
): Board {
  const judged = judgedBy(decided)
  const rows = seen.reports.flatMap((report) => {
    const policy = reports[report.name]
    if (policy === undefined) return []
    return [{ ...rowOf(report, policy, seen), ...judged(report.name, ...subjectsOf(report, policy)) }]
  })
  return { navs: rows.slice(0, ROWS_MAX) }
}

/** A report that is proposed is named by what it is about. */
const subjectsOf = ({ asset, oracle }: ReportSeen, { reportType, interim }: ReportPolicy) =>
  asset === null || oracle === null
    ? []
    : [reportType, ...(interim === undefined ? [] : [interim.reportType])].map((type) =>
        subjectOf(asset, oracle, type),
      )

function rowOf(report: ReportSeen, policy: ReportPolicy, { nowMs }: Moment) {
  const { decimals, schedule, sources: listed, quorum, outlierBps } = policy
  const { name, readings, scheduled } = report
  const latest = new Map(readings.map(({ source, known }) => [source, known.at(-1)?.value]))
  const nowS = Math.floor(nowMs / 1_000)
  // Whether each would count for a value of now.
  const { rejected } = agree(readings, new Map(Object.entries(listed)), policy, { atS: nowS, nowS })
  const checks = new Map(rejected.map(({ source, check }) => [source, check]))
  const votes = votesOf(listed)
  const middle = median(
    votes.flatMap((names) => median(names.flatMap((name) => latest.get(name) ?? [])) ?? []),
  )
  const apart = Number(outlierBps) / 10_000
  const shown = (value: bigint | undefined) => (value === undefined ? '?' : decimal(value, decimals, 6))
  const last = newest(report)
  const number = (value: bigint) => Number(value) / 10 ** decimals
  const isThere = last !== null && last.submittedAtS !== 0
  return {
    subject: name,
    reported: isThere ? decimal(last.value, decimals, 6) : null,
    reportedAtS: isThere ? last.valuationTimeS : null,
    reportedValue: isThere ? number(last.value) : null,
    nextDueAtS: nextDue(schedule, nowS),
    bandMin: middle === null ? null : number(middle) * (1 - apart),
    bandMax: middle === null ? null : number(middle) * (1 + apart),
    rule: `${quorum} of ${votes.length} votes must agree within ${percent(outlierBps)} of their median; the oracle takes ${shown(scheduled?.valueMin)} to ${shown(scheduled?.valueMax)}.`,
    sources: readings.map((reading) => sourceOf(reading, decimals, checks.get(reading.source) ?? null)),
  } satisfies Omit<NavRow, 'check' | 'message'>
}

function sourceOf(reading: Reading, decimals: number, check: string | null): NavRow['sources'][number] {
  const last = reading.known.at(-1)
  return {
    source: reading.source,
    text: last === undefined ? null : decimal(last.value, decimals, 6),
    value: last === undefined ? null : Number(last.value) / 10 ** decimals,
    asOfS: last?.asOfS ?? null,
    check,
  }
}
