import { describe, expect, it } from 'vitest'
import { fitsRules } from '../../../src/guard/checks/fits-rules.ts'
import { BORROWER, LOAN, MARKET, NOW_MS, OTHER_MARKET, SELF, STRANGER, VAULT } from '../fixtures.ts'
import { DESK, deployment, kindOf } from '../kinds.ts'
import { CHANNEL, OTHER_SIGNER } from '../kinds-by-hand.ts'
import { type RuleText, rulesetOf } from '../rules.ts'
import { CASES } from '../shipped.ts'

function caseOf(name: string) {
  const [, kind, ruleset] = CASES.find(([, each]) => each.name === name) ?? []
  if (kind === undefined || ruleset === undefined) throw new TypeError(`no shipped kind is called ${name}`)
  return { proposal: kind.proposal, ruleset }
}

/** What the policy of this repository lets a member of a kind's input be. */
function shipped(name: string, input: object = {}, signer = SELF) {
  const { proposal, ruleset } = caseOf(name)
  return fitsRules(proposal.workflowType, { ...proposal.input, ...input }, signer, ruleset)
}

describe('a member of an input fits the shipped rules', () => {
  it('where a call goes to it, if it is a pinned contract', () => {
    const fits = shipped('investor-deposit')
    expect(fits('wrapperAddress', CHANNEL)).toBe(true)
    expect(fits('wrapperAddress', CHANNEL.toUpperCase().replace('X', 'x'))).toBe(true)
    for (const other of [STRANGER, 'a channel', undefined]) expect(fits('wrapperAddress', other)).toBe(false)
  })

  it('where no call goes to it, whether or not it is a contract', () => {
    const fits = shipped('block')
    expect(fits('channelAddress', STRANGER)).toBe(false)
    expect(fits('accountAddress', STRANGER)).toBe(true)
    expect(fits('accountAddress', CHANNEL)).toBe(true)
    expect(fits('blocked', false)).toBe(true)
  })

  it('within its bounds, as far as they are values', () => {
    const fits = shipped('investor-deposit')
    expect(fits('assets', '1')).toBe(true)
    expect(fits('assets', '0')).toBe(false)
    const ofChannel = shipped('curator-channel')
    expect(ofChannel('resellerFeeBps', 200)).toBe(true)
    expect(ofChannel('resellerFeeBps', 201)).toBe(false)
  })

  it('where it must be our signer, however its address is written, or one of ours', () => {
    for (const signer of [SELF, `0x${SELF.slice(2).toUpperCase()}` as const]) {
      const fits = shipped('investor-deposit', {}, signer)
      expect(fits('receiverAddress', SELF)).toBe(true)
      expect(fits('receiverAddress', OTHER_SIGNER)).toBe(false)
      expect(fits('receiverAddress', STRANGER)).toBe(false)
    }
    const fits = shipped('curator-channel')
    expect(fits('resellerAddress', OTHER_SIGNER)).toBe(true)
    expect(fits('resellerAddress', STRANGER)).toBe(false)
  })

  it('by the rules alone that its input is for', () => {
    const granting = (granted: boolean) =>
      shipped('allocator-grant', { granted })('allocatorAddress', STRANGER)
    expect(granting(true)).toBe(false)
    expect(granting(false)).toBe(true)
  })

  it('as each element of a list', () => {
    const fits = shipped('reallocate')
    expect(fits('supplies[].marketAddress', OTHER_MARKET)).toBe(true)
    expect(fits('supplies[].marketAddress', STRANGER)).toBe(false)
    expect(fits('supplies[].assets', '1')).toBe(true)
    expect(fits('supplies[].assets', '0')).toBe(false)
  })

  it('where its type consists of no call, by the conditions on the input', () => {
    const { ruleset } = caseOf('block')
    const fits = fitsRules('role.curator.vaultMarketListingSave', {}, SELF, ruleset)
    expect(fits('marketAddress', MARKET)).toBe(true)
    expect(fits('marketAddress', VAULT)).toBe(false)
    expect(fits('vaultAddress', VAULT)).toBe(true)
    expect(fits('vaultAddress', MARKET)).toBe(false)
    expect(fits('listed', false)).toBe(true)
  })

  it('as a choice that is another value on chain', () => {
    expect(shipped('settings')('exitTermKind', 'notice')).toBe(true)
  })

  it('as anything where no rule is about its type', () => {
    const fits = fitsRules('role.liquidator.liquidate', {}, SELF, caseOf('block').ruleset)
    expect(fits('marketAddress', STRANGER)).toBe(true)
  })
})

