import { describe, expect, it } from 'vitest'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../../src/guard/policy/policy.ts'
import { sanityOf } from '../../../src/guard/sanity/by-role.ts'

describe('a policy', () => {
  const spend = { movedMax: '0.00001 USD', gasMax: '10 wei' }
  const rolling = { ...spend, revertsMax: '2' }
  const valid = { perWorkflow: spend, perHour: rolling, perDay: rolling, prices: { sUSD: '0.000001 USD' } }
  const fresh = {
    ageMax: '1 ms',
    blockLagMax: '0 blocks',
    headAgeMax: '1 ms',
    expiryMargin: '0 s',
    lifetimeMax: '1 ms',
  }

  it('takes limits that are equal', () => {
    expect(limitsPolicy.safeParse(valid).success).toBe(true)
  })

  it.each([
    ['a workflow above an hour', { ...valid, perWorkflow: { ...spend, movedMax: '0.000011 USD' } }],
    ['an hour above a day', { ...valid, perHour: { ...rolling, gasMax: '11 wei' } }],
    ['more reverts an hour than a day', { ...valid, perHour: { ...rolling, revertsMax: '3' } }],
    ['a number that is no text', { ...valid, perWorkflow: { ...spend, movedMax: 10 } }],
    ['no unit', { ...valid, perWorkflow: { ...spend, movedMax: '10' } }],
    ['another unit', { ...valid, perWorkflow: { ...spend, gasMax: '10 gas' } }],
    ['a key that it does not know', { ...valid, perWeek: rolling }],
    ['nothing for a day', { ...valid, perDay: undefined }],
    ['a token that is worth nothing', { ...valid, prices: { sUSD: '0 USD' } }],
  ])('refuses %s among limits', (_name, limits) => {
    expect(limitsPolicy.safeParse(limits).success).toBe(false)
  })

  it('bounds freshness at and one past', () => {
    expect(freshnessPolicy.safeParse({ ...fresh, ageMax: '10 min' }).success).toBe(true)
    expect(freshnessPolicy.safeParse({ ...fresh, ageMax: '600,001 ms' }).success).toBe(false)
    expect(freshnessPolicy.safeParse({ ...fresh, ageMax: '0 s' }).success).toBe(false)
  })

  it('refuses a condition that tests nothing, and a head room below a refund', () => {
    const guard = guardPolicy(sanityOf('tester').limits([]))
    const rule = {
      ...{ id: 'a', workflowType: 'liquidate', target: '$market', function: 'function a(uint256 b)' },
      ...{ params: { b: { eq: '1' } }, valueMax: '0 ETH', gasMax: '21,000 gas' },
    }
    const at = { views: ['a'], allow: [rule], effects: [], sanity: {}, gasHeadroom: '125 %' }
    expect(guard.safeParse(at).success).toBe(true)
    expect(guard.safeParse({ ...at, gasHeadroom: '124.99 %' }).success).toBe(false)
    expect(guard.safeParse({ ...at, allow: [{ ...rule, params: { b: {} } }] }).success).toBe(false)
    expect(guard.safeParse({ ...at, allow: [{ ...rule, gasMax: '20,999 gas' }] }).success).toBe(false)
  })
})
