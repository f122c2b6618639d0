import { describe, expect, it } from 'vitest'
import { changeOf, comparePolicies } from '../../../src/guard/policy/compare.ts'
import type { Said } from '../../../src/guard/policy/difference.ts'
import { policyOf } from '../../support/policies.ts'

const LIQUIDATOR = policyOf('liquidator')
const ALLOCATOR = policyOf('allocator')

/** A policy with another value at a path; undefined takes away what is there. */
function changed(said: Said, path: string, value: unknown): Said {
  const draft = structuredClone(said)
  const steps = path.split('/')
  const last = steps.pop() ?? ''
  let holder: object = draft
  for (const step of steps) holder = Object(Reflect.get(holder, step))
  if (value === undefined) Reflect.deleteProperty(holder, last)
  else Reflect.set(holder, last, value)
  return draft
}

const words = (was: Said, is: Said) =>
  comparePolicies(was, is).map(({ path, direction }) => `${direction} ${path}`)

describe('two policies', () => {
  it('are the same where they say the same, in other units and another order', () => {
    const other = changed(
      changed(LIQUIDATOR, 'freshness/ageMax', '20,000 ms'),
      'limits/perHour/gasMax',
      '2,000,000,000 gwei',
    )
    expect(comparePolicies(LIQUIDATOR, other)).toEqual([])
    expect(changeOf([])).toBe('same')
  })

  it.each([
    ['limits/perHour/movedMax', '1,999,999.999999 USD', 'narrower'],
    ['limits/perHour/movedMax', '2,000,000.000001 USD', 'wider'],
    ['limits/perDay/revertsMax', '99', 'narrower'],
    ['limits/loss', undefined, 'wider'],
    ['limits/prices/sUSD', '0.99 USD', 'unknown'],
    ['freshness/expiryMargin', '4 s', 'narrower'],
    ['freshness/confirmationMax', '1 min', 'unknown'],
    ['fees/maxFeePerGas', '301 gwei', 'wider'],
    ['fees/baseFee', '150 %', 'unknown'],
    ['strategy/repayMax', '90,000 USD', 'narrower'],
    ['strategy/slippage', '0.5 %', 'unknown'],
    ['strategy/badDebt', 'avoid', 'unknown'],
    ['approval/always', ['role.liquidator.liquidate'], 'narrower'],
    ['approval/aboveUsd', '1 USD', 'narrower'],
    ['approval/aboveAssets', {}, 'wider'],
    ['approval/quorum', '2', 'narrower'],
    ['guard/sanity/minCollateral', '94.99 %', 'wider'],
    ['guard/sanity/priceAgeMax', '1 min', 'narrower'],
    ['guard/sanity/nativePrice', '2,000 USD', 'unknown'],
    ['guard/gasHeadroom', '125 %', 'unknown'],
    ['guard/views', [], 'unknown'],
    ['guard/allow/1/gasMax', '899,999 gas', 'narrower'],
    ['guard/allow/1/valueMax', '1 wei', 'wider'],
    ['guard/allow/1/target', '$contract.other', 'unknown'],
    ['guard/allow/1/params/vault/in', undefined, 'wider'],
    ['guard/allow/1/params/vault/eq', undefined, 'wider'],
    ['guard/allow/1/params/vault/eq', '$self', 'unknown'],
    ['guard/allow/1/params/recipient/in', '$deployment.vaults', 'narrower'],
    ['guard/allow/1/params/minCollateralOut/min', '2', 'narrower'],
    ['guard/allow/1/params/minCollateralOut/min', '0', 'wider'],
    ['guard/allow/1/params/minCollateralOut/min', '99 % of $args.repayAssets', 'unknown'],
    ['guard/allow/1/params/recipient', undefined, 'unknown'],
    ['guard/deny', [{ id: 'a', target: '$market' }], 'narrower'],
    ['guard/effects/1/in/0/assetsMin', '2', 'narrower'],
    ['guard/effects/1/in', [], 'wider'],
    ['guard/effects/0/out', [], 'unknown'],
  ])('where %s is %j: %s', (path, value, direction) => {
    expect(changeOf(comparePolicies(LIQUIDATOR, changed(LIQUIDATOR, path, value)))).toBe(direction)
  })

  it('say each difference as the files write it', () => {
    const is = changed(
      changed(LIQUIDATOR, 'limits/perHour/movedMax', '1,500,000 USD'),
      'limits/loss/perHour',
      undefined,
    )
    expect(comparePolicies(LIQUIDATOR, is)).toEqual([
      { path: 'limits.perHour.movedMax', direction: 'narrower', was: '2,000,000 USD', is: '1,500,000 USD' },
      { path: 'limits.loss.perHour', direction: 'wider', was: '500,000 USD', is: null },
    ])
  })

  it('are narrower without a type of workflow, and wider with one more', () => {
    const rules = (list: 'allow' | 'effects') =>
      (Reflect.get(LIQUIDATOR.guard, list) as readonly Said[]).filter(({ workflowType }) =>
        String(workflowType).endsWith('liquidate'),
      )
    const less = {
      ...LIQUIDATOR,
      guard: { ...LIQUIDATOR.guard, allow: rules('allow'), effects: rules('effects') },
    }
    const at = 'guard.allow[role.liquidator.settleLiquidationClaim]'
    expect(words(LIQUIDATOR, less)).toEqual([`narrower ${at}`])
    expect(words(less, LIQUIDATOR)).toEqual([`wider ${at}`])
  })

  it('are unknown where a type has other rules', () => {
    const [first, ...others] = Reflect.get(LIQUIDATOR.guard, 'allow') as readonly Said[]
    const less = { ...LIQUIDATOR, guard: { ...LIQUIDATOR.guard, allow: others } }
    expect(first?.id).toBe('approve-repayment')
    expect(words(LIQUIDATOR, less)).toEqual(['unknown guard.allow[role.liquidator.liquidate]'])
  })

  it('count a price that is raised as narrower only where no loss is counted by it', () => {
    expect(words(ALLOCATOR, changed(ALLOCATOR, 'limits/prices/sUSD', '0.99 USD'))).toEqual([
      'narrower limits.prices.sUSD',
    ])
    expect(words(ALLOCATOR, changed(ALLOCATOR, 'limits/prices/sUSD', undefined))).toContain(
      'narrower limits.prices.sUSD',
    )
  })

  it('take an age that also says when a market may be left for unknown', () => {
    expect(words(ALLOCATOR, changed(ALLOCATOR, 'guard/sanity/priceAgeMax', '1 min'))).toEqual([
      'unknown guard.sanity.priceAgeMax',
    ])
  })

  it('ask of a day what they ask of one workflow, where they say nothing of it', () => {
    const alone = changed(ALLOCATOR, 'approval/aboveUsdPerDay', undefined)
    expect(words(ALLOCATOR, alone)).toEqual(['narrower approval.aboveUsdPerDay'])
    expect(words(alone, changed(alone, 'approval/aboveUsd', '900,000,000 USD'))).toEqual([
      'wider approval.aboveUsd',
      'wider approval.aboveUsdPerDay',
    ])
  })

  it('let more people approve, or fewer, or anybody', () => {
    const named = (...names: readonly string[]) =>
      changed(
        ALLOCATOR,
        'approval/approvers',
        Object.fromEntries(names.map((name) => [name, { user: `${name}@h` }])),
      )
    expect(words(ALLOCATOR, named('anna'))).toEqual(['narrower approval.approvers.anna'])
    expect(words(named('anna'), named('anna', 'ben'))).toEqual(['wider approval.approvers.ben'])
    expect(words(named('anna', 'ben'), named('anna'))).toEqual(['narrower approval.approvers.ben'])
    expect(words(named('anna'), ALLOCATOR)).toEqual(['wider approval.approvers.anna'])
    expect(
      words(named('anna'), changed(ALLOCATOR, 'approval/approvers', { anna: { user: 'anna@other' } })),
    ).toEqual(['unknown approval.approvers.anna'])
  })

  it('turn no part of what may be below zero around', () => {
    const rule = (min: string) =>
      changed(LIQUIDATOR, 'guard/allow/1', {
        ...{ id: 'a', workflowType: 'role.liquidator.liquidate', function: 'function a(int256 b, int256 c)' },
        params: { b: { min } },
      })
    expect(words(rule('99 % of $args.c'), rule('99.5 % of $args.c'))).toEqual([
      'unknown guard.allow[a].params.b.min',
    ])
    expect(words(rule('-5'), rule('-4'))).toEqual(['narrower guard.allow[a].params.b.min'])
  })

  it('take a denial that is there twice for unknown', () => {
    const denying = (...denials: readonly Said[]) => changed(ALLOCATOR, 'guard/deny', denials)
    const [one, other] = [
      { id: 'a', target: '$vault' },
      { id: 'a', target: '$self' },
    ]
    expect(words(denying(one, other), denying(other))).toEqual(['unknown guard.deny[a]'])
    expect(words(denying(one), ALLOCATOR)).toEqual(['wider guard.deny[a]'])
  })
})
