import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { loadWithIncludes } from '../../src/config/include.ts'
import { checkPolicy, editorSchema, policySchema } from '../../src/config/policy.ts'
import { newDirectory } from '../support/directory.ts'

const amount = z
  .string()
  .regex(/^[0-9]+$/, 'expected a whole number in base units')
  .transform(BigInt)
const sections = {
  strategy: z.strictObject({ repayAssetsMax: amount }),
  limits: z.strictObject({}),
  freshness: z.strictObject({ ageMsMax: amount }),
  guard: z.strictObject({ allow: z.array(z.strictObject({ id: z.string() })) }),
  fees: z.strictObject({}),
  approval: z.strictObject({}),
}
const valid = `version: "2"
role: liquidator
strategy: { repayAssetsMax: "1000000" }
limits: {}
freshness: { ageMsMax: "30000" }
guard: { allow: [{ id: liquidate }] }
fees: {}
approval: {}
`

const load = (text: string) => {
  const file = join(newDirectory(), 'liquidator.yaml')
  writeFileSync(file, text)
  return checkPolicy(loadWithIncludes(file), 'liquidator', sections)
}

describe('a policy', () => {
  it('gives every section as its own room reads it', () => {
    const policy = load(valid)
    expect(policy.strategy.repayAssetsMax).toBe(1_000_000n)
    expect(policy.role).toBe('liquidator')
  })

  it.each([
    [
      'a wrong unit',
      '"30000"',
      '30s',
      '5:14: freshness.ageMsMax is "30s"; expected a whole number in base units.',
    ],
    [
      'another role',
      'role: liquidator',
      'role: allocator',
      '2:1: role is "allocator", and it is read as the policy of the liquidator',
    ],
    ['another version', '"2"', '"3"', '1:1: version is "3"; allowed: 2.'],
    ['an unknown section', 'fees: {}', 'fees: {}\nfee: {}', '8:1: fee is not a known key;'],
    ['a missing section', 'limits: {}\n', '', '1:1: limits is missing; expected a mapping.'],
    [
      'an unknown key in a list',
      '{ id: liquidate }',
      '{ id: liquidate, x: 1 }',
      'guard.allow[0].x is not a known key; allowed: id.',
    ],
  ])('refuses %s, with file and position', (_, from, to, message) => {
    expect(() => load(valid.replace(from, to))).toThrow(message)
    expect(() => load(valid.replace(from, to))).toThrow(/liquidator\.yaml:\d+:\d+: /)
  })

  it('describes its input for editors', () => {
    expect(editorSchema('liquidator', policySchema('liquidator', sections))).toMatchObject({
      title: 'liquidator',
      additionalProperties: false,
      properties: {
        role: { const: 'liquidator' },
        freshness: { properties: { ageMsMax: { type: 'string' } } },
      },
    })
  })
})
