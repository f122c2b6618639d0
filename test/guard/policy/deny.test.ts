import { describe, expect, it } from 'vitest'
import { holds, isMet } from '../../../src/guard/policy/conditions.ts'
import { BORROWER, LOAN, MARKET, OTHER_MARKET, STRANGER } from '../fixtures.ts'
import type { Kind } from '../kind.ts'
import { answerOf, DESK, deployment, kindOf } from '../kinds.ts'
import { DEPLOY_RULE, judge, reasonOf, rulesetOf } from '../rules.ts'

const BATCH = 'role.allocator.vaultReallocationBatch'
const REALLOCATE =
  'function reallocate((address market, uint256 assets)[] withdrawals, (address market, uint256 assets)[] supplies)'
const batch = {
  workflowType: BATCH,
  target: '$vault',
  function: REALLOCATE,
  params: {
    'withdrawals[].market': { eq: '$input.withdrawals[].marketAddress' },
    'withdrawals[].assets': { eq: '$input.withdrawals[].assets' },
    'supplies[].market': { eq: '$input.supplies[].marketAddress' },
    'supplies[].assets': { eq: '$input.supplies[].assets' },
  },
}
const place = 'role.lender.distressedRecoveryFundV3RfqPlaceBid'
const approve = 'function approve(address spender, uint256 amount) returns (bool)'
const bid = [
  {
    workflowType: place,
    target: '$asset.sUSD',
    function: approve,
    params: { spender: { eq: '$contract.rfqDesk' }, amount: { eq: '$input.bidAssets' } },
  },
  {
    workflowType: place,
    target: '$contract.rfqDesk',
    function: 'function placeBid(uint256 rfqId, uint256 assets, uint64 expiresAt)',
    params: {
      rfqId: { eq: '$input.rfqId' },
      assets: { eq: '$input.bidAssets' },
      expiresAt: { eq: '$input.expiresTimestamp' },
    },
  },
]

const cancelling = [
  {
    workflowType: 'role.lender.distressedRecoveryFundV3RfqCancelBid',
    target: '$contract.rfqDesk',
    function: 'function cancelBid(uint256 bidId)',
    params: { bidId: { eq: '$input.bidId' } },
  },
] as const

type Denial = Readonly<Record<string, unknown>>
const denying = (...deny: readonly Denial[]) => ({
  deny: deny.map((each, index) => ({ id: `never-${index}`, ...each })),
})
const moved = (...deny: readonly Denial[]) =>
  reasonOf(
    judge(kindOf('reallocate'), rulesetOf([batch], [{ workflowType: BATCH }], deployment, denying(...deny))),
  )
const bidding = (...deny: readonly Denial[]) => {
  const out = [{ token: '$asset.sUSD', assetsMax: '$input.bidAssets' }]
  return reasonOf(
    judge(kindOf('rfq-place'), rulesetOf(bid, [{ workflowType: place, out }], deployment, denying(...deny))),
  )
}
const created = (tests: Denial) => ({ target: 'deploy', function: DEPLOY_RULE.function, params: tests })
const params = (tests: Denial) => ({ function: REALLOCATE, params: tests })

