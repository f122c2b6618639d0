import { describe, expect, it } from 'vitest'
import {
  BUDGETS_MS,
  budgetStates,
  checkBudget,
  checkCap,
  checkStanding,
  partOf,
  type SpendRow,
  usedOfLimits,
} from '../../../src/guard/limits/budget.ts'
import type { Limits } from '../../../src/guard/policy/policy.ts'
import { COLLATERAL, deployment, LOAN, MARKET, STRANGER, VAULT } from '../fixtures.ts'

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

it('says of each budget what is used of how much, what is left, and when the first of it is free', () => {
  const rows = [
    row(2_000, { gasWei: 30n, reverted: true, workflowType: 'own.liquidator.sell' }),
    row(3_000, { usdMicros: 200n, reverted: true, workflowType: 'role.liquidator.liquidate' }),
    row(1_000, { usdMicros: 50n, reverted: true, workflowType: 'role.liquidator.liquidate' }),
    row(2 * HOUR_MS, { usdMicros: 40n }),
  ]
  const states = budgetStates({ ...limits, perDay: { ...limits.perDay, gasWeiMax: 0n } }, rows, NOW_MS)
  expect(
    states.map(({ name }) => name),
    'what allows nothing is no budget',
  ).not.toContain('gas_per_day')
  const of = (name: string) => states.find((each) => each.name === name)
  expect(of('usd_per_hour')).toMatchObject({
    part: 1,
    used: '$0.00025',
    left: '$0',
    check: 'limit_hour_usd',
  })
  expect(of('gas_per_hour')).toMatchObject({ part: 0.25, freesAtMs: NOW_MS - 2_000 + HOUR_MS })
  expect(of('usd_per_day')).toMatchObject({ part: 0.725, freesAtMs: NOW_MS + 22 * HOUR_MS })
  expect(of('reverts_per_hour'), 'of the type of which the most reverted').toEqual({
    name: 'reverts_per_hour',
    check: 'limit_hour_reverts',
    part: 1,
    setting: 'limits.perHour.revertsMax',
    freesAtMs: NOW_MS - 3_000 + HOUR_MS,
    used: '2',
    limit: '2 reverts of role.liquidator.liquidate',
    left: '0',
  })
  const at = (nowMs: number) =>
    budgetStates(limits, rows, nowMs).find((each) => each.check === 'limit_hour_reverts')
  expect(at(NOW_MS - 3_000 + HOUR_MS)?.part, 'then it is').toBe(0.5)
  expect(at(NOW_MS + HOUR_MS)).toMatchObject({ used: '0', freesAtMs: null })
})

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

  it('say by how much one is past which limit of the policy', () => {
    const options = { reservations: [], limits, nowMs: NOW_MS }
    expect(checkBudget({ ...options, ask: { usdMicros: 101n, gasWei: 0n } })).toMatchObject({
      message: expect.stringContaining(
        'With this one, $0.00010 would move in one workflow; the policy allows $0.0001.',
      ),
    })
  })

  it('count what is asked for alone', () => {
    const options = { ask: { usdMicros: 1n, gasWei: 0n }, limits, nowMs: NOW_MS }
    const reservations = [row(1_000, { usdMicros: 250n })]
    expect(checkBudget({ ...options, reservations, counts: () => true }).ok).toBe(false)
    expect(checkBudget({ ...options, reservations, counts: () => false }).ok).toBe(true)
  })

  it('count a claim that a clock ahead of ours made', () => {
    expect(judge([row(-5_000, { usdMicros: 250n })], { usdMicros: 1n })).toBe('limit_hour_usd')
  })

  it('stop once as many reverted as the policy allows', () => {
    const reverted = row(1_000, { reverted: true })
    expect(judge([reverted])).toBe('fits')
    expect(judge([reverted, reverted])).toBe('limit_hour_reverts')
    // Those that went well are no reverts.
    expect(judge([reverted, row(1_000), row(1_000)])).toBe('fits')
    const earlier = row(2 * HOUR_MS, { reverted: true })
    expect(judge([earlier, earlier])).toBe('fits')
    expect(judge([earlier, earlier, earlier])).toBe('limit_day_reverts')
  })

  it('count what reverted by type: neither lost races nor failed sales close the other', () => {
    const [way, out] = ['role.liquidator.liquidate', 'own.liquidator.sell'] as const
    const of = (workflowType: typeof way | typeof out, agoMs = 1_000) =>
      row(agoMs, { reverted: true, workflowType })
    const asked = (reservations: readonly SpendRow[], workflowType: typeof way | typeof out) => {
      const ask = { usdMicros: 0n, gasWei: 0n, workflowType }
      const checked = checkBudget({ reservations, ask, limits, nowMs: NOW_MS })
      return checked.ok ? 'fits' : checked.message
    }
    expect(asked([of(way), of(way), of(out)], out)).toBe('fits')
    expect(asked([of(way), of(way), of(out)], way)).toMatch(
      /^2 transactions of role.liquidator.liquidate reverted/,
    )
    expect(asked([of(out, 2 * HOUR_MS), of(out, 2 * HOUR_MS), of(out)], way)).toBe('fits')
    expect(asked([of(out, 2 * HOUR_MS), of(out, 2 * HOUR_MS), of(out)], out)).toMatch(
      /reverted in the last day/,
    )
    // What an earlier release reserved is of any.
    expect(asked([of(way), row(1_000, { reverted: true })], way)).toMatch(/^2 transactions/)
    expect(asked([of(way), row(1_000, { reverted: true })], out)).toBe('fits')
    const { reverts_per_hour: used } = usedOfLimits(limits, [of(way), of(out), of(out)], NOW_MS)
    expect(used).toBe(1)
    expect(usedOfLimits(limits, [of(way), of(out)], NOW_MS)).toMatchObject({ reverts_per_hour: 0.5 })
  })
})

