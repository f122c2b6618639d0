import { moment, plural, span } from '../../src/readable.js'
import { inputText, type Proposal } from '../../src/workflow/proposal.ts'
import {
  type Decision,
  type Moment,
  type Observation,
  type PassedOver,
  passOver,
  type Stop,
} from '../agent.ts'
import { DAY_S } from './calendar.ts'
import { unconfirmed } from './confirm.ts'
import { type Due, interimDue, nextLook, scheduledDue, valuationTime } from './due.ts'
import { termsAt, whenOf } from './marks.ts'
import type { NavReporterPolicy, ReportPolicy } from './policy.ts'
import { afterFees, type KnownReport, occurrenceOf, propose, subjectOf } from './propose.ts'
import { type Agreement, agree } from './quorum.ts'
import { lastHolidayBefore, waitOf } from './schedule.ts'
import { type NavReporterSeen, type ReportSeen, reachedS, type TypeSeen } from './see.ts'
import type { FeeTerms } from './valuation.ts'

/** Decide which reports to make, and say of everything else why not. Pure. */
export function decide(seen: Observation<NavReporterSeen>, policy: NavReporterPolicy): Decision {
  const nowS = reachedS(seen)
  const stop = clockStop(seen, policy.clockApartSMax) ?? freshnessStop(seen)
  const decisions = seen.reports.map((report) => {
    const one = policy.reports[report.name]
    if (one === undefined) return { proposals: [], passedOver: [] }
    const ready = stop ?? readied(report, one, seen, nowS)
    return 'check' in ready
      ? { proposals: [], passedOver: [passOver(report.name, ready)] }
      : judge(ready, one, seen, nowS)
  })
  const lookAgainAtMs = nextLook(seen.reports, policy, nowS)
  return {
    proposals: decisions.flatMap(({ proposals }) => proposals),
    passedOver: decisions.flatMap(({ passedOver }) => passedOver),
    ...(lookAgainAtMs === null ? {} : { lookAgainAtMs }),
  }
}

/** A report of which everything is known that is judged. */
type Ready = KnownReport & { readonly scheduled: TypeSeen }

/** Our clock must go with the chain's, and never far back. */
function clockStop({ nowMs, chain, latestMs }: Observation<NavReporterSeen>, apartSMax: number): Stop | null {
  const apartS = Math.abs(Math.floor(nowMs / 1_000) - chain.timestampS)
  if (apartS > apartSMax) {
    const message = `Our clock and the chain's are ${span(apartS * 1_000)} apart; the policy allows ${span(apartSMax * 1_000)}. Fix: set the clock, or check the node.`
    return { check: 'clock_apart', message }
  }
  const backS = Math.floor((latestMs - nowMs) / 1_000)
  if (backS <= apartSMax) return null
  const message = `Our clock went back by ${span(backS * 1_000)}; the policy allows ${span(apartSMax * 1_000)}.`
  return { check: 'clock_went_back', message }
}

const freshnessStop = ({ freshness }: Moment): Stop | null =>
  freshness.ok ? null : { check: 'observation_not_fresh', message: freshness.message }

/** Find everything known of a report that must be before anything is judged, or say what is not. */
function readied(report: ReportSeen, policy: ReportPolicy, seen: Moment, nowS: number): Ready | Stop {
  const { oracle, asset, decimals, scheduled, interim, fund } = report
  if (oracle === null) {
    const message = `The deployment pins no contract ${policy.oracle}. Fix: add it to deployment.contracts.`
    return { check: 'oracle_not_pinned', message }
  }
  if (asset === null || decimals === null || scheduled === null) {
    return { check: 'oracle_not_read', message: 'The oracle did not answer; what is not known stops.' }
  }
  if (policy.interim !== undefined && interim === null) {
    return { check: 'oracle_not_read', message: 'The oracle did not say its newest interim report.' }
  }
  const { funds, vaults } = seen.deployment
  if (![...funds, ...vaults].some(({ address }) => address === asset)) {
    const message = `The oracle is for ${asset}, which is no fund or vault of the deployment.`
    return { check: 'asset_not_pinned', message }
  }
  if (decimals !== policy.decimals) {
    const message = `The oracle counts ${decimals} decimals; the policy says ${policy.decimals}.`
    return { check: 'decimals_differ', message }
  }
  const aheadS = Math.max(scheduled.latest.valuationTimeS, interim?.latest.valuationTimeS ?? 0) - nowS
  if (aheadS > 0) {
    const message = `The last report is for a time ${span(aheadS * 1_000)} ahead of ours: the clock has gone back.`
    return { check: 'report_from_future', message }
  }
  const stop = policy.fees === undefined ? null : termsStop(fund, policy.fees)
  return stop ?? { ...report, oracle, asset, scheduled }
}

