import { describe, expect, it } from 'vitest'
import { type Members, membersOf } from '../../../../src/guard/policy/compare/difference.ts'
import { changeOf, comparePolicies } from '../../../../src/guard/policy/compare/policies.ts'
import { policyOf } from '../../../support/policies.ts'

const LIQUIDATOR = policyOf('liquidator')
const ALLOCATOR = policyOf('allocator')

/** A policy with another value at a path; undefined takes away what is there. */
function changed(said: Members, path: string, value: unknown): Members {
  const draft = structuredClone(said)
  const steps = path.split('/')
  const last = steps.pop() ?? ''
  let holder: object = draft
  for (const step of steps) holder = Object(Reflect.get(holder, step))
  if (value === undefined) Reflect.deleteProperty(holder, last)
  else Reflect.set(holder, last, value)
  return draft
}

/** A policy that says nothing but this. */
const saying = (path: string, value: string, role = 'liquidator'): Members => ({
  role,
  ...membersOf(path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)),
})

const words = (was: Members, is: Members) =>
  comparePolicies(was, is).map(({ path, direction }) => `${direction} ${path}`)

it('what is no mapping has no members', () => {
  expect(['ab', ['a'], null, 5].map(membersOf)).toEqual([{}, {}, {}, {}])
})

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
      (Reflect.get(LIQUIDATOR.guard, list) as readonly Members[]).filter(
        ({ workflowType }) => !String(workflowType).endsWith('settleLiquidationClaim'),
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
    const [first, ...others] = Reflect.get(LIQUIDATOR.guard, 'allow') as readonly Members[]
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
        id: 'a',
        workflowType: 'role.liquidator.liquidate',
        function: 'function a(int256 b, int256 c)',
        params: { b: { min } },
      })
    expect(words(rule('99 % of $args.c'), rule('99.5 % of $args.c'))).toEqual([
      'unknown guard.allow[a].params.b.min',
    ])
    expect(words(rule('-5'), rule('-4'))).toEqual(['narrower guard.allow[a].params.b.min'])
  })

  it('take a denial that is there twice for unknown', () => {
    const denying = (...denials: readonly Members[]) => changed(ALLOCATOR, 'guard/deny', denials)
    const [one, other] = [
      { id: 'a', target: '$vault' },
      { id: 'a', target: '$self' },
    ]
    expect(words(denying(one, other), denying(other))).toEqual(['unknown guard.deny[a]'])
    expect(words(denying(one), ALLOCATOR)).toEqual(['wider guard.deny[a]'])
  })

  it.each([
    ...['perWorkflow', 'perHour', 'perDay'].flatMap((of) => [`limits.${of}.movedMax`, `limits.${of}.gasMax`]),
    ...['limits.perHour.revertsMax', 'limits.perDay.revertsMax', 'limits.loss.perHour', 'limits.loss.perDay'],
    ...['freshness.ageMax', 'freshness.blockLagMax', 'freshness.headAgeMax', 'freshness.lifetimeMax'],
    ...['fees.maxFeePerGas', 'fees.priorityFeePerGasMax', 'fees.gainShare', 'guard.sanity.priceAgeMax'],
    ...[
      ...['priceDivergenceMax', 'shareMax', 'utilizationMax', 'valuationAgeMax', 'raiseMax', 'positionMax'],
      ...['borrowerMax', 'marketMax', 'pauseMax', 'bidMax', 'bindsAfterCloseMax', 'inventoryMax.sBTC'],
      ...['lanes.liquid.priceMax', 'lanes.liquid.concentrationMax', 'oracles.nav.valueMax'],
      ...['oracles.nav.moveMax', 'oracles.nav.chain.apartMax', 'book.leadMax', 'escrowMax.desk'],
      ...['assets.sBTC.escrowMax.desk', 'assets.sBTC.inventoryMax', 'exitDiscountMax'],
    ].map((name) => `guard.sanity.${name}`),
    ...[
      ...['repayMax', 'repayPerHourMax', 'priceAgeMax', 'priceDivergenceMax', 'badDebt.unpaidMax', 'bidMax'],
      ...['openBidsMax', 'collaterals.sBTC.inventoryMax', 'assets.sBTC.inventoryMax'],
      ...['assets.sBTC.openBidsMax', 'bidding.positionMax', 'bidding.borrowerMax', 'bidding.marketMax'],
      ...['bidding.priceAgeMax', 'bidding.priceDivergenceMax', 'bidding.lanes.liquid.concentrationMax'],
      ...[
        'secondPrice.sBTC.divergenceMax',
        'secondPrice.sBTC.ageMax',
        'rfq.raisesMax',
        'unverifiedMarketsMax',
      ],
    ].map((name) => `strategy.${name}`),
  ])('let less through where less is said of %s', (path) => {
    expect(words(saying(path, '9 USD'), saying(path, '8 USD'))).toEqual([`narrower ${path}`])
    expect(words(saying(path, '8 USD'), saying(path, '9 USD'))).toEqual([`wider ${path}`])
  })

  it.each([
    ...['freshness.expiryMargin', 'guard.sanity.minCollateral', 'guard.sanity.profitMin'],
    ...['guard.sanity.closeMargin', 'guard.sanity.oracles.nav.valueMin', 'strategy.profitMin'],
    ...['strategy.gainMin', 'strategy.yields.gainMin', 'strategy.bidding.idleMin', 'limits.prices.sUSD'],
  ])('let less through where more is said of %s', (path) => {
    expect(words(saying(path, '8 USD'), saying(path, '9 USD'))).toEqual([`narrower ${path}`])
    expect(words(saying(path, '9 USD'), saying(path, '8 USD'))).toEqual([`wider ${path}`])
  })

  it('are unknown in a setting that only looks like one of those, but for a budget of losses', () => {
    const gone = (path: string) =>
      words(saying(path, '9 USD'), changed(saying(path, '9 USD'), path.replaceAll('.', '/'), undefined))
    const come = (path: string) =>
      words(changed(saying(path, '9 USD'), path.replaceAll('.', '/'), undefined), saying(path, '9 USD'))
    expect(come('limits.loss.perHour')).toContain('narrower limits.loss.perHour')
    expect(come('limits.prices.sUSD')).toContain('wider limits.prices.sUSD')
    expect(gone('limits.prices.sUSD')).toContain('narrower limits.prices.sUSD')
    expect(gone('limits.loss.perHour')).toContain('wider limits.loss.perHour')
    expect(gone('limits.loss.perDay')).toContain('wider limits.loss.perDay')
    expect(gone('strategy.profitMin')).toContain('unknown strategy.profitMin')
    for (const path of ['strategy.rfq.profitMin', 'profitMin', 'guard.sanity.lanes.liquid.other'])
      expect(words(saying(path, '9 USD'), saying(path, '8 USD')), path).toEqual([`unknown ${path}`])
    for (const role of ['asset-manager', 'rfq-bidder']) {
      const [was, is] = ['2 min', '1 min'].map((age) => saying('guard.sanity.priceAgeMax', age, role))
      expect(words(was ?? {}, is ?? {})).toEqual(['narrower guard.sanity.priceAgeMax'])
    }
  })

  it('are unknown in amounts of another kind, and in what is no amount', () => {
    const path = 'strategy.repayMax'
    const from = (was: string, is: string) => words(saying(path, was), saying(path, is))
    for (const [was, is] of [
      ['9 USD', '8 ETH'],
      ['9 USD', '8'],
      ['9 USD', '8 %'],
      ['9 sBTC', '8 sETH'],
      ['9 blocks', '8 gas'],
      ['nine', '8'],
      ['9 USD', '8 USD or so'],
      // Finer than there is.
      ['0.00000001 USD', '0.00000002 USD'],
    ] as const)
      expect(from(was, is), `${was} ${is}`).toEqual([`unknown ${path}`])
    for (const [was, is] of [
      ['9 sBTC', '8.999 sBTC'],
      ['-8', '-9'],
      ['1 min', '59 s'],
      ['1 ETH', '999,999,999 gwei'],
      ['10 blocks', '9 blocks'],
      ['1,000 gas', '999 gas'],
      ['1 %', '0.99 %'],
    ] as const)
      expect(from(was, is), `${was} ${is}`).toEqual([`narrower ${path}`])
    expect(from('60 s', '1 min')).toEqual([])
  })

  it('ask of what adds up as of one: each limit narrower where it is lower, or new', () => {
    const asking = (section: Members) => ({ role: 'allocator', approval: section })
    const between = (was: Members, is: Members) => words(asking(was), asking(is))
    const [none, two, three]: Members[] = [{}, { beyond: '2 %' }, { beyond: '3 %' }]
    if (none === undefined || two === undefined || three === undefined) throw new TypeError('three')
    expect(between(two, three)).toEqual(['wider approval.beyond'])
    expect(between(none, three)).toEqual(['narrower approval.beyond'])
    expect(between(three, none)).toEqual(['wider approval.beyond'])
    expect(between({ expiresAfter: '1 h' }, { expiresAfter: '59 min' })).toEqual([
      'narrower approval.expiresAfter',
    ])
    expect(between({ quorum: '2' }, {})).toEqual(['wider approval.quorum'])
    expect(between({ aboveUsdPerDay: '1 USD' }, { aboveUsdPerDay: '2 USD' })).toEqual([
      'wider approval.aboveUsdPerDay',
    ])
    const assets = (alone: string, day?: string) => ({
      aboveAssets: { sBTC: alone },
      ...(day === undefined ? {} : { aboveAssetsPerDay: { sBTC: day } }),
    })
    expect(between(assets('2 sBTC'), assets('1 sBTC'))).toEqual([
      'narrower approval.aboveAssets.sBTC',
      'narrower approval.aboveAssetsPerDay.sBTC',
    ])
    expect(between(assets('2 sBTC', '5 sBTC'), assets('2 sBTC', '6 sBTC'))).toEqual([
      'wider approval.aboveAssetsPerDay.sBTC',
    ])
    expect(between({ always: ['a', 'b'] }, { always: ['b', 'c'] })).toEqual(['unknown approval.always'])
    expect(between({ always: ['a', 'b'] }, { always: ['b'] })).toEqual(['wider approval.always'])
    expect(between({ always: ['a', 'b'] }, { always: ['b', 'a'] })).toEqual([])
  })

  it('are as narrow as their rules: conditions, what comes in, and the order of calls', () => {
    const ruled = (rules: readonly Members[], effects: Members = {}) => ({
      role: 'liquidator',
      guard: {
        allow: rules.map((rule) => ({ workflowType: 'a', function: 'function f(uint256 b)', ...rule })),
        effects: [{ workflowType: 'a', out: [], in: [], ...effects }],
      },
    })
    const rule = (b: Members, more: Members = {}) => ruled([{ id: 'r', params: { b }, ...more }])
    const at = 'guard.allow[r]'
    const cases: readonly (readonly [Members, Members, string | null])[] = [
      [rule({ max: '9' }), rule({ max: '8' }), `narrower ${at}.params.b.max`],
      [rule({ min: '9' }), rule({ min: '8' }), `wider ${at}.params.b.min`],
      [rule({ max: '2 % of $args.c' }), rule({ max: '1 % of $args.c' }), `narrower ${at}.params.b.max`],
      [rule({ max: '$args.c' }), rule({ max: '99 % of $args.c' }), `narrower ${at}.params.b.max`],
      [rule({ max: '$args.c' }), rule({ max: '$args.d' }), `unknown ${at}.params.b.max`],
      [rule({ max: '2 % of $args.c' }), rule({ max: '1 % of $args.d' }), `unknown ${at}.params.b.max`],
      [rule({ in: ['1', '2'] }), rule({ in: ['1'] }), `narrower ${at}.params.b.in`],
      [rule({ in: ['1'] }), rule({ in: ['2'] }), `unknown ${at}.params.b.in`],
      [rule({ in: ['1'] }), rule({ in: '$deployment.assets' }), `unknown ${at}.params.b.in`],
      [
        rule({ any: [{ eq: '1' }, { eq: '2' }] }),
        rule({ any: [{ eq: '2' }] }),
        `narrower ${at}.params.b.any`,
      ],
      [rule({ eq: '1' }), rule({ eq: '1', map: { a: '1' } }), `unknown ${at}.params.b.eq`],
      [rule({ eq: '1' }), rule({ eq: '1', max: '1' }), `narrower ${at}.params.b.max`],
      [
        rule({ eq: '1' }, { gasMax: '2 gas' }),
        rule({ eq: '1' }, { gasMax: '1 gas' }),
        `narrower ${at}.gasMax`,
      ],
      [rule({ eq: '1' }, { gasMax: '2 gas' }), rule({ eq: '1' }), `unknown ${at}.gasMax`],
      [
        rule({ eq: '1' }, { valueMax: '2 wei' }),
        rule({ eq: '1' }, { valueMax: '3 wei' }),
        `wider ${at}.valueMax`,
      ],
      [ruled([{ id: 'r' }, { id: 's' }]), ruled([{ id: 's' }, { id: 'r' }]), 'unknown guard.allow[a]'],
      [ruled([{ id: 'r' }], { moves: [1] }), ruled([{ id: 'r' }]), 'unknown guard.effects[a].moves'],
      [
        ruled([{ id: 'r' }], { in: [{ token: 't', assetsMin: '1' }] }),
        ruled([{ id: 'r' }], {
          in: [
            { token: 't', assetsMin: '1' },
            { token: 'u', assetsMin: '1' },
          ],
        }),
        'narrower guard.effects[a].in.u',
      ],
      [
        ruled([{ id: 'r' }], {
          in: [
            { token: 't', assetsMin: '1' },
            { token: 't', assetsMin: '2' },
          ],
        }),
        ruled([{ id: 'r' }], { in: [{ token: 't', assetsMin: '3' }] }),
        'unknown guard.effects[a].in.t',
      ],
      [rule({ eq: '1' }), rule({ eq: '1' }), null],
    ]
    for (const [was, is, difference] of cases)
      expect(words(was, is)).toEqual(difference === null ? [] : [difference])
  })
})

