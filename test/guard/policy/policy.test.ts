import { describe, expect, it } from 'vitest'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../../src/guard/policy/policy.ts'
import { sanityOf } from '../../../src/guard/sanity/by-role.ts'

describe('a policy', () => {
  const spend = { usdMicrosMax: '10', gasWeiMax: '10' }
  const rolling = { ...spend, revertsMax: '2' }
  const valid = { perWorkflow: spend, perHour: rolling, perDay: rolling, pricesUsdMicros: { sUSD: '1' } }
  const fresh = {
    ageMsMax: '1',
    blockLagMax: '0',
    headAgeMsMax: '1',
    expiryMarginMs: '0',
    lifetimeMsMax: '1',
  }

  it('takes limits that are equal', () => {
    expect(limitsPolicy.safeParse(valid).success).toBe(true)
  })

  it.each([
    ['a workflow above an hour', { ...valid, perWorkflow: { ...spend, usdMicrosMax: '11' } }],
    ['an hour above a day', { ...valid, perHour: { ...rolling, gasWeiMax: '11' } }],
    ['more reverts an hour than a day', { ...valid, perHour: { ...rolling, revertsMax: '3' } }],
    ['a number that is no text', { ...valid, perWorkflow: { ...spend, usdMicrosMax: 10 } }],
    ['a unit', { ...valid, perWorkflow: { ...spend, usdMicrosMax: '10 USD' } }],
    ['a key that it does not know', { ...valid, perWeek: rolling }],
    ['nothing for a day', { ...valid, perDay: undefined }],
    ['a token that is worth nothing', { ...valid, pricesUsdMicros: { sUSD: '0' } }],
  ])('refuses %s among limits', (_name, limits) => {
    expect(limitsPolicy.safeParse(limits).success).toBe(false)
  })

  it('bounds freshness at and one past', () => {
    expect(freshnessPolicy.safeParse({ ...fresh, ageMsMax: '600000' }).success).toBe(true)
    expect(freshnessPolicy.safeParse({ ...fresh, ageMsMax: '600001' }).success).toBe(false)
    expect(freshnessPolicy.safeParse({ ...fresh, ageMsMax: '0' }).success).toBe(false)
  })

  it('refuses a condition that tests nothing, and a head room below a refund', () => {
    const { shape } = guardPolicy(sanityOf('liquidator').limits)
    expect(shape.gasHeadroomBps.safeParse('12500').success).toBe(true)
    expect(shape.gasHeadroomBps.safeParse('12499').success).toBe(false)
    expect(shape.allow.element.shape.params.safeParse({ amount: {} }).success).toBe(false)
  })
})
