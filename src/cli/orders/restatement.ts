import { type Address, parseUnits } from 'viem'
import { decimal } from '../../../agents/protocol/text.ts'
import { invariant, RolekeeperError } from '../../errors.ts'
import type { SubmissionDraft } from '../../ops/orders.ts'
import { agentRoleOf } from '../../service/contract/workflow-types.ts'
import { decimal as exactly } from '../../units.ts'

/** A report that an oracle has taken, and what it is the oracle of. */
export type FiledReport = {
  readonly oracle: Address
  readonly asset: Address
  readonly decimals: number
  readonly reportType: string
  readonly value: bigint
  readonly valuationTimeS: bigint
  readonly revision: number
}

/** What carries a report, the first and every revision of it. */
const RESTATES = 'role.nav_reporter.navReportSignAndSubmit'

/**
 * Make the order that corrects a report: its next revision, for the same valuation time. Pure.
 * @param valueText whole quote assets for one whole share, as a decimal.
 * @param label why; the report carries it for ever.
 * @throws RolekeeperError `restate.value_invalid` for what is no value of the oracle's decimals, or the same value.
 */
export function restatementOf(reported: FiledReport, valueText: string, label: string): SubmissionDraft {
  const { oracle, asset, decimals, reportType, valuationTimeS } = reported
  const [, fraction = ''] = valueText.split('.')
  const value =
    /^[0-9]{1,40}(\.[0-9]+)?$/.test(valueText) && fraction.length <= decimals
      ? parseUnits(valueText, decimals)
      : 0n
  if (value === 0n || value === reported.value) {
    throw new RolekeeperError(
      'restate.value_invalid',
      `"${valueText.slice(0, 60)}" is no other value above 0 with at most ${decimals} decimals; ${exactly(reported.value, decimals)} is reported.`,
      { fix: 'write what one whole share is worth, for example --value 1.0213.' },
    )
  }
  const revision = reported.revision + 1
  const role = agentRoleOf(RESTATES)
  invariant(role !== null, `an agent proposes ${RESTATES}`)
  const shown = (units: bigint) => decimal(units, decimals, 6)
  return {
    role,
    workflowType: RESTATES,
    shadow: false,
    input: {
      oracleAddress: oracle,
      assetAddress: asset,
      reportType,
      value: String(value),
      decimals,
      valuationTimestamp: String(valuationTimeS),
      revision,
      revisionLabel: label,
    },
    subject: `${asset}:${oracle}:${reportType}`,
    summary: `restate ${reportType} of ${new Date(Number(valuationTimeS) * 1_000).toISOString()} as revision ${revision}: from ${shown(reported.value)} to ${shown(value)}, ${label}`,
    reason: { before: String(reported.value), value: String(value), revision, revisionLabel: label },
  }
}
