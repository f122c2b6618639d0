import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CODE_HASH, HASHED } from '../../src/guard/code-hash.ts'
import type { GuardPolicy } from '../../src/guard/policy/policy.ts'
import { amongOurs, compileRuleset } from '../../src/guard/ruleset.ts'
import { readTree } from '../architecture/tree.ts'
import { deployment, ruleset, SELF, STRANGER, sections } from './fixtures.ts'

type SourceRule = GuardPolicy['allow'][number]

const withGuard = (changes: Partial<GuardPolicy>) =>
  compileRuleset({ ...sections, guard: { ...sections.guard, ...changes } }, deployment)
const withRule = (index: number, change: (rule: SourceRule) => Partial<SourceRule>) =>
  withGuard({
    allow: sections.guard.allow.map((rule, at) => (at === index ? { ...rule, ...change(rule) } : rule)),
  })
const withParam = (index: number, name: string, tests: SourceRule['params'][string]) =>
  withRule(index, (rule) => ({ params: { ...rule.params, [name]: tests } }))
const APPROVE = 0
const LIQUIDATE = 1
const SETTLE = 2

describe('a ruleset', () => {
  it('has the same hash for the same rules, in whatever order a mapping was written', () => {
    const reversed = Object.fromEntries(Object.entries(sections.limits).toReversed())
    const again = compileRuleset({ ...sections, limits: { ...sections.limits, ...reversed } }, deployment)
    expect(again.hash).toBe(ruleset.hash)
    expect(ruleset.hash).toMatch(/^[0-9a-f]{64}$/)
  })

  it('has another hash when what the role judges by changes, a rule, a denial, a fact or a name of the service', () => {
    const { sanity } = sections.guard
    const others = [
      withGuard({ sanity: { ...(sanity as object), minCollateralBps: 9_501n } }),
      withGuard({ deny: [{ id: 'never', target: STRANGER }] }),
      withGuard({ facts: { closeFactorBps: '5000' } }),
      withGuard({ gasHeadroomBps: 20_000n }),
      compileRuleset(sections, deployment, { underWater: 'position_liquidatable' }),
      compileRuleset({ ...sections, freshness: { ...sections.freshness, blockLagMax: 1n } }, deployment),
    ]
    expect(new Set([ruleset, ...others].map(({ hash }) => hash)).size).toBe(others.length + 1)
    expect(CODE_HASH).toMatch(/^[0-9a-f]{64}$/)
  })

  it('has another hash when a limit or a pin changes', () => {
    const perHour = { ...sections.limits.perHour, revertsMax: 1 }
    const limited = compileRuleset({ ...sections, limits: { ...sections.limits, perHour } }, deployment)
    const moved = compileRuleset(sections, {
      ...deployment,
      contracts: deployment.vaults.map((pin) => ({ ...pin, name: 'prime' })),
    })
    expect(new Set([ruleset.hash, limited.hash, moved.hash]).size).toBe(3)
  })

  it.each([
    [
      'a condition for every parameter',
      () => withRule(LIQUIDATE, () => ({ params: {} })),
      'guard.allow[1].params.vault',
    ],
    [
      'a parameter that the function has',
      () => withParam(LIQUIDATE, 'victim', { eq: '$self' }),
      'guard.allow[1].params.victim',
    ],
    [
      'a member of the input that exists',
      () => withParam(LIQUIDATE, 'borrower', { eq: '$input.borrower' }),
      'guard.allow[1].params.borrower.eq',
    ],
    [
      'a member of the right kind',
      () => withParam(LIQUIDATE, 'borrower', { eq: '$input.repayAssets' }),
      'guard.allow[1].params.borrower.eq',
    ],
    [
      'a reference that exists',
      () => withParam(LIQUIDATE, 'recipient', { eq: '$treasury' }),
      'guard.allow[1].params.recipient.eq',
    ],
    [
      'an amount that is digits',
      () => withParam(LIQUIDATE, 'repayAssets', { max: '1e9' }),
      'guard.allow[1].params.repayAssets.max',
    ],
    [
      'a list that exists',
      () => withParam(LIQUIDATE, 'vault', { in: '$deployment.friends' }),
      'guard.allow[1].params.vault.in',
    ],
    [
      'no order of addresses',
      () => withParam(LIQUIDATE, 'vault', { max: '$self' }),
      'guard.allow[1].params.vault.max',
    ],
    [
      'a bounded approval',
      () => withParam(APPROVE, 'amount', { min: '$input.repayAssets' }),
      'guard.allow[0].params.amount',
    ],
    [
      'an approval for what the request names',
      () => withParam(APPROVE, 'amount', { eq: '1000' }),
      'guard.allow[0].params.amount',
    ],
    [
      'a use for an approval',
      () => withGuard({ allow: sections.guard.allow.slice(0, 1), effects: [] }),
      'guard.allow',
    ],
    [
      'a function',
      () => withRule(LIQUIDATE, () => ({ function: 'liquidate it' })),
      'guard.allow[1].function',
    ],
    [
      'a function, not an event',
      () => withRule(LIQUIDATE, () => ({ function: 'event Liquidated(address a)' })),
      'guard.allow[1].function',
    ],
    [
      'no transfer',
      () => withRule(LIQUIDATE, () => ({ function: 'function transfer(address to, uint256 value)' })),
      'guard.allow[1].function',
    ],
    [
      'no permit',
      () =>
        withRule(LIQUIDATE, () => ({
          function:
            'function permit(address a, address b, uint256 c, uint256 d, uint8 e, bytes32 f, bytes32 g)',
        })),
      'guard.allow[1].function',
    ],
    [
      'no multicall',
      () => withRule(LIQUIDATE, () => ({ function: 'function multicall(bytes[] calls)' })),
      'guard.allow[1].function',
    ],
    [
      'bytes that are known',
      () =>
        withRule(LIQUIDATE, () => ({
          function: 'function liquidate(bytes data)',
          params: { data: { eq: '$self' } },
        })),
      'guard.allow[1].params.data.eq',
    ],
    ['an id of its own', () => withRule(LIQUIDATE, () => ({ id: 'approve-repayment' })), 'guard.allow[1].id'],
    [
      'effects for every type',
      () => withGuard({ effects: sections.guard.effects.slice(1) }),
      'guard.effects',
    ],
    [
      'effects once',
      () => withGuard({ effects: [...sections.guard.effects, ...sections.guard.effects] }),
      'guard.effects[3]',
    ],
    ['views that only read', () => withGuard({ views: ['function pause()'] }), 'guard.views[0]'],
    [
      'each view once, whatever its results are called',
      () =>
        withGuard({
          views: [...sections.guard.views, 'function balanceOf(address who) view returns (uint256 assets)'],
        }),
      `guard.views[${sections.guard.views.length}]`,
    ],
    ['every view that we judge by', () => withGuard({ views: sections.guard.views.slice(1) }), 'guard.views'],
    [
      'views with our types',
      () => withGuard({ views: sections.guard.views.map((text) => text.replace('(uint16)', '(int16)')) }),
      'guard.views',
    ],
  ])('demands %s', (_name, compile, path) => {
    expect(compile).toThrow(expect.objectContaining({ code: 'policy.guard_invalid', facts: { path } }))
    expect(compile).toThrow(/ Fix: /)
  })

  it('demands that markets and vaults lend, and markets take, pinned assets', () => {
    const markets = deployment.markets.map((market) => ({ ...market, loanAsset: STRANGER }))
    expect(() => compileRuleset(sections, { ...deployment, markets })).toThrow(
      /deployment\.markets\[0\]\.loanAsset/,
    )
    const vaults = deployment.vaults.map((vault) => ({ ...vault, asset: STRANGER }))
    expect(() => compileRuleset(sections, { ...deployment, vaults })).toThrow(
      /deployment\.vaults\[0\]\.asset/,
    )
  })

  it('takes rules of any type that consists of calls, and no other', () => {
    const typed = (workflowType: SourceRule['workflowType']) =>
      withRule(SETTLE, () => ({ workflowType, target: '$market' }))
    expect(() => typed('role.curator.vaultMarketListingSave')).toThrow(
      expect.objectContaining({ facts: { path: 'guard.allow[2].workflowType' } }),
    )
    const effects = sections.guard.effects.map((item) => ({
      ...item,
      workflowType: item.workflowType.replace('role.liquidator.settle', 'settle') as typeof item.workflowType,
    }))
    const allow = sections.guard.allow.map((rule) =>
      rule.id === 'settle-claim' ? { ...rule, workflowType: 'settleLiquidationClaim' as const } : rule,
    )
    expect([...withGuard({ allow, effects }).rules.keys()]).toContain('settleLiquidationClaim')
  })
})