describe('allowances', () => {
  const any = { of: 'market', most: '100,000 USD', refill: '10,000 USD', per: '1 h' }
  const one = { ...any, named: 'btc', most: '50,000 USD' }
  const calls = { of: 'function', named: 'liquidate', calls: '5', per: '1 h' }
  const day = { ...calls, calls: '20', per: '1 d' }
  it.each<[string, readonly Members[], readonly Members[], string]>([
    ['one more', [any], [any, one], 'narrower'],
    ['the first', [], [any], 'narrower'],
    ['one less', [any, one], [one], 'wider'],
    ['the last', [any], [], 'wider'],
    ['another order', [any, one, calls], [calls, { ...any, named: 'any' }, one], 'same'],
    ['less at once', [any], [{ ...any, most: '90,000 USD' }], 'narrower'],
    ['more at once', [any], [{ ...any, most: '100,001 USD' }], 'wider'],
    ['more of it back', [any], [{ ...any, refill: '11,000 USD' }], 'wider'],
    ['the same in a longer time', [any], [{ ...any, per: '61 min' }], 'narrower'],
    ['the same in a shorter time', [any], [{ ...any, per: '59 min' }], 'wider'],
    ['less back in a shorter time', [any], [{ ...any, refill: '5,000 USD', per: '30 min' }], 'wider'],
    ['fewer calls', [calls], [{ ...calls, calls: '4' }], 'narrower'],
    ['as many calls in a shorter time', [calls], [{ ...calls, per: '59 min' }], 'wider'],
    ['another name', [one], [{ ...one, named: 'eth' }], 'wider'],
    ['calls for an amount', [{ ...any, of: 'function', named: 'liquidate' }], [calls], 'wider'],
    ['a second window', [calls], [calls, day], 'narrower'],
    ['one window less', [calls, day], [day], 'wider'],
    ['one of two windows', [calls, day], [calls, { ...day, calls: '19' }], 'unknown'],
  ])('compare one by one: %s', (_name, was, is, change) => {
    const limited = (allowances: readonly Members[]) => changed(LIQUIDATOR, 'limits/allowances', allowances)
    expect(changeOf(comparePolicies(limited(was), limited(is)))).toBe(change)
  })

  it('say what changed of which', () => {
    const limited = (each: Members) => changed(LIQUIDATOR, 'limits/allowances', [each])
    expect(comparePolicies(limited(any), limited({ ...any, most: '90,000 USD' }))).toEqual([
      {
        path: 'limits.allowances[market any].most',
        direction: 'narrower',
        was: '100,000 USD',
        is: '90,000 USD',
      },
    ])
    const none = changed(LIQUIDATOR, 'limits/allowances', undefined)
    expect(comparePolicies(none, limited(any))).toMatchObject([
      { path: 'limits.allowances[market any]', was: null },
    ])
  })
})
