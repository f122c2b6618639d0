import { rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { newDirectory } from '../../support/directory.ts'
import { harmless, ROLES, slipsOf, tryAll } from './slips.ts'

const directory = newDirectory()
afterAll(() => rmSync(directory, { recursive: true }))

/** Nine files of so many numbers are a minute's work; `npm run slips` tries all. */
const ONE_IN = 12

describe.each(ROLES)('a slip in the policy of the %s', (role) => {
  it('is refused, listed, or known to be harmless', () => {
    const slips = tryAll(role, directory, ONE_IN)
    expect(new Set(slips.map(({ verdict }) => verdict))).toContain('refused')
    expect(new Set(slips.map(({ verdict }) => verdict))).toContain('listed')
    expect(slips.filter((slip) => slip.verdict === 'silent' && harmless(slip) === null)).toEqual([])
  })
})

it.each([
  ['1.25 %', ['1,250 %', '0.00125 %', '0 %', '100 %']],
  ['2 min', ['2,000 min', '0.002 min', '0 min', '2 s', '2 h']],
  ['100,000 USD', ['100,000,000 USD', '100 USD', '0 USD']],
  ['12000', ['12000000', '12', '0']],
  ['0 ETH', ['1 ETH']],
  ['0.02 ETH', ['20 ETH', '0.00002 ETH', '0 ETH', '0.02 gwei']],
  ['$input.assets', []],
])('writes for %s what a slip makes of it', (text, slips) => {
  expect(slipsOf(text)).toEqual(slips)
})
