import type { Address } from 'viem'
import { span } from '../../src/readable.js'
import type { FundResource } from '../../src/service/contract/fund-resources.ts'
import type { Answer, Look, Moment, Question } from '../agent.ts'
import { NAV_ORACLE_VIEWS, reportTypeWord } from '../protocol/nav.ts'
import { createWave, type Wave } from '../protocol/reading.ts'
import type { Rows } from '../rows.ts'
import { type Mark, rememberMark } from './marks.ts'
import { AHEAD_S_MAX, remember, timesOf } from './memory.ts'
import type { NavReporterPolicy, ReportPolicy } from './policy.ts'
import type { Reading } from './quorum.ts'
import { latestDue, waitOf, waitsUntil } from './schedule.ts'
import { askChain, askHoldings, askMark, type Read, readOutside } from './source-kinds.ts'
import type { Statement, UnreadSource } from './statement.ts'
import type { FundParts, Scale } from './valuation.ts'

/** A report that the oracle accepted; all zero where there is none. Times are Unix seconds. */
export type Accepted = {
  readonly value: bigint
  readonly valuationTimeS: number
  readonly revision: number
  readonly submittedAtS: number
}

/** The newest report of a type on the oracle, and what it would take next. */
export type TypeSeen = {
  readonly latest: Accepted
  readonly valueMin: bigint
  readonly valueMax: bigint
  readonly moveBpsMax: bigint
}

/** What an oracle says of itself; null is not known. */
type OracleSeen = {
  readonly asset: Address | null
  readonly decimals: number | null
  readonly scheduled: TypeSeen | null
  /** Null also where the policy wants no interim reports. */
  readonly interim: TypeSeen | null
}

/** One report of the policy, and what there is to say in it. */
export type ReportSeen = OracleSeen & {
  readonly name: string
  /** Null when the deployment pins no contract of this name. */
  readonly oracle: Address | null
  /** The service's row of the fund that is reported on; null for anything else. */
  readonly fund: FundResource | null
  readonly readings: readonly Reading[]
  /** What fees were counted from, oldest first; empty where the policy says it. */
  readonly marks: readonly Mark[]
  /** When outside sources were asked, Unix milliseconds; null when never. */
  readonly askedAtMs: number | null
  /** What the fund is made of now, and was made of when it was reported last; null when not known. */
  readonly parts: FundParts | null
  readonly partsBefore: FundParts | null
  readonly scale: Scale | null
}

/** What the NAV reporter sees. */
export type NavReporterSeen = {
  readonly reports: readonly ReportSeen[]
  /** The latest that our clock was while it went with the chain's, Unix milliseconds. */
  readonly latestMs: number
}

/** Look at each report's oracle, then at its sources. Pure. */
export function see(
  rows: Partial<Rows>,
  moment: Moment,
  policy: NavReporterPolicy,
  previous: NavReporterSeen | null,
): Look<NavReporterSeen> {
  const wave = createWave()
  const oracles = Object.entries(policy.reports).map(([name, report]) => {
    const pinned = moment.deployment.contracts.find((contract) => contract.name === report.oracle)
    return { name, report, oracle: pinned?.address ?? null, read: askOracle(wave, pinned?.address, report) }
  })
  const latestMs = latestOf(moment, policy, previous)
  return {
    ask: wave.questions,
    next: (answers) => {
      const second = createWave()
      const outside: Question[] = []
      const looks = oracles.map(({ name, report, oracle, read }) => {
        const before = previous?.reports.find((one) => one.name === name) ?? null
        const context = { rows, moment, report, before, oracle: read(answers) }
        return { name, oracle, finish: askSources(context, second, outside) }
      })
      return {
        ask: [...second.questions, ...outside],
        next: (later) => {
          const ofSources = later.slice(second.questions.length)
          const reports = looks.map(({ name, oracle, finish }) => ({
            name,
            oracle,
            ...finish(later, ofSources),
          }))
          return { seen: { reports, latestMs } }
        },
      }
    },
  }
}

