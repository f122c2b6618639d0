import { moment } from '../../src/readable.js'
import { type Moment, type PassedOver, passOver } from '../agent.ts'
import { decimal, percent } from '../protocol/text.ts'
import { termsAt, whenOf } from './marks.ts'
import { timesOf } from './memory.ts'
import type { ReportPolicy } from './policy.ts'
import { afterFees } from './propose.ts'
import { agree, distanceBps } from './quorum.ts'
import { waitOf } from './schedule.ts'
import { type Accepted, type ReportSeen, reachedS } from './see.ts'

/**
 * Say which of the newest reports are further than `materialityBps` from what the sources say of their times by now, late
 * words and corrections included. Only a person corrects a report. Pure; nothing is said where too few agree.
 */
export function unconfirmed(report: ReportSeen, policy: ReportPolicy, seen: Moment): readonly PassedOver[] {
  const remembered = timesOf(policy, reachedS(seen))
  const types = [
    { reportType: policy.reportType, latest: report.scheduled?.latest },
    { reportType: policy.interim?.reportType, latest: report.interim?.latest },
  ]
  return types.flatMap(({ reportType, latest }) => {
    if (latest === undefined || latest.submittedAtS === 0) return []
    // A person knew better what is a correction already.
    if (latest.revision > 0 || !remembered.includes(latest.valuationTimeS)) return []
    const waitS = reportType === policy.reportType ? waitOf(policy, latest.valuationTimeS) : 0
    const value = valueByNow(report, policy, seen, latest, waitS)
    const apartBps = value === null ? 0n : distanceBps(value, latest.value)
    if (value === null || apartBps <= policy.materialityBps) return []
    const at = moment(latest.valuationTimeS)
    const shown = (units: bigint) => decimal(units, policy.decimals, policy.decimals)
    return passOver(`${report.name}:${latest.valuationTimeS}`, {
      check: 'report_not_confirmed',
      message: `Its sources say ${shown(value)} of ${at} by now; the ${reportType} report of that time says ${shown(latest.value)}, ${percent(apartBps)} away; the policy allows ${percent(policy.materialityBps)}.`,
      alarm: {
        fix: `ask the sources what changed; if they are right, correct it: rolekeeper restate ${policy.oracle} --type ${reportType} --value ${shown(value)} --label "…".`,
      },
    })
  })
}

/** What would be reported now of a report's time; null where that is not known. */
function valueByNow(
  { marks, readings }: ReportSeen,
  policy: ReportPolicy,
  seen: Moment,
  { valuationTimeS }: Accepted,
  waitS: number,
): bigint | null {
  const terms = termsAt(policy.fees, marks, valuationTimeS)
  if (terms !== null && 'check' in terms) return null
  const sources = new Map(Object.entries(policy.sources))
  const { value } = agree(readings, sources, policy, whenOf(seen, valuationTimeS, terms, waitS))
  return value === null ? null : afterFees(value, terms, valuationTimeS).value
}
