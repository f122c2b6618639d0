import { describe, expect, it } from 'vitest'
import { limitsPolicy } from '../../../src/guard/policy/policy.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import { policyOf as textOf } from '../../support/policies.ts'
import { deployment, OTHER_MARKET, STRANGER, sections, VAULT } from '../fixtures.ts'

type Stated = Readonly<Record<string, string>>
const { limits: stated } = textOf('liquidator')
const named = {
  ...deployment,
  markets: deployment.markets.map((market, index) => ({ ...market, name: ['btc', 'eth'][index] })),
  vaults: [
    ...deployment.vaults.map((vault) => ({ ...vault, name: 'prime' })),
    ...['d1', 'd2'].map((byte) => ({
      address: `0x${byte.repeat(20)}` as const,
      codeHash: `0x${byte.repeat(32)}` as const,
      name: 'two',
    })),
  ],
}
const rulesetOf = (...allowances: readonly Stated[]) => {
  const limits = limitsPolicy.parse({ ...(stated as object), allowances })
  return compileRuleset({ ...sections, limits }, named)
}
const ofMarket = { of: 'market', most: '100,000 USD', refill: '10,000 USD', per: '1 h' }

describe('an allowance in a policy', () => {
  const refusal = (allowance: Stated) => {
    const parsed = limitsPolicy.safeParse({ ...(stated as object), allowances: [allowance] })
    if (!parsed.success)
      return parsed.error.issues.map(({ path, message: said }) => `${String(path.at(-1))}: ${said}`)[0]
    try {
      rulesetOf(allowance)
      return 'taken'
    } catch (error) {
      return (error as Error).message
    }
  }
  it.each<[string, Stated, RegExp]>([
    [
      'a refill without a most',
      { of: 'market', refill: '1 USD', per: '1 h' },
      /^most: .*most and refill together/,
    ],
    [
      'a most without a refill',
      { of: 'market', most: '1 USD', per: '1 h' },
      /^refill: .*most and refill together/,
    ],
    ['neither form', { of: 'market', per: '1 h' }, /^calls: .*either most and refill, or calls/],
    ['both forms', { ...ofMarket, calls: '3' }, /^calls: .*either most and refill, or calls/],
    ['less than a minute', { ...ofMarket, per: '59 s' }, /^per: /],
    ['more than a day', { ...ofMarket, per: '25 h' }, /^per: /],
    ['another kind', { ...ofMarket, of: 'token' }, /^of: /],
    ['nothing of nothing', { ...ofMarket, most: '0 USD' }, /^most: /],
    ['no calls', { of: 'market', calls: '0', per: '1 h' }, /^calls: allowed: 1 to 100000 calls$/],
    ['no name', { ...ofMarket, named: '' }, /^named: /],
    ['a key that it does not know', { ...ofMarket, until: '1 h' }, /./],
    [
      'what a day does not bring back',
      { ...ofMarket, most: '240,001 USD' },
      /^most: .*no more than what refill brings/,
    ],
    ['a time without a unit', { ...ofMarket, per: '1' }, /amount with its unit/],
    ['no market', { ...ofMarket, named: 'gold' }, /"gold" is no market of the deployment/],
    ['a market that is not pinned', { ...ofMarket, named: STRANGER }, /is no market of the deployment/],
    ['a vault as a market', { ...ofMarket, named: VAULT }, /is no market of the deployment/],
    ['a name that two have', { ...ofMarket, of: 'counterparty', named: 'two' }, /the name of 2 contracts/],
    [
      'no function of the rules',
      { ...ofMarket, of: 'function', named: 'mint' },
      /no function of guard.allow/,
    ],
    ['no counterparty', { ...ofMarket, of: 'counterparty', named: 'bob' }, /no counterparty/],
  ])('is refused with %s', (_name, allowance, message) => {
    expect(refusal(allowance)).toMatch(message)
  })

  it('is taken with a name of the deployment, an address, or a function of the rules', () => {
    const taken = [
      { ...ofMarket, most: '240,000 USD' },
      { ...ofMarket, named: 'btc' },
      { ...ofMarket, named: OTHER_MARKET.toUpperCase().replace('X', 'x') },
      { ...ofMarket, of: 'counterparty', named: STRANGER },
      { ...ofMarket, of: 'counterparty', named: 'btc' },
      { ...ofMarket, of: 'counterparty', named: 'prime' },
      { ...ofMarket, per: '1 min' },
      { ...ofMarket, most: '10,000 USD', per: '24 h' },
      { of: 'function', named: 'liquidate', calls: '5', per: '1 h' },
    ]
    expect(taken.map(refusal)).toEqual(taken.map(() => 'taken'))
    expect(taken.map((each) => rulesetOf(each).allowances.map(({ name }) => name))).toEqual([
      ...[
        [null],
        [deployment.markets[0]?.address],
        [OTHER_MARKET],
        [STRANGER],
        [deployment.markets[0]?.address],
      ],
      ...[[VAULT], [null], [null], ['liquidate']],
    ])
    expect(rulesetOf(...taken).hash).not.toBe(rulesetOf().hash)
  })
})
