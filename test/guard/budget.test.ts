import { describe, expect, it } from 'vitest'
import { checkBudget, type SpendRow } from '../../src/guard/budget.ts'
import type { Limits } from '../../src/guard/policy/policy.ts'

const limits: Limits = {
  perWorkflow: { usdMicrosMax: 100n, gasWeiMax: 50n },
  perHour: { usdMicrosMax: 250n, gasWeiMax: 120n, revertsMax: 2 },
  perDay: { usdMicrosMax: 400n, gasWeiMax: 200n, revertsMax: 3 },
  pricesUsdMicros: {},
}
const NOW_MS = 1_800_000_000_000
const HOUR_MS = 3_600_000
const row = (agoMs: number, changes: Partial<SpendRow> = {}): SpendRow => ({
  atMs: NOW_MS - agoMs,
  usdMicros: 0n,
  gasWei: 0n,
  reverted: false,
  ...changes,
})
const judge = (reservations: readonly SpendRow[], ask: { usdMicros?: bigint; gasWei?: bigint } = {}) => {
  const checked = checkBudget({
    reservations,
    ask: { usdMicros: ask.usdMicros ?? 0n, gasWei: ask.gasWei ?? 0n },
    limits,
    nowMs: NOW_MS,
  })
  return checked.ok ? 'fits' : checked.check
}

describe('budgets', () => {
  it('fit at the limit of one workflow, and not one past it', () => {
    expect(judge([], { usdMicros: 100n, gasWei: 50n })).toBe('fits')
    expect(judge([], { usdMicros: 101n })).toBe('limit_workflow_usd')
    expect(judge([], { gasWei: 51n })).toBe('limit_workflow_gas')
  })

  it('fit at the limit of an hour, and not one past it', () => {
    const spent = [row(1_000, { usdMicros: 200n, gasWei: 80n })]
    expect(judge(spent, { usdMicros: 50n, gasWei: 40n })).toBe('fits')
    expect(judge(spent, { usdMicros: 51n })).toBe('limit_hour_usd')
    expect(judge(spent, { gasWei: 41n })).toBe('limit_hour_gas')
  })

  it('fit at the limit of a day, and not one past it', () => {
    const spent = [row(2 * HOUR_MS, { usdMicros: 350n, gasWei: 180n })]
    expect(judge(spent, { usdMicros: 50n, gasWei: 20n })).toBe('fits')
    expect(judge(spent, { usdMicros: 51n })).toBe('limit_day_usd')
    expect(judge(spent, { gasWei: 21n })).toBe('limit_day_gas')
  })

  it('forget a claim when it is exactly one window old', () => {
    const full = { usdMicros: 250n }
    expect(judge([row(HOUR_MS - 1, full)], { usdMicros: 1n })).toBe('limit_hour_usd')
    expect(judge([row(HOUR_MS, full)], { usdMicros: 1n })).toBe('fits')
    expect(judge([row(24 * HOUR_MS - 1, { usdMicros: 400n })], { usdMicros: 1n })).toBe('limit_day_usd')
    expect(judge([row(24 * HOUR_MS, { usdMicros: 400n })], { usdMicros: 1n })).toBe('fits')
  })

  it('count a claim that a clock ahead of ours made', () => {
    expect(judge([row(-5_000, { usdMicros: 250n })], { usdMicros: 1n })).toBe('limit_hour_usd')
  })

  it('stop once as many reverted as the policy allows', () => {
    const reverted = row(1_000, { reverted: true })
    expect(judge([reverted])).toBe('fits')
    expect(judge([reverted, reverted])).toBe('limit_hour_reverts')
    const earlier = row(2 * HOUR_MS, { reverted: true })
    expect(judge([earlier, earlier])).toBe('fits')
    expect(judge([earlier, earlier, earlier])).toBe('limit_day_reverts')
  })
})