it('are used in parts, in ten-thousandths; one that allows nothing is used up', () => {
  expect([partOf(0n, 3n), partOf(1n, 3n), partOf(3n, 3n), partOf(4n, 3n)]).toEqual([0, 0.3333, 1, 1.3333])
  expect(partOf(0n, 0n)).toBe(1)
})

describe('a cap over all roles', () => {
  it('holds an hour and a day, up to the limit', () => {
    const cap = {
      perHour: { usdMicrosMax: 100n, gasWeiMax: 50n },
      perDay: { usdMicrosMax: 150n, gasWeiMax: 70n },
    }
    const capped = (agoMs: number, usdMicros: bigint, gasWei: bigint) => {
      const reservations = [row(agoMs, { usdMicros: 60n, gasWei: 30n })]
      const checked = checkCap({ cap, reservations, ask: { usdMicros, gasWei }, nowMs: NOW_MS })
      return checked.ok ? 'fits' : checked.check
    }
    expect(capped(1_000, 40n, 20n)).toBe('fits')
    expect(capped(1_000, 41n, 0n)).toBe('limit_all_hour_usd')
    expect(capped(1_000, 0n, 21n)).toBe('limit_all_hour_gas')
    expect(capped(2 * HOUR_MS, 90n, 40n)).toBe('fits')
    expect(capped(2 * HOUR_MS, 91n, 0n)).toBe('limit_all_day_usd')
    expect(capped(2 * HOUR_MS, 0n, 41n)).toBe('limit_all_day_gas')
    expect(BUDGETS_MS).toEqual([HOUR_MS, 24 * HOUR_MS])
  })
})

describe('allowances that stand', () => {
  const exposed = { token: LOAN, assets: 100n, usdMicros: 50n }
  const stands = (token: typeof LOAN, spender: typeof LOAN, assets: bigint) => ({ token, spender, assets })
  const priced: Limits = { ...limits, pricesUsdMicros: { sUSD: 1_000_000n } }
  const judgeStanding = (
    standing: Parameters<typeof checkStanding>[1],
    {
      exposure = exposed,
      approvals = [],
      of = priced,
    }: {
      exposure?: Parameters<typeof checkStanding>[0]
      approvals?: Parameters<typeof checkStanding>[2]
      of?: Limits
    } = {},
  ) => checkStanding(exposure, standing, approvals, { limits: of, deployment })?.check ?? 'fits'

  it('count at the price of what leaves, up to the limit of an hour', () => {
    // Half a millionth of a dollar a unit: 400 units are 200 of the 250.
    expect(judgeStanding([stands(LOAN, MARKET, 400n)])).toBe('fits')
    expect(judgeStanding([stands(LOAN, MARKET, 402n)])).toBe('limit_standing')
    expect(judgeStanding([stands(LOAN, MARKET, 200n), stands(LOAN, VAULT, 202n)])).toBe('limit_standing')
    const upper = { ...exposed, token: LOAN.toUpperCase().replace('0X', '0x') as typeof LOAN }
    expect(judgeStanding([stands(LOAN, MARKET, 400n)], { exposure: upper })).toBe('fits')
  })

  it('of another token count at the policy’s price, and not without one', () => {
    // 25 millionths of a dollar a unit of eight decimals.
    const cheap: Limits = { ...priced, pricesUsdMicros: { sBTC: 2_500_000_000n } }
    expect(judgeStanding([stands(COLLATERAL, MARKET, 8n)], { of: cheap })).toBe('fits')
    expect(judgeStanding([stands(COLLATERAL, MARKET, 9n)], { of: cheap })).toBe('limit_standing')
    expect(judgeStanding([stands(COLLATERAL, MARKET, 1n)], { of: limits })).toBe('standing_unpriced')
    expect(judgeStanding([stands(STRANGER, MARKET, 1n)])).toBe('standing_unpriced')
  })

  it('count once where the workflow approves the very pair anew', () => {
    const much = [stands(LOAN, MARKET, 10_000n)]
    const again = (token: typeof LOAN, spender: typeof LOAN) => ({ approvals: [stands(token, spender, 1n)] })
    expect(judgeStanding(much, again(LOAN, MARKET))).toBe('fits')
    expect(judgeStanding(much, again(LOAN, VAULT))).toBe('limit_standing')
    expect(judgeStanding(much, again(COLLATERAL, MARKET))).toBe('limit_standing')
    const two = { approvals: [stands(COLLATERAL, VAULT, 1n), stands(LOAN, MARKET, 1n)] }
    expect(judgeStanding(much, two)).toBe('fits')
  })

  it('are in nobody’s way who moves nothing out', () => {
    const none = { token: null, assets: 0n, usdMicros: 0n }
    expect(judgeStanding([stands(LOAN, MARKET, 10n ** 18n)], { exposure: none })).toBe('fits')
  })
})
