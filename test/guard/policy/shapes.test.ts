import type { Hex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { checkFinal } from '../../../src/guard/checks/check-final.ts'
import { recheck } from '../../../src/guard/checks/recheck.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import { STRANGER } from '../fixtures.ts'
import { asked, createShapes, encodeCall, HELD, OWED, rulesetFor, type Shapes } from './shapes-scene.ts'

// Two markets of other protocols, and nothing but policy files to guard them by.
let shapes: Shapes
let snapshot: Hex
beforeAll(async () => {
  shapes = await createShapes()
  snapshot = await shapes.client.snapshot()
})
afterAll(async () => {
  await shapes?.stop()
})
beforeEach(async () => {
  await shapes.client.revert({ id: snapshot })
  snapshot = await shapes.client.snapshot()
})

const REPAY = 5_000_000_000n

/** What becomes of a liquidation with these calls. */
async function outcome(
  ruleset: Ruleset,
  calls: Parameters<typeof asked>[2],
  request: { readonly repay: bigint; readonly minCollateral: bigint },
): Promise<string> {
  const options = await asked(shapes, ruleset, calls, request)
  const checked = await checkFinal(options, { nodes: shapes.nodes })
  if (!checked.ok) return checked.check
  const workflow = { ...options.workflow, clearance: checked.clearance }
  const again = await recheck({ ...options, workflow }, { nodes: shapes.nodes })
  return again.ok ? 'cleared' : `${again.check} at the recheck`
}

/** The same rules, but that each call may send 1 ETH. */
const paying = (ruleset: Ruleset): Ruleset => ({
  ...ruleset,
  rules: new Map(
    [...ruleset.rules].map(([type, rules]) => [
      type,
      rules.map((rule) => ({ ...rule, valueWeiMax: 10n ** 18n })),
    ]),
  ),
})

describe('a pool in the manner of Aave', () => {
  // 5,000 at 2,500 and 5 % more.
  const due = 21n * 10n ** 17n
  const minCollateral = (due * 99n) / 100n
  const run = (changes: Readonly<Record<string, unknown>> = {}, request = {}, value = '0') => {
    const { loan, collateral, pool } = shapes.addresses
    const stated = { repay: REPAY, minCollateral, ...request }
    const args = { collateral, loan, user: shapes.borrower, cover: stated.repay, shares: false, ...changes }
    return outcome(
      value === '0' ? rulesetFor(shapes, 'pooled') : paying(rulesetFor(shapes, 'pooled')),
      [
        [loan, encodeCall('approve', [pool, stated.repay])],
        [pool, encodeCall('liquidationCall', Object.values(args)), value],
      ],
      stated,
    )
  }

  it('is liquidated under its policy', async () => {
    expect(await run()).toBe('cleared')
  })

  it.each<[string, () => Readonly<Record<string, unknown>>, string]>([
    ['another borrower', () => ({ user: STRANGER }), 'parameter_user'],
    ['more repaid', () => ({ cover: REPAY + 1n }), 'parameter_debt_to_cover'],
    ['another collateral', () => ({ collateral: shapes.addresses.loan }), 'parameter_collateral_asset'],
    ['another debt', () => ({ loan: shapes.addresses.collateral }), 'parameter_debt_asset'],
    ['shares in the place of tokens', () => ({ shares: true }), 'parameter_receive_a_token'],
  ])('is refused with %s', async (_name, changes, check) => {
    expect(await run(changes())).toBe(check)
  })

  it('counts the value that it sends like gas', async () => {
    // The policy lets the gas of one workflow cost 0.3 ETH.
    expect(await run({}, {}, String(10n ** 17n))).toBe('cleared')
    expect(await run({}, {}, String(4n * 10n ** 17n))).toBe('limit_workflow_gas')
    expect(await run({}, {}, String(10n ** 18n + 1n))).toBe('value_above_cap')
  })

  it('is judged by its own facts', async () => {
    const { addresses, write } = shapes
    expect(await run({}, { repay: OWED / 2n + 1n, minCollateral: 4n * HELD })).toBe(
      'repay_above_close_factor',
    )
    expect(await run({}, { minCollateral: due / 2n })).toBe('min_collateral_too_low')
    await write('PooledMarket', addresses.pool, 'pause', [true])
    expect(await run()).toBe('market_paused')
    await write('PooledMarket', addresses.pool, 'pause', [false])
    await write('DollarPrices', addresses.dollars, 'set', [addresses.collateral, 2_750n * 10n ** 8n])
    expect(await run()).toBe('price_moved')
    await write('DollarPrices', addresses.dollars, 'set', [addresses.collateral, 2_501n * 10n ** 8n])
    await write('PooledMarket', addresses.pool, 'open', [shapes.borrower, HELD, 0n])
    expect(await run()).toBe('position_healthy')
  })
})

describe('a singleton in the manner of Morpho', () => {
  // A share is worth 1.1.
  const shares = (REPAY * 10n) / 11n
  const repaid = (shares * 11n + 9n) / 10n
  const minCollateral = (2_087_000_000_000_000_000n * 99n) / 100n
  const run = (changes: Readonly<Record<string, unknown>> = {}, terms = {}, approved = repaid) => {
    const { loan, singleton } = shapes.addresses
    const args = {
      params: { ...shapes.params, ...terms },
      borrower: shapes.borrower,
      seized: 0n,
      shares,
      data: '0x',
      ...changes,
    }
    return outcome(
      rulesetFor(shapes, 'singleton'),
      [
        [loan, encodeCall('approve', [singleton, approved])],
        [singleton, encodeCall('liquidate', Object.values(args))],
      ],
      { repay: REPAY, minCollateral },
    )
  }

  it('is liquidated under its policy', async () => {
    expect(await run()).toBe('cleared')
  })

  it.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>, string]>([
    ['another borrower', { borrower: STRANGER }, {}, 'parameter_borrower'],
    ['a callback', { data: '0x00' }, {}, 'parameter_data'],
    ['an amount to seize', { seized: 1n, shares: 0n }, {}, 'parameter_seized_assets'],
    ['another oracle', {}, { oracle: STRANGER }, 'parameter_market_params_oracle'],
    ['another market of the same contract', {}, { lltv: 1n }, 'parameter_market_params_lltv'],
    // What the chain says that the repayment comes to, not what the service says.
    ['more shares', { shares: shares + 1n }, {}, 'parameter_repaid_shares'],
    ['fewer shares', { shares: shares / 2n }, {}, 'parameter_repaid_shares'],
  ])('is refused with %s', async (_name, changes, terms, check) => {
    expect(await run(changes, terms)).toBe(check)
  })

  it('is refused where more is approved than is taken', async () => {
    expect(await run({ shares: shares - 10n }, {}, REPAY)).toBe('allowance_left')
    expect(await run({}, {}, REPAY + 1n)).toBe('approval_not_exact')
  })

  it('is judged by its own facts', async () => {
    const { addresses, params, borrower, write } = shapes
    await write('ScaledPrice', addresses.scaled, 'set', [2_750n * 10n ** 24n])
    expect(await run()).toBe('price_moved')
    await write('ScaledPrice', addresses.scaled, 'set', [2_501n * 10n ** 24n])
    await write('SingletonMarket', addresses.singleton, 'open', [
      params,
      borrower,
      2n * HELD,
      0n,
      20_000_000_000n,
    ])
    expect(await run()).toBe('position_healthy')
  })
})
