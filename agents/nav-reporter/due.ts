import { moment, span } from '../../src/readable.js'
import type { Stop } from '../agent.ts'
import { BPS } from '../protocol/health.ts'
import { percent } from '../protocol/text.ts'
import { interimAt } from './memory.ts'
import type { NavReporterPolicy, ReportPolicy } from './policy.ts'
import { dueBetween, latestDue, nextDue, waitsUntil } from './schedule.ts'
import { newest, type ReportSeen, type TypeSeen } from './see.ts'

/** A report that should be made now. */
export type Due = {
  readonly why: 'scheduled' | 'deviation' | 'heartbeat'
  readonly reportType: string
  readonly revisionLabel: string
  /** The time that the value is for, Unix seconds. */
  readonly valuationTimeS: number
  /** What the oracle has and takes of this type. */
  readonly type: TypeSeen
}

/** A scheduled report that will not be made. */
type Missed = { readonly valuationTimeS: number; readonly message: string }

/** Of a longer downtime only the latest are listed one by one. */
const MISSED_MAX = 20

/**
 * Find the scheduled report that is due, if it is not made yet and not too late. Only the latest counts: what lies
 * between it and the last report is missed. Pure.
 */
export function scheduledDue(
  { scheduled }: ReportSeen & { readonly scheduled: TypeSeen },
  policy: ReportPolicy,
  nowS: number,
): { readonly due: Due | Stop; readonly missed: readonly Missed[] } {
  const { schedule, lateSMax, reportType, revisionLabel } = policy
  const { latest } = scheduled
  const dueS = latestDue(schedule, nowS)
  if (dueS === null) return { due: { check: 'not_due', message: 'Nothing was ever due.' }, missed: [] }
  const sinceS = latest.submittedAtS === 0 ? dueS - 1 : latest.valuationTimeS
  const missed = dueBetween(schedule, sinceS, dueS, MISSED_MAX).map((valuationTimeS, index) => ({
    valuationTimeS,
    message: `It was due at ${moment(valuationTimeS)}, and a later one is due already.${index === MISSED_MAX - 1 ? ' So may earlier ones be.' : ''}`,
  }))
  if (dueS <= latest.valuationTimeS && latest.submittedAtS !== 0) {
    const nextS = nextDue(schedule, nowS)
    const message = `That of ${moment(dueS)} is made; the next is due at ${nextS === null ? 'no time' : moment(nextS)}.`
    const near = nextS === null ? {} : { near: (nowS - dueS) / (nextS - dueS) }
    return { due: { check: 'not_due', message, ...near }, missed }
  }
  const lateS = nowS - dueS
  if (lateS > lateSMax) {
    const message = `It was due at ${moment(dueS)}, ${span(lateS * 1_000)} ago; the policy allows ${span(lateSMax * 1_000)}.`
    const due = {
      check: 'too_late',
      message: `That of ${moment(dueS)} is ${span(lateS * 1_000)} late and is not made.`,
    }
    return { due, missed: [{ valuationTimeS: dueS, message }, ...missed] }
  }
  return {
    due: { why: 'scheduled', reportType, revisionLabel, valuationTimeS: dueS, type: scheduled },
    missed,
  }
}

/**
 * Find whether an interim report is due: because the value moved, or because the last report is old. Pure.
 * @param value what would be reported now.
 */
export function interimDue(
  report: ReportSeen,
  { interim: policy }: ReportPolicy,
  value: bigint,
  nowS: number,
): Due | Stop {
  const { interim } = report
  const last = newest(report)
  if (policy === undefined || interim === null)
    return { check: 'not_due', message: 'No interim reports are made.' }
  if (last === null || last.submittedAtS === 0) {
    return { check: 'not_due', message: 'Nothing was reported yet that an interim report could follow.' }
  }
  const { reportType, everyS, deviationBps, deviationLabel, heartbeatS, heartbeatLabel } = policy
  const ageS = nowS - last.valuationTimeS
  // Rounded down: what reads like the limit has reached it.
  const apart = value > last.value ? value - last.value : last.value - value
  const apartBps = (apart * BPS) / last.value
  const hasMoved = apartBps >= deviationBps
  if (!hasMoved && ageS < heartbeatS) {
    const near = Math.max(Number(apartBps) / Number(deviationBps), ageS / heartbeatS)
    const message = `The value is ${percent(apartBps)} from the last report, ${span(ageS * 1_000)} old; an interim one is due at ${percent(deviationBps)} or ${span(heartbeatS * 1_000)}.`
    return { check: 'not_due', message, near: Math.min(near, 1) }
  }
  const valuationTimeS = interimAt(policy, nowS)
  if (valuationTimeS <= last.valuationTimeS) {
    const message = `The value has moved, and there is a report of ${moment(last.valuationTimeS)} already; interim ones are ${span(everyS * 1_000)} apart.`
    return { check: 'interim_waits', message }
  }
  return {
    ...(hasMoved
      ? { why: 'deviation' as const, revisionLabel: deviationLabel }
      : { why: 'heartbeat' as const, revisionLabel: heartbeatLabel }),
    reportType,
    valuationTimeS,
    type: interim,
  }
}

/**
 * Return the time that a value would be reported for: that of the scheduled report that is due, else of an interim one
 * that could be, else now. Pure.
 */
export function valuationTime(
  report: ReportSeen,
  { interim }: ReportPolicy,
  due: Due | Stop,
  nowS: number,
): number {
  if (!('check' in due)) return due.valuationTimeS
  const interimS = interim === undefined ? 0 : interimAt(interim, nowS)
  return interimS > (newest(report)?.valuationTimeS ?? 0) ? interimS : nowS
}

/** Return when something is due next by time alone, Unix milliseconds; null when nothing is. Pure. */
export function nextLook(
  reports: readonly ReportSeen[],
  policy: NavReporterPolicy,
  nowS: number,
): number | null {
  const moments = reports.flatMap((report) => {
    const one = policy.reports[report.name]
    if (one === undefined) return []
    const last = newest(report)
    const beatS =
      one.interim === undefined || last === null || last.submittedAtS === 0
        ? 0
        : last.valuationTimeS + one.interim.heartbeatS
    const waitedS = waitsUntil(one, report.scheduled?.latest.valuationTimeS ?? 0, nowS)
    return [nextDue(one.schedule, nowS) ?? 0, waitedS, beatS].filter((atS) => atS > nowS)
  })
  return moments.length === 0 ? null : Math.min(...moments) * 1_000
}
