import { moment } from '../../src/readable.js'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Evidence, Observation } from '../agent.ts'
import { decimal } from '../protocol/text.ts'
import { termsAt, whenOf } from './marks.ts'
import type { NavReporterPolicy, ReportPolicy } from './policy.ts'
import { afterFees, subjectOf } from './propose.ts'
import { agree, type Reading, type When } from './quorum.ts'
import { waitOf } from './schedule.ts'
import type { NavReporterSeen, ReportSeen } from './see.ts'
import { readAgain } from './source-kinds.ts'
import type { Raw } from './statement.ts'
import type { FeeTerms } from './valuation.ts'

const PACK = 'pack.json'

/** What a report was made of. In its JSON a text that was read is in a file of its own, and a bigint ends in n. */
type Pack = {
  readonly report: Proposal['input']
  readonly policy: Pick<ReportPolicy, 'decimals' | 'quorum' | 'outlierBps' | 'lateSMax' | 'sources'>
  readonly when: When
  readonly terms: FeeTerms | null
  readonly scale: ReportSeen['scale']
  readonly readings: readonly Reading[]
}

/** Write down what a report rests on: all that is needed to compute its value again. Pure. */
export function evidence(
  { subject, input }: Proposal,
  seen: Observation<NavReporterSeen>,
  { reports }: NavReporterPolicy,
): Evidence | null {
  const atS = Number(input.valuationTimestamp)
  const report = seen.reports.find(
    ({ asset, oracle }) =>
      asset !== null && oracle !== null && subject === subjectOf(asset, oracle, String(input.reportType)),
  )
  const policy = report === undefined ? undefined : reports[report.name]
  if (report === undefined || policy === undefined) return null
  const terms = termsAt(policy.fees, report.marks, atS)
  if (terms !== null && 'check' in terms) return null
  const { decimals, quorum, outlierBps, lateSMax, sources } = policy
  const { scale, readings } = report
  const waitS = input.reportType === policy.reportType ? waitOf(policy, atS) : 0
  const pack: Pack = {
    report: input,
    policy: { decimals, quorum, outlierBps, lateSMax, sources },
    when: whenOf(seen, atS, terms, waitS),
    terms,
    scale,
    readings,
  }
  const files = new Map(readings.flatMap(namedTexts))
  return {
    ...Object.fromEntries(
      [...files].flatMap(([{ text, signature }, file]) => [
        [file, text],
        ...(signature === undefined ? [] : [[`${file}.sig`, signature]]),
      ]),
    ),
    [PACK]: JSON.stringify(
      pack,
      (key, value) => {
        if (typeof value === 'bigint') return `${value}n`
        return key === 'from' && value !== undefined ? { file: files.get(value), atMs: value.atMs } : value
      },
      2,
    ),
  }
}

/** Name each text that a source's statements, or its refusal, were read from. */
const namedTexts = (reading: Reading): readonly (readonly [Raw, string])[] =>
  [...new Set([...reading.known.map(({ from }) => from), reading.ok ? undefined : reading.from])]
    .filter((from) => from !== undefined)
    .map((from, index) => [from, `${reading.source}-${index + 1}.txt`])

type Line = { readonly ok: boolean; readonly text: string }

/** Compute a report again from what it rests on: what each source stated, what came of it, and the value. Pure. */
export function verify(files: Evidence): readonly Line[] {
  const names = new Map<Raw, string>()
  const revive = (key: string, value: unknown) => {
    if (typeof value === 'string' && /^-?\d+n$/.test(value)) return BigInt(value.slice(0, -1))
    if (key !== 'from') return value
    const { file, atMs } = value as { readonly file: string; readonly atMs: number }
    const text = files[file]
    if (text === undefined) throw new TypeError(`there is no ${file}`)
    const from = { text, atMs }
    names.set(from, file)
    return from
  }
  try {
    return verifyPack(JSON.parse(files[PACK] ?? '', revive), (from) => names.get(from) ?? '')
  } catch {
    return [{ ok: false, text: `${PACK}, or a text that it names, is not there or not as it is written.` }]
  }
}

function verifyPack(pack: Pack, fileOf: (from: Raw) => string): readonly Line[] {
  const { report, policy, when, terms, scale } = pack
  const { decimals } = policy
  const shown = (units: bigint) => decimal(units, decimals, decimals)
  const lines: Line[] = []
  const readings = pack.readings.map((reading): Reading => {
    const { source } = reading
    const believed = policy.sources[source]
    const read = (from: Raw | undefined) =>
      from === undefined || believed === undefined ? [] : readAgain(from, believed, { decimals, scale })
    const add = (ok: boolean, text: string, from: Raw | undefined) => {
      const place = from === undefined ? 'in no file' : `in ${fileOf(from)} of ${timeOf(from)}`
      lines.push({ ok, text: `${source} ${text}, ${place}` })
      return ok
    }
    const known = reading.known.filter(({ value, asOfS, from }) => {
      const statement = read(from)
      const isStated =
        !('check' in statement) && statement.some((one) => one.value === value && one.asOfS === asOfS)
      return add(isStated, `states ${shown(value)} for ${moment(asOfS)}`, from)
    })
    if (!reading.ok && reading.from !== undefined) {
      const statement = read(reading.from)
      add(
        'check' in statement && statement.check === reading.check,
        `is not read: ${reading.check}`,
        reading.from,
      )
    }
    return { ...reading, known }
  })
  const agreement = agree(readings, new Map(Object.entries(policy.sources)), policy, when)
  for (const { source, check, message } of agreement.rejected)
    lines.push({ ok: true, text: `${source} does not count: ${check}. ${message}` })
  const voters = agreement.accepted.map(({ said }) => said.map(({ source }) => source).join(' with '))
  lines.push({
    ok: agreement.value !== null,
    text: `${voters.length} votes agree (${voters.join(', ')}); the policy demands ${policy.quorum}`,
  })
  if (agreement.value === null) return lines
  const { value, beforeFees, performance, carry } = afterFees(agreement.value, terms, when.atS)
  lines.push({
    ok: String(value) === report.value && String(when.atS) === report.valuationTimestamp,
    text: `${shown(beforeFees)} less ${shown(performance)} performance fee and ${shown(carry)} carry is ${shown(value)}; reported is ${shown(BigInt(String(report.value)))} for ${moment(Number(report.valuationTimestamp))}`,
  })
  return lines
}

const timeOf = ({ atMs }: Raw): string => moment(Math.floor(atMs / 1_000))