/** Fees are the fund's terms: what the policy says of them must be what the service says. */
function termsStop(fund: ReportSeen['fund'], fees: NonNullable<ReportPolicy['fees']>): Stop | null {
  for (const rate of ['performanceFeeBps', 'carryRateBps', 'preferredReturnBps'] as const) {
    const stated = fund?.[rate]
    if (stated != null && BigInt(stated) === fees[rate]) continue
    const message = `The fund's ${rate} is ${stated ?? 'not known'}; the policy says ${fees[rate]}. Fix: correct fees.${rate}.`
    return { check: 'fund_terms_differ', message }
  }
  return null
}

/** Refusals that are no accident. */
const FORGED = ['source_not_signed', 'source_signed_by_another']
const FORGED_FIX =
  'ask the source, by another way, whether it has a new key; state it under sources of the run configuration only then.'

/** A vote that the next report is made without, as one of outside sources was not read. */
const UNREAD = {
  as: 'source_not_counted',
  fix: 'have its owner mend it, or correct how the policy reads it; rolekeeper doctor --all says what it states.',
}

/** Judge one report, of which everything is known. */
function judge(report: Ready, policy: ReportPolicy, seen: Moment, nowS: number): Decision {
  const { name, readings } = report
  const { due: scheduled, missed } = scheduledDue(report, policy, nowS)
  const atS = valuationTime(report, policy, scheduled, nowS)
  const terms = termsAt(policy.fees, report.marks, atS)
  const when = whenOf(seen, atS, terms, 'check' in scheduled ? 0 : waitOf(policy, atS))
  const agreement = agree(readings, new Map(Object.entries(policy.sources)), policy, when)
  const forged = readings.flatMap((one) => (!one.ok && FORGED.includes(one.check) ? [one] : []))
  const isUnread = (source: string) =>
    readings.some((one) => one.source === source && !one.ok) && 'source' in (policy.sources[source] ?? {})
  const passedOver = [
    ...agreement.rejected
      .filter(({ source }) => !forged.some((one) => one.source === source))
      .map(({ source, ...why }) =>
        passOver(`${name}:${source}`, isUnread(source) ? { ...why, alarm: UNREAD } : why),
      ),
    ...forged.map(({ source, check, message }) =>
      passOver(`${name}:${source}`, { check, message, alarm: { fix: FORGED_FIX } }),
    ),
    ...missed.map(({ valuationTimeS, message }) =>
      passOver(`${name}:${valuationTimeS}`, { check: 'period_missed', message }),
    ),
    ...unconfirmed(report, policy, seen),
    ...holidaysOver(name, policy, nowS),
  ]
  const made =
    terms !== null && 'check' in terms
      ? terms
      : make(report, policy, seen, { nowS, atS, agreement, terms, scheduled })
  return 'check' in made
    ? { proposals: [], passedOver: [...passedOver, passOver(name, made)] }
    : { proposals: [made], passedOver }
}

/** Who listed holidays lists the next ones too: without them a report falls due on the next of all. */
function holidaysOver(name: string, { schedule }: ReportPolicy, nowS: number): readonly PassedOver[] {
  const last = lastHolidayBefore(schedule, nowS)
  if (last === null) return []
  return [
    passOver(`${name}:holidays`, {
      check: 'holidays_over',
      message: `The last of its holidays was ${moment(last * DAY_S).slice(0, 10)}: a report falls due on those that follow.`,
      alarm: { fix: `list those to come in reports.${name}.schedule.calendar.holidays.` },
    }),
  ]
}

