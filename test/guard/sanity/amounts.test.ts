import { describe, expect, it } from 'vitest'
import { checkDecided, checkUsable, isHealthy } from '../../../src/guard/sanity/price.ts'
import { priceText, unitOf, WAD } from '../../../src/guard/sanity/units.ts'
import { amountText } from '../../../src/units.ts'
import { COLLATERAL, deployment, LOAN, liquidation, STRANGER } from '../fixtures.ts'

const [market] = deployment.markets
if (market === undefined) throw new TypeError('the deployment has a market')

it('counts and writes tokens by what the deployment pins, and base units of any other', () => {
  expect([unitOf(LOAN, deployment), unitOf(STRANGER, deployment)]).toEqual([1_000_000n, null])
  expect(amountText(150_000_000n, COLLATERAL, deployment)).toBe('1.5 sBTC')
  expect(amountText(2n, STRANGER, deployment)).toBe(`2 base units of ${STRANGER}`)
  expect(priceText(60_000n * WAD, market, deployment)).toBe('60,000 sUSD per sBTC')
  expect(priceText(WAD, { ...market, collateralAsset: STRANGER }, deployment)).toBe(`1 sUSD per ${STRANGER}`)
})

describe('a price', () => {
  const price = (priceWad: bigint, state = 1n) => ({ priceWad, state, sourceAsOfS: 1_000n })

  it('is vouched for where the oracle says so of one that is not zero', () => {
    expect([price(1n), price(0n), price(1n, 2n)].map(isHealthy)).toEqual([true, false, false])
  })

  it('may be as far from the one that was decided on as the policy says, up or down', () => {
    const proposal = { ...liquidation, reason: { priceWad: '10000' } }
    const decided = (priceWad: bigint) =>
      checkDecided(price(priceWad), proposal, 100n, { market, deployment })?.check ?? 'so'
    expect([9_900n, 10_000n, 10_100n].map(decided)).toEqual(['so', 'so', 'so'])
    expect([9_899n, 10_101n].map(decided)).toEqual(['price_moved', 'price_moved'])
  })

  it('says how old it is, and how far ahead', () => {
    expect(checkUsable(price(1n), 120n, 1_180)?.message).toBe(
      'The price is 3 min old; the policy allows 2 min.',
    )
    expect(checkUsable(price(1n), 120n, 995)?.message).toBe('The price is of 5 s after the block.')
  })
})