describe('what is denied', () => {
  it.each<[string, Denial]>([
    ['a function', { function: REALLOCATE }],
    [
      'a function under other names',
      { function: 'function reallocate((address a, uint256 b)[] c, (address d, uint256 e)[] f)' },
    ],
    ['an element of a list', params({ 'supplies[].market': { eq: OTHER_MARKET } })],
    ['a choice', params({ 'supplies[].market': { any: [{ eq: STRANGER }, { in: [MARKET] }] } })],
    ['an amount', params({ 'supplies[].assets': { min: '200000' } })],
    ['a length', params({ 'supplies.length': { min: '2' } })],
    [
      'what the request says',
      { workflowType: BATCH, ...params({ 'supplies[].market': { eq: '$input.supplies[].marketAddress' } }) },
    ],
    ['what it compares with', params({ 'supplies[].assets': { max: '100 % of $args.supplies[].assets' } })],
    ['a contract', { target: '$vault', workflowType: BATCH }],
  ])('wins over a rule: %s', (_name, deny) => {
    expect(moved()).toBe('accepted')
    expect(moved({ function: 'function deallocate(address market, uint256 assets)' }, deny)).toBe('denied')
  })

  it.each<[string, Denial]>([
    ['another function', { function: 'function allocate(address market, uint256 assets)' }],
    ['another contract', { target: '$contract.rfqDesk' }],
    ['the function of another contract', { target: '$contract.rfqDesk', function: REALLOCATE }],
    ['another element', params({ 'supplies[].market': { eq: STRANGER } })],
    ['a higher amount', params({ 'supplies[].assets': { min: '200001' } })],
    [
      'one of two conditions',
      params({ 'supplies[].market': { eq: OTHER_MARKET }, 'supplies[].assets': { min: '200001' } }),
    ],
    ['an amount between', params({ 'supplies[].assets': { min: '100001', max: '199999' } })],
    ['another type', { workflowType: 'role.allocator.vaultAllocate', function: REALLOCATE }],
  ])('leaves the rest alone: %s', (_name, deny) => {
    expect(moved(deny)).toBe('accepted')
  })

  it('holds approvals too, of every type', () => {
    expect(bidding({ function: approve, params: { spender: { eq: STRANGER } } })).toBe('accepted')
    expect(bidding({ function: approve, params: { spender: { eq: DESK } } })).toBe('denied')
    expect(bidding({ target: LOAN })).toBe('denied')
  })

  it('needs all of its conditions', () => {
    const kind = kindOf('pause')
    const { workflowType } = kind.proposal
    const rule = {
      workflowType,
      target: '$vault',
      function: 'function pauseShareMobility(uint64 until, string reason, string freezeReason)',
      params: {
        until: { eq: '$input.restoreAfterTimestamp' },
        reason: { eq: '$input.reason' },
        freezeReason: { eq: '' },
      },
      when: { action: 'pause' },
    }
    const deny = { function: rule.function, params: { until: { min: '$args.until' }, reason: { eq: 'x' } } }
    const denied = (each: Denial, of: Kind) =>
      reasonOf(
        judge(of, rulesetOf([rule], [{ workflowType }], deployment, denying(each)), answerOf(of, of.drafts)),
      )
    expect(denied(deny, kind)).toBe('accepted')
    expect(denied({ ...deny, params: { reason: { eq: 'an audit' } } }, kind)).toBe('denied')
  })

  it.each<[string, Denial, string]>([
    ['any', { target: 'deploy' }, 'denied'],
    ['one of this type', { target: 'deploy', workflowType: DEPLOY_RULE.workflowType }, 'denied'],
    ['one by this constructor', created({}), 'denied'],
    ['one with this argument', created({ 'setup.liquidityBufferBps': { max: '500' } }), 'denied'],
    [
      'what the request says',
      { ...created({ 'setup.name': { eq: '$input.name' } }), workflowType: DEPLOY_RULE.workflowType },
      'denied',
    ],
    [
      'one whose arguments it cannot read',
      { target: 'deploy', function: 'constructor(uint256 cap)', params: { cap: { max: '1' } } },
      'denied',
    ],
    [
      'one whose lists it cannot read',
      {
        target: 'deploy',
        function: 'constructor(uint256[] caps)',
        params: { 'caps[]': { max: '1' } },
      },
      'denied',
    ],
    ['one with another argument', created({ 'setup.owner': { eq: STRANGER } }), 'accepted'],
    ['one of another type', { target: 'deploy', workflowType: BATCH }, 'accepted'],
    ['a call of its asset', { target: LOAN }, 'accepted'],
    ['a function', { function: REALLOCATE }, 'accepted'],
  ])('holds creations of contracts too: %s', (_name, deny, verdict) => {
    const ruleset = rulesetOf(
      [DEPLOY_RULE],
      [{ workflowType: DEPLOY_RULE.workflowType }],
      deployment,
      denying(deny),
    )
    expect(reasonOf(judge(kindOf('deploy'), ruleset))).toBe(verdict)
    expect(moved({ target: 'deploy' })).toBe('accepted')
  })

  it('is denied where what it is compared with is not there', () => {
    const request = judge(
      kindOf('rfq-cancel'),
      rulesetOf(cancelling, [{ workflowType: cancelling[0].workflowType }]),
    )
    if (!request.ok) throw new TypeError(request.message)
    const reference = { text: '$input.limit', each: null, resolve: () => undefined }
    expect(isMet({ op: 'eq', reference }, 9n, request.subject, [])).toBe(true)
    expect(holds({ op: 'eq', reference }, 9n, request.subject, [])).toBe(false)
  })

  it.each<[string, Denial, string | undefined]>([
    ['nothing', { workflowType: BATCH }, undefined],
    ['parameters of no function', { target: LOAN, params: { amount: { min: '5' } } }, 'params'],
    ['a parameter that is not there', params({ market: { eq: BORROWER } }), 'params.market'],
    [
      'a member of no known input',
      params({ 'supplies[].assets': { min: '$input.assets' } }),
      'params.supplies[].assets.min',
    ],
    ['a contract that is not known', { target: '$contract.nobody' }, 'target'],
    ['no function', { function: 'event Moved()' }, 'function'],
    ['a constructor without a creation', { function: DEPLOY_RULE.function }, 'function'],
    ['a creation by a function', { target: 'deploy', function: REALLOCATE }, 'function'],
  ])('must be said in full, not of %s', (_name, deny, path) => {
    const facts = path === undefined ? {} : { facts: { path: `guard.deny[0].${path}` } }
    expect(() => moved(deny)).toThrow(expect.objectContaining(facts))
  })

  it('says how a creation is denied', () => {
    expect(() => moved({ function: DEPLOY_RULE.function })).toThrow('add target: deploy')
  })

  it('has an id of its own', () => {
    const twice = { id: 'twice', function: REALLOCATE }
    expect(() => moved(twice, twice)).toThrow('guard.deny[1].id: "twice" is used twice.')
  })
})
