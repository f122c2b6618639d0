import { expect, test } from 'vitest'
import { normalizeEligibility, normalizeMarket } from '../../src/observe/collections.ts'
import { ASSUMPTIONS, type Assumptions } from '../../src/service/contract/assumptions.ts'

const address = `0x${'a1'.repeat(20)}` as const
const market = { id: 'm', chainId: 1, address }
const theirs: Assumptions = {
  ...ASSUMPTIONS,
  healthyOracleState: 'ok',
  normalMarketRegime: 'open',
  priceScale: 10n ** 8n,
  eligibility: { liquidate: 'LIQUIDATE', authorized: 'yes' },
}

test('says a market by another deployment in the words and the scale of our own', () => {
  const said = {
    ...market,
    oracleState: 'ok',
    marketRegimeState: 'open',
    oracle: { state: 'ok', priceWad: '6000012345678' },
  }
  expect(normalizeMarket(said, theirs)).toEqual({
    ...market,
    oracleState: 'healthy',
    marketRegimeState: 'normal',
    oracle: { state: 'healthy', priceWad: '60000123456780000000000' },
  })
})

test('takes our own word from such a deployment for another one', () => {
  const said = { ...market, oracleState: 'healthy', marketRegimeState: 'normal' }
  const { oracleState, marketRegimeState } = normalizeMarket(said, theirs)
  expect([oracleState, marketRegimeState]).toEqual(['healthy (by another word)', 'normal (by another word)'])
})

test('changes nothing by the defaults, and fills in nothing that is missing', () => {
  const { oracle, ...silent } = normalizeMarket(market, theirs)
  expect(silent).toEqual({ ...market, oracleState: undefined, marketRegimeState: undefined })
  expect(oracle).toBeUndefined()
  const said = { ...market, oracleState: 'stale', marketRegimeState: null, oracle: { priceWad: '17' } }
  expect(normalizeMarket(said, ASSUMPTIONS)).toEqual({ ...said, oracle: { priceWad: '17' } })
})

test('says what a wallet may do without the names of the service', () => {
  const row = { chainId: 1, walletAddress: address, scopeAddress: address }
  expect(
    normalizeEligibility({ ...row, actionType: 'LIQUIDATE', authorizationStatus: 'no' }, theirs),
  ).toEqual({ ...row, actionType: 'liquidate', authorizationStatus: 'no' })
})
