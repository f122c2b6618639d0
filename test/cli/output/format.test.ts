import { describe, expect, it } from 'vitest'
import { wad } from '../../../src/cli/output/format.ts'

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
})