/** The latest that our clock was while it went with the chain's: a jump forward alone does not count. */
function latestOf(
  { nowMs, chain }: Moment,
  { clockApartSMax }: NavReporterPolicy,
  previous: NavReporterSeen | null,
): number {
  const before = previous?.latestMs ?? 0
  const isApart = Math.abs(Math.floor(nowMs / 1_000) - chain.timestampS) > clockApartSMax
  return isApart ? before : Math.max(nowMs, before)
}

function askOracle(wave: Wave, oracle: Address | undefined, report: ReportPolicy): Read<OracleSeen> {
  if (oracle === undefined) {
    return () => ({ asset: null, decimals: null, scheduled: null, interim: null })
  }
  const asset = wave.ask(NAV_ORACLE_VIEWS, oracle, 'asset', [])
  const decimals = wave.ask(NAV_ORACLE_VIEWS, oracle, 'decimals', [])
  const scheduled = askType(wave, oracle, report.reportType)
  const interim = report.interim === undefined ? () => null : askType(wave, oracle, report.interim.reportType)
  return (answers) => ({
    asset: lower(asset(answers)),
    decimals: decimals(answers),
    scheduled: scheduled(answers),
    interim: interim(answers),
  })
}

const lower = (address: Address | null): Address | null =>
  address === null ? null : `0x${address.slice(2).toLowerCase()}`

function askType(wave: Wave, oracle: Address, reportType: string): Read<TypeSeen | null> {
  const word = reportTypeWord(reportType)
  const latest = wave.ask(NAV_ORACLE_VIEWS, oracle, 'latest', [word])
  const bounds = wave.ask(NAV_ORACLE_VIEWS, oracle, 'bounds', [word])
  return (answers) => {
    const [accepted, limits] = [latest(answers), bounds(answers)]
    if (accepted === null || limits === null) return null
    const { value, valuationTime, revision, submittedAt } = accepted
    const [valueMin, valueMax, moveBpsMax] = limits
    return {
      latest: {
        value,
        valuationTimeS: Number(valuationTime),
        revision,
        // A value of nothing is no report that another could be compared with.
        submittedAtS: value === 0n ? 0 : Number(submittedAt),
      },
      valueMin,
      valueMax,
      moveBpsMax: BigInt(moveBpsMax),
    }
  }
}

type Context = {
  readonly rows: Partial<Rows>
  readonly moment: Moment
  readonly report: ReportPolicy
  readonly before: ReportSeen | null
  readonly oracle: OracleSeen
}
type Finished = Omit<ReportSeen, 'name' | 'oracle'>
/** What one source said; null where it was not asked. */
type SourceAnswer = readonly Statement[] | (Statement & { readonly parts?: FundParts }) | UnreadSource | null

/** Our time: what both our clock and the chain's have reached, so that neither makes a report by running ahead. Pure. */
export const reachedS = ({ nowMs, chain }: Pick<Moment, 'nowMs' | 'chain'>): number =>
  Math.min(Math.floor(nowMs / 1_000), chain.timestampS)

/**
 * Ask all sources of a report; outside ones only after `pollS`, or once a report has come due since, and what they said
 * stands until then.
 */