describe('a member of an input', () => {
  const { workflowType, input } = kindOf('rfq-place').proposal
  const params = {
    rfqId: { eq: '$input.rfqId' },
    bidAssets: { eq: '$input.bidAssets' },
    expiresTimestamp: { eq: '$input.expiresTimestamp' },
  }
  const fitsWith = (changes: Partial<Record<keyof typeof params, unknown>>) => {
    const place = {
      workflowType,
      target: '$contract.rfqDesk',
      function: 'function placeBid(uint256 rfqId, uint256 bidAssets, uint64 expiresTimestamp)',
      params: { ...params, ...changes },
    }
    const facts = { most: '$input.rfqId + 1' }
    const ruleset = rulesetOf([place], [{ workflowType }], deployment, { facts })
    return fitsRules(workflowType, input, SELF, ruleset)
  }

  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ['another member', { max: '$input.rfqId' }],
    ['an argument of the call', { max: '$args.rfqId' }],
    ['the end of the call', { max: '$deadline' }],
    ['the chain', { max: '$fact.most' }],
    ['either of them', { any: [{ max: '2' }, { max: '$deadline' }] }],
  ])('is left open where it is compared with %s', (_name, tests) => {
    const fits = fitsWith({ bidAssets: { eq: '$input.bidAssets', ...tests } })
    expect(fits('bidAssets', String(NOW_MS))).toBe(true)
  })

  it('fits what it is compared with beside those', () => {
    const fits = fitsWith({ bidAssets: { eq: '$input.bidAssets', min: '5', max: '$fact.most' } })
    expect(fits('bidAssets', '5')).toBe(true)
    expect(fits('bidAssets', '4')).toBe(false)
  })

  it('is held to the conditions of its own value, and not to those of others', () => {
    const fits = fitsWith({ bidAssets: { eq: '$input.bidAssets', min: '5' } })
    expect(fits('rfqId', '4')).toBe(true)
    // An argument that is not said to be the member is no value of it.
    expect(fitsWith({ rfqId: { min: '5', max: '9' } })('rfqId', '4')).toBe(true)
  })
})

describe('a member of an input of calls that a call carries', () => {
  const { workflowType, input } = kindOf('rfq-cancel').proposal
  const wrapper = {
    id: 'wrap',
    workflowType,
    target: '$contract.rfqDesk',
    function: 'function multicall(bytes[] data)',
    params: {},
    calls: { data: 'data[]', inside: ['cancel', 'refund'] },
  }
  const inner = (id: string, bidId: object) => ({
    id,
    workflowType,
    target: '$contract.rfqDesk',
    function: `function ${id}(uint256 bidId)`,
    params: { bidId: { eq: '$input.bidId', ...bidId } },
  })
  const fitsWith = (rules: readonly RuleText[]) =>
    fitsRules(workflowType, input, SELF, rulesetOf(rules, [{ workflowType }], deployment))

  it('fits each of them', () => {
    const fits = fitsWith([wrapper, inner('cancel', { min: '3' }), inner('refund', { max: '6' })])
    expect(['2', '3', '6', '7'].map((bidId) => fits('bidId', bidId))).toEqual([false, true, true, false])
  })

  it('fits the call that carries them as well', () => {
    const outer = {
      ...wrapper,
      function: 'function multicall(uint256 bidId, bytes[] data)',
      params: { bidId: { eq: '$input.bidId', min: '3' } },
      calls: { data: 'data[]', inside: ['cancel'] },
    }
    const fits = fitsWith([outer, inner('cancel', { max: '6' })])
    expect(['2', '3', '6', '7'].map((bidId) => fits('bidId', bidId))).toEqual([false, true, true, false])
  })

  it('is a pinned contract where one of them goes to it', () => {
    const aggregate = {
      ...wrapper,
      function: 'function aggregate((address target, bytes data)[] calls)',
      calls: { data: 'calls[].data', target: 'calls[].target', inside: ['cancel'] },
    }
    const fits = fitsWith([aggregate, { ...inner('cancel', {}), target: '$input.rfqAddress' }])
    expect([DESK, LOAN, BORROWER].map((to) => fits('rfqAddress', to))).toEqual([true, true, false])
  })
})
