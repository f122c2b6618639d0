import type { AbiFunction, Address } from 'viem'
import type { FundResource } from '../../src/service/contract/fund-resources.ts'
import type { Answer, Moment, Stop } from '../agent.ts'
import { askUint } from '../protocol/nav.ts'
import type { Wave } from '../protocol/reading.ts'
import type { Mark } from './marks.ts'
import type { ReportPolicy } from './policy.ts'
import type { SourcePolicy } from './source-policy.ts'
import { type Raw, readStatements, type Statement, type UnreadSource } from './statement.ts'
import { buildUp, builtValue, type FundParts, type Scale } from './valuation.ts'

/** Finds what was asked among the answers of its wave. */
export type Read<T> = (answers: readonly Answer[]) => T

type ChainSource = Extract<SourcePolicy, { kind: 'chain' }>
type HoldingsSource = Extract<SourcePolicy, { kind: 'holdings' }>
type OutsideSource = Exclude<SourcePolicy, ChainSource | HoldingsSource>

type ChainPlace = Pick<ChainSource, 'contract' | 'args'>

/** Ask views of a pinned contract that take the same; null where nothing is pinned there. */
function askViews(
  wave: Wave,
  views: readonly AbiFunction[],
  { contract, args }: ChainPlace,
  { deployment }: Moment,
  asset: Address | null,
): readonly Read<bigint | null>[] | null {
  const to =
    contract === '$asset' ? asset : deployment.contracts.find(({ name }) => name === contract)?.address
  if (to == null || asset === null) return null
  const given = args.map((arg) => (arg === '$asset' ? asset : arg))
  return views.map((view) => {
    const answer = askUint(wave, view, to, given)
    return (answers) => asUint(answer(answers))
  })
}

const scaled = (units: bigint, from: number, to: number) => (units * 10n ** BigInt(to)) / 10n ** BigInt(from)

/** What we read ourselves, as text. */
const rawOf = (read: object, { nowMs }: Moment): Raw => ({ text: JSON.stringify(read), atMs: nowMs })

/** Ask a view of a pinned contract. */
export function askChain(
  wave: Wave,
  policy: ChainSource,
  report: ReportPolicy,
  moment: Moment,
  asset: Address | null,
): Read<Statement | Stop> {
  const [answer] = askViews(wave, [policy.function], policy, moment, asset) ?? []
  if (answer === undefined) {
    const message = `The deployment pins no contract ${policy.contract}, or the oracle does not say its asset.`
    return () => ({ check: 'source_not_pinned', message })
  }
  return (answers) => {
    const value = answer(answers)
    if (value === null) return { check: 'source_unreadable', message: 'The chain did not answer.' }
    const asOfS = moment.chain.timestampS
    const from = rawOf({ asOfS, blockNumber: String(moment.chain.blockNumber), said: String(value) }, moment)
    return { value: scaled(value, policy.decimals, report.decimals), asOfS, from }
  }
}

/** Ask what fees are counted from, where the policy names views of it; null is not known. */
export function askMark(
  wave: Wave,
  { fees, decimals }: ReportPolicy,
  moment: Moment,
  asset: Address | null,
): Read<Mark | null> {
  const mark = fees?.mark
  if (mark === undefined) return () => null
  const [value, since] = askViews(wave, [mark.highWaterValue, mark.accruesSince], mark, moment, asset) ?? []
  return (answers) => {
    const [units, sinceS] = [value?.(answers) ?? null, since?.(answers) ?? null]
    if (units === null || sinceS === null) return null
    const highWaterValue = scaled(units, mark.decimals, decimals)
    return { highWaterValue, accruesSinceS: Number(sinceS), seenAtS: moment.chain.timestampS }
  }
}

/** Viem gives what fits into a float as a number. */
const asUint = (value: unknown): bigint | null =>
  typeof value === 'bigint' ? value : typeof value === 'number' ? BigInt(value) : null

/** Ask what a fund has idle, and build up with the service's row of it. */
export function askHoldings(
  wave: Wave,
  { idle, haircutBps }: HoldingsSource,
  fund: FundResource | null,
  scale: Scale | null,
  moment: Moment,
  asset: Address | null,
): Read<(Statement & { readonly parts: FundParts }) | Stop> {
  if (fund === null || scale === null || asset === null) {
    const message = 'The service shows no fund at this address, or the deployment does not pin it.'
    return () => ({ check: 'fund_not_known', message })
  }
  const answers = idle.map((view) => askUint(wave, view, asset, []))
  const haircuts = new Map(Object.entries(haircutBps))
  return (given) => {
    let idleAssets = 0n
    for (const answer of answers) {
      const value = asUint(answer(given))
      if (value === null)
        return { check: 'source_unreadable', message: 'The chain did not say what is idle.' }
      idleAssets += value
    }
    const parts = buildUp(fund, idleAssets, haircuts)
    if ('check' in parts) return parts
    const asOfS = moment.chain.timestampS - Math.ceil(moment.freshness.ageMs / 1_000)
    const from = rawOf({ asOfS, idleAssets: String(idleAssets), fund }, moment)
    return { value: builtValue(parts, scale), asOfS, parts, from }
  }
}

/** Read what an outside source answered. Pure. */
export function readOutside(
  answer: Answer | undefined,
  policy: OutsideSource,
  wanted: number,
): readonly Statement[] | UnreadSource {
  if (answer === undefined) return { check: 'source_unreadable', message: 'It was not asked.' }
  if (!answer.ok) return { check: answer.check, message: answer.message }
  const layout =
    policy.kind === 'csv-file'
      ? { format: 'csv' as const, value: policy.valueColumn, asOf: policy.asOfColumn }
      : {
          format: 'json' as const,
          history: policy.historyPointer,
          value: policy.valuePointer,
          asOf: policy.asOfPointer,
        }
  const stated = readStatements(answer.text, layout, policy.decimals, wanted)
  const { text, atMs, signature } = answer
  const from = { text, atMs, signature }
  return 'check' in stated ? { ...stated, from } : stated.map((one) => ({ ...one, from }))
}

/** What our own reading said, as it was written down. */
type WrittenReading = {
  readonly asOfS: number
  readonly said: string
  readonly idleAssets: string
  readonly fund: FundResource
}

/** Read again what a statement was read from. Pure; throws what reading a text throws that we did not write. */
export function readAgain(
  { text, atMs }: Raw,
  policy: SourcePolicy,
  { decimals, scale }: { readonly decimals: number; readonly scale: Scale | null },
): readonly Statement[] | Stop {
  if (policy.kind !== 'chain' && policy.kind !== 'holdings')
    return readOutside({ ok: true, text, atMs }, policy, decimals)
  const { asOfS, said, idleAssets, fund }: WrittenReading = JSON.parse(text)
  if (policy.kind === 'chain') return [{ value: scaled(BigInt(said), policy.decimals, decimals), asOfS }]
  const parts = buildUp(fund, BigInt(idleAssets), new Map(Object.entries(policy.haircutBps)))
  if ('check' in parts || scale === null) return 'check' in parts ? parts : []
  return [{ value: builtValue(parts, scale), asOfS }]
}