it('has calls of our own only where the role has a judgement of them', () => {
  const own = sections.guard.allow.filter(({ workflowType }) => workflowType === 'own.liquidator.sell')
  const guard = { ...sections.guard, allow: [...own], effects: [], sanity: {} }
  expect(() => compileRuleset({ ...sections, role: 'nav-reporter', guard }, deployment)).toThrow(
    'guard.allow[0].workflowType: own.liquidator.sell is composed here and not prepared, and the nav-reporter has no judgement of it. Fix: leave the rule to the policy of the liquidator.',
  )
})

it('has types of another role only where it judges them itself', () => {
  const { allow, effects } = sections.guard
  const of = (workflowType: SourceRule['workflowType']) => ({
    allow: allow.map((rule) =>
      rule.id === 'settle-claim' ? { ...rule, workflowType, target: '$market', params: {} } : rule,
    ),
    effects: effects.map((item) => (item.workflowType.includes('settle') ? { ...item, workflowType } : item)),
  })
  // An allocation, whose price and caps the allocator reads from the chain.
  expect(() => withGuard(of('role.allocator.vaultAllocate'))).toThrow(
    'role.allocator.vaultAllocate is of the allocator, and the liquidator has no judgement of it. Fix: leave the rule to the policy of the allocator.',
  )
})

it('is of all the code that verdicts rest on', () => {
  const hashed = new Set(HASHED.map((file) => relative(process.cwd(), file)))
  const { files } = readTree()
  const used = files
    .filter(({ path }) => hashed.has(path))
    .flatMap(({ edges }) => edges.filter(({ typeOnly }) => !typeOnly).map(({ to }) => to))
    .filter((to) => to.startsWith('src/'))
  expect(used.length).toBeGreaterThan(100)
  expect(used.filter((to) => !hashed.has(to))).toEqual([])
  expect(hashed).toContain('package.json')
})

it('is another among other signers, in whatever order they are named', () => {
  const [one, two, three] = [[SELF], [SELF, STRANGER], [STRANGER, SELF]].map((ours) =>
    amongOurs(ruleset, { ours, sharing: [SELF] }),
  )
  const alone = amongOurs(ruleset, { ours: [SELF], sharing: [] })
  expect(one?.ours).toEqual([SELF])
  expect(new Set([ruleset, alone, one, two].map((each) => each?.hash)).size).toBe(4)
  expect(three).toEqual(two)
})
