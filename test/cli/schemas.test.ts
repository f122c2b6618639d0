import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { feePolicy } from '../../src/broadcast/fees.ts'
import { editorSchemas } from '../../src/cli/schemas.ts'
import { loadPolicy } from '../../src/config/policy.ts'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../src/guard/ruleset.ts'

it('describes the policy of every role, and the run configuration, down to each limit', async () => {
  const schemas = await editorSchemas()
  expect(Object.keys(schemas)).toEqual([
    ...Object.keys(agents).map((role) => `policies/${role}.schema.json`),
    'config/run.schema.json',
  ])
  expect(schemas['policies/liquidator.schema.json']).toMatchObject({
    additionalProperties: false,
    required: ['version', 'role', 'strategy', 'limits', 'freshness', 'guard', 'fees'],
    properties: { fees: { properties: { maxFeePerGasWei: { type: 'string' } } } },
  })
  expect(schemas['config/run.schema.json']).toMatchObject({
    properties: { environment: { enum: ['sandbox', 'production'] } },
  })
})

it('accepts every policy of this repository', () => {
  const files = readdirSync('policies').filter((name) => name.endsWith('.yaml'))
  expect(files.map((name) => basename(name, '.yaml'))).toEqual(Object.keys(agents))
  for (const { role, policy } of Object.values(agents)) {
    const sections = {
      strategy: policy,
      limits: limitsPolicy,
      freshness: freshnessPolicy,
      guard: guardPolicy,
      fees: feePolicy,
    }
    expect(loadPolicy(join('policies', `${role}.yaml`), role, sections).role).toBe(role)
  }
})