function askSources(
  { rows, moment, report, before, oracle }: Context,
  wave: Wave,
  outside: Question[],
): (answers: readonly Answer[], ofSources: readonly Answer[]) => Finished {
  const { asset } = oracle
  // Asked by a clock that has gone back since, they are asked anew.
  const sinceMs = before?.askedAtMs == null ? -1 : moment.nowMs - before.askedAtMs
  const nowS = reachedS(moment)
  const dueS = latestDue(report.schedule, nowS) ?? 0
  const isDue =
    before?.askedAtMs == null ||
    sinceMs < 0 ||
    sinceMs >= pollOf(report, oracle, dueS, nowS) * 1_000 ||
    before.askedAtMs < dueS * 1_000
  const times = timesOf(report, nowS)
  const mark = askMark(wave, report, moment, asset)
  const fund = rows.funds?.find(({ address }) => address === asset) ?? null
  const scale = scaleOf(moment, report, asset)
  const readBefore = (source: string) => before?.readings.find((reading) => reading.source === source)
  const sources = Object.entries(report.sources).map(([source, policy]) => {
    if (policy.kind === 'chain') return { source, read: askChain(wave, policy, report, moment, asset) }
    if (policy.kind === 'holdings') {
      return { source, built: askHoldings(wave, policy, fund, scale, moment, asset) }
    }
    if (!isDue && readBefore(source) !== undefined) return { source, read: () => null }
    const index = outside.push({ kind: 'source', name: policy.source, timeoutMs: policy.timeoutMs }) - 1
    return {
      source,
      read: (_: readonly Answer[], ofSources: readonly Answer[]) =>
        unlessBack(
          readOutside(ofSources[index], policy, report.decimals),
          readBefore(source)?.known ?? [],
          nowS,
        ),
    }
  })
  return (answers, ofSources) => {
    let parts: FundParts | null = null
    const readings = sources.map(({ source, read, built }): Reading => {
      const answer: SourceAnswer = read === undefined ? built(answers) : read(answers, ofSources)
      const earlier = readBefore(source)
      if (answer === null) return earlier ?? { source, ok: true, known: [] }
      if ('parts' in answer) parts = answer.parts
      const known = earlier?.known ?? []
      if ('check' in answer) return { ...answer, source, ok: false, known }
      const stated =
        'value' in answer ? [{ value: answer.value, asOfS: answer.asOfS, from: answer.from }] : answer
      return { source, ok: true, known: remember(known, stated, times) }
    })
    const marks = rememberMark(before?.marks ?? [], mark(answers))
    const isSame =
      newest(oracle)?.submittedAtS === (before === null ? undefined : newest(before)?.submittedAtS)
    const partsBefore = isSame ? (before?.partsBefore ?? null) : (before?.parts ?? null)
    const askedAtMs = isDue ? moment.nowMs : before.askedAtMs
    return { ...oracle, fund, readings, marks, askedAtMs, parts, partsBefore, scale }
  }
}

/** How often outside sources are asked, seconds: four times at least while a report waits for their newer values. */
function pollOf(report: ReportPolicy, { scheduled }: OracleSeen, dueS: number, nowS: number): number {
  const isWaiting = nowS < waitsUntil(report, scheduled?.latest.valuationTimeS ?? 0, nowS)
  return isWaiting ? Math.min(report.pollS, Math.ceil(waitOf(report, dueS) / 4)) : report.pollS
}

/** Refuse a source that speaks of an older time than before: which of the two it means is not known. */
function unlessBack(
  statements: readonly Statement[] | UnreadSource,
  before: readonly Statement[],
  nowS: number,
): readonly Statement[] | UnreadSource {
  if ('check' in statements) return statements
  const newestS = (of: readonly Statement[]) => Math.max(...of.map(({ asOfS }) => asOfS))
  const backS = newestS(before.filter(({ asOfS }) => asOfS <= nowS + AHEAD_S_MAX)) - newestS(statements)
  if (!(backS > 0)) return statements
  return {
    check: 'source_went_back',
    message: `Its newest value is ${span(backS * 1_000)} older than the one it gave before.`,
  }
}

/** The report that the oracle took last, of either type. Pure. */
export function newest({ scheduled, interim }: Pick<OracleSeen, 'scheduled' | 'interim'>): Accepted | null {
  if (scheduled === null || interim === null) return scheduled?.latest ?? null
  const [one, other] = [scheduled.latest, interim.latest]
  return other.valuationTimeS > one.valuationTimeS ? other : one
}

function scaleOf(
  { deployment }: Moment,
  { decimals, sources }: ReportPolicy,
  asset: Address | null,
): Scale | null {
  const quote = deployment.funds.find(({ address }) => address === asset)?.quoteAsset
  const quoteDecimals = deployment.assets.find(({ address }) => address === quote)?.decimals
  const holdings = Object.values(sources).find(({ kind }) => kind === 'holdings')
  if (quoteDecimals === undefined || holdings?.kind !== 'holdings') return null
  return { shareDecimals: holdings.shareDecimals, quoteDecimals, decimals }
}
