import { type Checked, refuse } from '../errors.ts'
import type { Limits } from './policy/policy.ts'

/** One claim of the past, as far as budgets count it. */
export type SpendRow = {
  readonly atMs: number
  readonly usdMicros: bigint
  readonly gasWei: bigint
  readonly reverted: boolean
}

const HOUR_MS = 3_600_000
/** What is older counts in no budget. */
export const BUDGET_MS = 24 * HOUR_MS
const WINDOWS = [
  { key: 'perHour', name: 'hour', lengthMs: HOUR_MS },
  { key: 'perDay', name: 'day', lengthMs: BUDGET_MS },
] as const

/**
 * Judge whether one more claim fits into the role's limits: its own, the last hour's and the last day's. A row counts
 * until it is a whole window old. Pure.
 */
export function checkBudget(options: {
  readonly reservations: readonly SpendRow[]
  readonly ask: Pick<SpendRow, 'usdMicros' | 'gasWei'>
  readonly limits: Limits
  readonly nowMs: number
}): Checked<unknown> {
  const { reservations, ask, limits, nowMs } = options
  const alone = overspent('workflow', ask, limits.perWorkflow)
  if (alone !== null) return alone
  for (const { key, name, lengthMs } of WINDOWS) {
    const limit = limits[key]
    const rows = reservations.filter(({ atMs }) => atMs > nowMs - lengthMs)
    const sum = {
      usdMicros: rows.reduce((total, row) => total + row.usdMicros, ask.usdMicros),
      gasWei: rows.reduce((total, row) => total + row.gasWei, ask.gasWei),
    }
    const over = overspent(name, sum, limit)
    if (over !== null) return over
    const reverts = rows.filter(({ reverted }) => reverted).length
    if (reverts >= limit.revertsMax) {
      return refuse(
        `limit_${name}_reverts`,
        `${reverts} transactions reverted in the last ${name}; the policy allows ${limit.revertsMax}. Fix: find out why, wait, or raise limits.${key}.revertsMax.`,
      )
    }
  }
  return { ok: true }
}

function overspent(
  name: string,
  sum: Pick<SpendRow, 'usdMicros' | 'gasWei'>,
  limit: { readonly usdMicrosMax: bigint; readonly gasWeiMax: bigint },
) {
  if (sum.usdMicros > limit.usdMicrosMax) {
    return refuse(
      `limit_${name}_usd`,
      `With this one, ${sum.usdMicros} millionths of a dollar would move in one ${name}; the policy allows ${limit.usdMicrosMax}. Fix: wait, or raise limits.`,
    )
  }
  if (sum.gasWei > limit.gasWeiMax) {
    return refuse(
      `limit_${name}_gas`,
      `With this one, gas of one ${name} could cost ${sum.gasWei} wei; the policy allows ${limit.gasWeiMax}. Fix: wait, or raise limits.`,
    )
  }
  return null
}
