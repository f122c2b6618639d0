import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  counted,
  DURATION,
  duration,
  exactNative,
  exactTokens,
  exactUsd,
  NATIVE,
  PERCENT,
  parseAmount,
  percent,
  USD,
  unitsOf,
} from '../src/units.ts'
import { TOKENS } from './support/tokens.ts'

const amountOf = (text: string, units: typeof USD) => {
  const parsed = parseAmount(text, units)
  return parsed.ok ? parsed.amount : parsed.problem
}

describe('an amount with its unit', () => {
  it.each([
    ['100,000 USD', USD, 100_000_000_000n],
    ['100000 USD', USD, 100_000_000_000n],
    ['0.000001 USD', USD, 1n],
    ['0 USD', USD, 0n],
    ['25 sBTC', unitsOf(TOKENS), 2_500_000_000n],
    ['0.000000000000000001 sETH', unitsOf(TOKENS), 1n],
    ['0.02 ETH', NATIVE, 20_000_000_000_000_000n],
    ['30 gwei', NATIVE, 30_000_000_000n],
    ['1.25 %', PERCENT, 125n],
    ['15 min', DURATION, 900_000n],
    ['1.5 d', DURATION, 129_600_000n],
  ])('%s is read exactly', (text, units, amount) => {
    expect(amountOf(text, units)).toBe(amount)
  })

  it.each([
    ['100000000000', USD, 'it is not a number, a space and a unit'],
    ['1,00 USD', USD, 'it is not a number, a space and a unit'],
    ['1000,000 USD', USD, 'it is not a number, a space and a unit'],
    ['01 USD', USD, 'it is not a number, a space and a unit'],
    ['1. USD', USD, 'it is not a number, a space and a unit'],
    ['.5 USD', USD, 'it is not a number, a space and a unit'],
    ['-1 USD', USD, 'it is not a number, a space and a unit'],
    ['1e3 USD', USD, 'it is not a number, a space and a unit'],
    ['1  USD', USD, 'it is not a number, a space and a unit'],
    ['1USD', USD, 'it is not a number, a space and a unit'],
    [' 1 USD', USD, 'it is not a number, a space and a unit'],
    ['1 usd', USD, 'usd is no unit of it'],
    ['1 __proto__', USD, '__proto__ is no unit of it'],
    ['1 ETH', USD, 'ETH is no unit of it'],
    ['0.0000001 USD', USD, 'it is finer than its smallest unit'],
    ['0.001 %', PERCENT, 'it is finer than its smallest unit'],
  ])('%s is refused', (text, units, problem) => {
    expect(amountOf(text, units)).toBe(problem)
  })

  it('is written as people write it', () => {
    const [, btc] = TOKENS
    expect([
      exactUsd(1_500_000n),
      exactUsd(-100_000_000_000n),
      exactTokens(2_500_000_000n, btc),
      percent(125),
    ]).toEqual(['1.5 USD', '-100,000 USD', '25 sBTC', '1.25 %'])
    expect([
      exactNative(20_000_000_000_000_000n),
      exactNative(30_000_000_000n),
      exactNative(7n),
      exactNative(0n),
    ]).toEqual(['0.02 ETH', '30 gwei', '7 wei', '0 ETH'])
    expect([
      duration(0),
      duration(1_500),
      duration(90_000),
      duration(86_400_000),
      counted(120_000n, 'gas'),
    ]).toEqual(['0 s', '1,500 ms', '90 s', '1 d', '120,000 gas'])
  })

  it('is read back as what was written, whatever it is', () => {
    const any = fc.bigInt(0n, 2n ** 256n - 1n)
    fc.assert(
      fc.property(any, fc.constantFrom(...TOKENS), (amount, token) => {
        expect(amountOf(exactUsd(amount), USD)).toBe(amount)
        expect(amountOf(exactNative(amount), NATIVE)).toBe(amount)
        expect(amountOf(percent(amount), PERCENT)).toBe(amount)
        expect(amountOf(duration(amount), DURATION)).toBe(amount)
        expect(amountOf(exactTokens(amount, token), unitsOf(TOKENS))).toBe(amount)
      }),
      { numRuns: 300 },
    )
  })
})