/** What is known of a value at the time that it is for. */
type Judged = {
  readonly nowS: number
  /** What the value is for. */
  readonly atS: number
  readonly agreement: Agreement
  /** Null where there are no fees. */
  readonly terms: FeeTerms | null
  readonly scheduled: Due | Stop
}

/** Make the report that is due, or say why none is made. */
function make(
  report: Ready,
  policy: ReportPolicy,
  seen: Moment,
  { nowS, atS, agreement, terms, scheduled }: Judged,
): Proposal | Stop {
  if (agreement.value === null) {
    const isFirst = report.scheduled.latest.submittedAtS === 0
    return (isFirst ? beginsAfter(agreement, nowS - atS) : null) ?? shortOf(agreement, policy, nowS - atS)
  }
  const value = afterFees(agreement.value, terms, atS)
  const due = 'check' in scheduled ? unscheduledDue(report, policy, value.value, nowS, scheduled) : scheduled
  if ('check' in due) return due
  if (seen.inFlight.some(({ input }) => inputText(input, 'oracleAddress') === report.oracle)) {
    return { check: 'already_in_flight', message: 'A report to this oracle is under way.' }
  }
  const subject = subjectOf(report.asset, report.oracle, due.reportType)
  const occurrence = occurrenceOf(due.valuationTimeS)
  const isDone = seen.recent.some(
    (ended) => ended.state === 'succeeded' && ended.subject === subject && ended.occurrence === occurrence,
  )
  if (isDone) return { check: 'just_reported', message: 'It is reported already; our node is behind.' }
  return propose(report, policy, due, agreement, value)
}

/** An interim report, or why none is due; of two that are not due, the nearer one says more. */
function unscheduledDue(
  report: ReportSeen,
  policy: ReportPolicy,
  value: bigint,
  nowS: number,
  scheduled: Stop,
): Due | Stop {
  const interim = interimDue(report, policy, value, nowS)
  if (!('check' in interim) || interim.check === 'interim_waits') return interim
  if (scheduled.check === 'too_late') return scheduled
  return (interim.near ?? 0) > (scheduled.near ?? 0) ? interim : scheduled
}

/** Before the first report of all nobody has missed one: by the next one's time, what is heard now is known. */
const beginsAfter = ({ rejected }: Agreement, lateS: number): Stop | null =>
  rejected.some(({ check }) => check === 'source_begins_after')
    ? {
        check: 'sources_begin_after',
        message: `Nothing was reported yet, and sources were first read after the report's time, ${span(lateS * 1_000)} ago; the first report is the next one.`,
      }
    : null

function shortOf(
  { accepted, sound, rejected, waiting }: Agreement,
  { quorum, lateSMax }: ReportPolicy,
  lateS: number,
): Stop {
  // Nobody is wrong: a fund that has issued nothing has no value a share.
  if (rejected.some(({ check }) => check === 'fund_without_shares'))
    return { check: 'fund_without_shares', message: 'The fund has no shares yet: there is nothing to value.' }
  const why = rejected.map(({ source, check }) => `${source} ${check}`).join(', ')
  // Sources that speak late are waited for, without a word to a person for half of the time that there is; who is an outlier is
  // known once they have spoken.
  if (waiting > 0 && sound + waiting >= quorum && lateS * 2 <= lateSMax) {
    const message = `${plural(accepted.length, 'vote')} for the value ${span(lateS * 1_000)} ago, ${plural(waiting, 'source')} still behind; the policy demands ${quorum}: ${why}.`
    return { check: 'sources_behind', message }
  }
  return {
    check: 'quorum_short',
    alarm: {
      fix: 'look at the sources that the message names; nothing is reported until enough of them agree.',
    },
    message: `${plural(accepted.length, 'vote')} agree${accepted.length === 1 ? 's' : ''}; the policy demands ${quorum}: ${why}.`,
  }
}
