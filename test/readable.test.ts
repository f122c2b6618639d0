import { describe, expect, it } from 'vitest'
import { budgetName, gain, native, plural, short, span, tokens, usd, workflowName } from '../src/readable.js'
import { WORKFLOW_CATALOGUE } from '../src/service/contract/workflow-types.ts'

const BTC = { symbol: 'sBTC', decimals: 8 }
const USD = { symbol: 'sUSD', decimals: 6 }
const ETH = { symbol: 'sETH', decimals: 18 }

describe('figures as people read them', () => {
  it.each([
    [0n, '$0'],
    [1n, '$0.000001'],
    [4_200n, '$0.0042'],
    [330_000n, '$0.33'],
    [101n, '$0.00010'],
    [1_500_000n, '$1.50'],
    [2_307_615_521_872n, '$2,307,615.52'],
    [2_000_000_000_000n, '$2,000,000'],
    // What is more than a limit does not read like it.
    [2_000_000_000_001n, '$2,000,000.00'],
    [-3_200_000n, '-$3.20'],
  ])('writes %i millionths of a dollar as %s', (micros, written) => {
    expect(usd(micros)).toBe(written)
  })

  it('writes addresses and hashes by their ends, and ids of workflows by their beginning', () => {
    const text = (hex: string, id: string) => `0x${hex}: workflow ${id} is about it.`
    expect(short(text('ab'.repeat(20), '9a9086e6'.repeat(4)))).toBe(
      '0xabab…abab: workflow 9a9086e6 is about it.',
    )
    expect(short('9a9086e6'.repeat(8))).toBe('9a9086e6'.repeat(8))
  })

  it.each([
    [0n, '+$0.00'],
    [4_999n, '+$0.00'],
    [5_000n, '+$0.01'],
    [-41_200_000n, '-$41.20'],
    [1_234_567_890_000n, '+$1,234,567.89'],
  ])('writes what came, %i, as %s', (micros, written) => {
    expect(gain(micros)).toBe(written)
  })

  it.each([
    [1n, BTC, '0.00000001 sBTC'],
    [53_217_000n, BTC, '0.53217 sBTC'],
    [2_512_340_000n, BTC, '25.1234 sBTC'],
    [742_499_990_001n, USD, '742,499.99 sUSD'],
    [800n, USD, '0.0008 sUSD'],
    [-1_500_000n, USD, '-1.5 sUSD'],
    [1_000_000_000_000n, USD, '1,000,000 sUSD'],
    [1_000_000_000_001n, USD, '1,000,000.00 sUSD'],
    [1_234_567_890_123_456_789n, ETH, '1.23457 sETH'],
    [123_456_789_012n, ETH, '0.000000123457 sETH'],
    [0n, ETH, '0 sETH'],
    [123n, { symbol: 'points', decimals: 0 }, '123 points'],
  ])('writes %i base units of %o as %s', (assets, of, written) => {
    expect(tokens(assets, of)).toBe(written)
  })

  it.each([
    [0n, '0 ETH'],
    [1n, '1 wei'],
    [30n * 10n ** 9n, '30 gwei'],
    [30_250_000_001n, '30.250 gwei'],
    [8_123_456n, '0.008123 gwei'],
    [635_383_112_452_686n, '0.0006354 ETH'],
    [15n * 10n ** 17n, '1.5 ETH'],
  ])('writes %i wei as %s', (wei, written) => {
    expect(native(wei)).toBe(written)
  })

  it.each([
    [0, '0 s'],
    [999, '999 ms'],
    [1_234, '1.23 s'],
    [9_999, '9.99 s'],
    [59_999, '59.9 s'],
    [15_001, '15.0 s'],
    [1_200, '1.2 s'],
    [60_000, '1 min'],
    [125_000, '2 min 5 s'],
    [3_661_000, '1 h 1 min'],
    [90_000_000n, '1 d 1 h'],
    [9_000_000_000_000n, '104,166 d 16 h'],
    [-1_500, '-1.5 s'],
  ])('writes %i milliseconds as %s', (ms, written) => {
    expect(span(ms)).toBe(written)
  })

  it('writes one of something in the singular', () => {
    expect([0, 1, 2_000n].map((count) => plural(count, 'workflow'))).toEqual([
      '0 workflows',
      '1 workflow',
      '2,000 workflows',
    ])
    expect(plural(2, 'loss', 'losses')).toBe('2 losses')
  })

  it('calls every workflow type by a name in words, and another by what it is', () => {
    for (const type of Object.keys(WORKFLOW_CATALOGUE))
      expect(workflowName(type), type).toMatch(/^(?:[a-z]+|RFQ|NAV)(?: [a-z]+)*$/)
    expect(workflowName('role.lender.distressedRecoveryFundV3AuctionBid')).toBe('auction bid')
    expect(workflowName('role.lender.newThing')).toBe('newThing')
  })
})

it('writes the names of budgets as words', () => {
  expect(['usd_per_hour', 'gas_per_day', 'reverts_per_hour', 'loss_per_week'].map(budgetName)).toEqual([
    'USD per hour',
    'gas per day',
    'reverts per hour',
    'loss per week',
  ])
})
