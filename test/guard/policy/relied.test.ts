import { describe, expect, it } from 'vitest'
import { checkRelied } from '../../../src/guard/policy/relied.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import { deployment as pinned } from '../kinds.ts'
import { DEPLOY_RULE, type RuleText, rulesetOf } from '../rules.ts'

const twice = <T>(list: readonly T[]): readonly T[] => [...list, ...list].slice(0, 2)
const two: Deployment = {
  ...pinned,
  markets: twice(pinned.markets),
  vaults: twice(pinned.vaults),
  funds: twice(pinned.funds),
}
const only = (list: 'markets' | 'vaults' | 'funds'): Deployment => ({
  ...two,
  [list]: pinned[list].slice(0, 1),
})

/** Whether rules carry a member on which a judgement relies. */
function carries(
  rule: RuleText,
  member: string,
  { effect = {}, deployment = two }: { readonly effect?: object; readonly deployment?: Deployment } = {},
): boolean {
  const { rules, effects } = rulesetOf([rule], [{ workflowType: rule.workflowType, ...effect }], deployment)
  const [type] = rules.keys()
  if (type === undefined) throw new TypeError('a rule')
  try {
    checkRelied(rules, effects, new Map([[type, [member]]]), deployment)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'policy.guard_invalid', facts: { path: 'guard.allow' } })
    return false
  }
}
const ALLOCATE = 'role.allocator.vaultAllocate'
const POLICY = 'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet'
const rule = (changes: object = {}, workflowType = ALLOCATE) => ({
  workflowType,
  target: '$contract.rfqDesk',
  function: 'function f(uint256 a)',
  params: { a: { eq: '5' } },
  ...changes,
})

describe('what a judgement relies on', () => {
  it.each([
    ['marketAddress', 'markets', '$market', ALLOCATE],
    ['vaultAddress', 'vaults', '$vault', ALLOCATE],
    ['fundAddress', 'funds', '$fund', POLICY],
  ] as const)(
    'is carried where only one %s is pinned, or the call goes there',
    (member, list, target, type) => {
      expect(carries(rule({}, type), member)).toBe(false)
      expect(carries(rule({}, type), member, { deployment: only(list) })).toBe(true)
      for (const other of ['markets', 'vaults', 'funds'] as const)
        if (other !== list) expect(carries(rule({}, type), member, { deployment: only(other) })).toBe(false)
      expect(carries(rule({ target }, type), member)).toBe(true)
      expect(carries(rule({ target: `$input.${member}` }, type), member)).toBe(true)
    },
  )

  it('is carried by an argument that equals it, in every choice', () => {
    const params = (a: object) => rule({ params: { a } })
    expect(carries(rule(), 'assets')).toBe(false)
    expect(carries(params({ eq: '$input.assets' }), 'assets')).toBe(true)
    expect(carries(params({ max: '$input.assets' }), 'assets')).toBe(false)
    const any = [{ eq: '$input.assets' }, { eq: '5' }]
    expect(carries(params({ any }), 'assets')).toBe(false)
    expect(carries(params({ any: any.toReversed() }), 'assets')).toBe(false)
    expect(
      carries(params({ any: [{ eq: '$input.assets' }, { eq: '$input.assets', max: '5' }] }), 'assets'),
    ).toBe(true)
  })

  it('is carried by what leaves and comes in', () => {
    const token = '$asset.sUSD'
    const out = [{ token, assetsMax: '$input.assets' }]
    const into = [{ token, assetsMin: '$input.assets' }]
    expect(carries(rule(), 'assets', { effect: { out } })).toBe(true)
    expect(carries(rule(), 'assets', { effect: { in: into } })).toBe(true)
    expect(carries(rule(), 'assets', { effect: { in: [{ token, assetsMin: '5' }] } })).toBe(false)
  })

  it('is carried by a creation, which goes nowhere, in its arguments', () => {
    expect(carries(DEPLOY_RULE, 'name')).toBe(true)
    const { 'setup.name': _name, ...params } = DEPLOY_RULE.params
    expect(carries({ ...DEPLOY_RULE, params: { ...params, 'setup.name': { eq: 'V' } } }, 'name')).toBe(false)
  })
})
