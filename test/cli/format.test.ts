import { describe, expect, it } from 'vitest'
import { duration, shortHex, shortSubject, usd, wad } from '../../src/cli/format.ts'

describe('figures', () => {
  it.each([
    ['0', 2, '0.00'],
    ['999999999999999999', 4, '0.9999'],
    ['1000000000000000000', 4, '1.0000'],
    ['1234567890000000000000000', 2, '1,234,567.89'],
    ['1', 18, '0.000000000000000001'],
  ])('writes %s wad cut after %i decimals as %s', (text, decimals, written) => {
    expect(wad(text, decimals)).toBe(written)
  })

  it.each([
    ['0', '+$0.00'],
    ['4999', '+$0.00'],
    ['5000', '+$0.01'],
    ['-41200000', '-$41.20'],
    ['1234567890000', '+$1,234,567.89'],
  ])('writes %s millionths of a dollar as %s', (micros, written) => {
    expect(usd(micros)).toBe(written)
  })

  it('writes durations in the unit that reads best', () => {
    expect([0, 999, 1_000, 59_990, 60_000].map(duration)).toEqual([
      '0 ms',
      '999 ms',
      '1.00 s',
      '59.99 s',
      '1.0 min',
    ])
  })

  it('shortens addresses, and nothing else', () => {
    expect(shortHex(`0x${'ab'.repeat(20)}`)).toBe('0xabab…abab')
    expect(shortHex('sBTC')).toBe('sBTC')
    expect(shortSubject('claim:7')).toBe('claim 7')
    expect(shortSubject(`0x${'a1'.repeat(20)}:x:0x${'b2'.repeat(20)}`, 'sBTC/sUSD')).toBe(
      'sBTC/sUSD 0xb2b2…b2b2',
    )
  })
})
