import { describe, expect, it } from 'vitest'
import { shortHex, shortSubject, wad } from '../../src/cli/format.ts'

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

  it('shortens addresses, and nothing else', () => {
    expect(shortHex(`0x${'ab'.repeat(20)}`)).toBe('0xabab…abab')
    expect(shortHex('sBTC')).toBe('sBTC')
    expect(shortSubject('claim:7')).toBe('claim 7')
    expect(shortSubject(`0x${'a1'.repeat(20)}:x:0x${'b2'.repeat(20)}`, 'sBTC/sUSD')).toBe(
      'sBTC/sUSD 0xb2b2…b2b2',
    )
  })
})
