import type { Address } from 'viem'
import { moment } from '../../src/readable.js'
import { decimal as exactly } from '../../src/units.ts'
import type { Proposal, Reason } from '../../src/workflow/proposal.ts'
import type { Stop } from '../agent.ts'
import { BPS } from '../protocol/health.ts'
import { decimal, percent } from '../protocol/text.ts'
import type { Due } from './due.ts'
import { termsAt } from './marks.ts'
import type { ReportPolicy } from './policy.ts'
import { type Agreement, distanceBps } from './quorum.ts'
import { newest, type ReportSeen } from './see.ts'
import { accruedFees, type Bridge, bridgeOf, builtValue, type FeeTerms } from './valuation.ts'
import { votesOf } from './votes.ts'

/** What would be reported of one share, and what was taken off for fees. */
export type Value = {
  readonly value: bigint
  readonly beforeFees: bigint
  readonly performance: bigint
  readonly carry: bigint
}

/** Take accrued fees off what the sources agree on; null terms have none. Pure. */
export function afterFees(beforeFees: bigint, terms: FeeTerms | null, atS: number): Value {
  const { performance, carry } =
    terms === null ? { performance: 0n, carry: 0n } : accruedFees(beforeFees, terms, atS)
  return { value: beforeFees - performance - carry, beforeFees, performance, carry }
}

/** Name a report, as workflows and `explain` do: `asset:oracle:type`, lower case. Pure. */
export const subjectOf = (asset: Address, oracle: Address, reportType: string): string =>
  `${asset}:${oracle}:${reportType}`

/** Name the first report of a valuation time: there is one for each, and what corrects it is a person's order. Pure. */
export const occurrenceOf = (valuationTimeS: number): string => `${valuationTimeS}:0`

/** A report whose oracle and asset are known and pinned. */
export type KnownReport = ReportSeen & { readonly oracle: Address; readonly asset: Address }

/** Propose a report that is due, or say why the oracle would not take it. Pure. */
export function propose(
  report: KnownReport,
  policy: ReportPolicy,
  due: Due,
  agreement: Agreement,
  value: Value,
): Proposal | Stop {
  const { oracle, asset, name } = report
  const { reportType, revisionLabel, valuationTimeS } = due
  const refused = beyondOracle(value.value, due, policy)
  if (refused !== null) return refused
  const last = newest(report)
  const isFirst = last === null || last.submittedAtS === 0
  const bridge = isFirst ? null : bridgeFrom(report, policy, last, value)
  const shown = (units: bigint) => decimal(units, policy.decimals, 6)
  const signed = (units: bigint) => (units < 0n ? shown(units) : `+${shown(units)}`)
  const move = isFirst ? null : distanceBps(value.value, last.value)
  const steps =
    bridge === null
      ? ''
      : `; ${Object.entries(bridge)
          .map(([step, units]) => `${step} ${signed(units)}`)
          .join(', ')}`
  const since = isFirst || move === null ? '' : ` (${signed(value.value - last.value)}, ${percent(move)})`
  return {
    workflowType: 'role.nav_reporter.navReportSignAndSubmit',
    kind: due.why,
    subject: subjectOf(asset, oracle, reportType),
    occurrence: occurrenceOf(valuationTimeS),
    input: {
      oracleAddress: oracle,
      assetAddress: asset,
      reportType,
      value: String(value.value),
      decimals: policy.decimals,
      valuationTimestamp: String(valuationTimeS),
      revision: 0,
      revisionLabel,
    },
    exposure: { token: null, assets: 0n, usdMicros: 0n },
    ...(move === null ? {} : { deviationBps: Number(move) }),
    summary: `report ${name} ${reportType} of ${moment(valuationTimeS)}: ${shown(value.value)}${since}, ${agreement.accepted.length} of ${votesOf(policy.sources).length} votes${steps}`,
    reason: reasonOf(report, policy, agreement, value, bridge),
  }
}

/** What the oracle itself would refuse. */
function beyondOracle(value: bigint, { type }: Due, { decimals }: ReportPolicy): Stop | null {
  const shown = (units: bigint) => exactly(units, decimals)
  const { valueMin, valueMax, moveBpsMax, latest } = type
  if (value < valueMin || value > valueMax || value === 0n) {
    const message = `The value is ${shown(value)}; the oracle takes ${shown(valueMin)} to ${shown(valueMax)}.`
    return { check: 'beyond_oracle_bounds', message }
  }
  const move = value > latest.value ? value - latest.value : latest.value - value
  if (latest.value === 0n || move <= (latest.value * moveBpsMax) / BPS) return null
  const message = `The value is ${shown(value)}, the last one ${shown(latest.value)}; the oracle takes a move of ${percent(BigInt(moveBpsMax))}. Fix: have its admin widen the bounds.`
  return { check: 'beyond_oracle_move', message }
}

/** The bridge from the last report; where it is not known what either was made of, all of it is `other`. */
function bridgeFrom(
  { parts, partsBefore, scale, marks }: ReportSeen,
  policy: ReportPolicy,
  last: { readonly value: bigint; readonly valuationTimeS: number },
  to: Value,
): Partial<Bridge> {
  const fees = to.performance + to.carry
  const terms = termsAt(policy.fees, marks, last.valuationTimeS)
  if (parts === null || partsBefore === null || scale === null || (terms !== null && 'check' in terms)) {
    return { other: to.value - last.value }
  }
  const then = afterFees(builtValue(partsBefore, scale), terms, last.valuationTimeS)
  return bridgeOf(
    { value: last.value, fees: then.performance + then.carry, parts: partsBefore },
    { value: to.value, fees, parts },
    scale,
  )
}

function reasonOf(
  { parts, readings, scale }: ReportSeen,
  { decimals }: ReportPolicy,
  { accepted, rejected }: Agreement,
  { value, beforeFees, performance, carry }: Value,
  bridge: Partial<Bridge> | null,
): Reason {
  const made =
    parts === null ? [] : Object.entries(parts).map(([part, units]) => [part, String(units)] as const)
  const steps = Object.entries(bridge ?? {}).map(
    ([step, units]) => [`bridge${step.slice(0, 1).toUpperCase()}${step.slice(1)}`, String(units)] as const,
  )
  return {
    value: String(value),
    beforeFees: String(beforeFees),
    performanceFee: String(performance),
    carry: String(carry),
    sources: readings.length,
    accepted: accepted
      .flatMap(({ said }) =>
        said.map(
          ({ source, value: one, asOfS }) => `${source} ${exactly(one, decimals)} of ${moment(asOfS)}`,
        ),
      )
      .join(', '),
    rejected: rejected.map((one) => `${one.source} ${one.check}`).join(', '),
    ...Object.fromEntries(made),
    ...(scale === null ? {} : { shareDecimals: scale.shareDecimals }),
    decimals,
    ...Object.fromEntries(steps),
  }
}
