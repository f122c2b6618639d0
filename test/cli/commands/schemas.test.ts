import { readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import { editorSchemas } from '../../../src/cli/commands/schemas.ts'
import { loadWithIncludes } from '../../../src/config/include.ts'
import { checkPolicy } from '../../../src/config/policy.ts'
import { sectionsOf } from '../../../src/keeper/policy/role-policy.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { TOKENS } from '../../support/tokens.ts'

it('describes the policy of every role, and the run configuration, down to each limit', async () => {
  const schemas = await editorSchemas()
  expect(Object.keys(schemas)).toEqual([
    ...agents.map(({ role }) => `policies/${role}.schema.json`),
    'config/run.schema.json',
  ])
  expect(schemas['policies/liquidator.schema.json']).toMatchObject({
    additionalProperties: false,
    properties: { fees: { properties: { maxFeePerGas: { type: 'string' } } } },
  })
  expect(schemas['config/run.schema.json']).toMatchObject({
    properties: { environment: { enum: ['sandbox', 'production'] } },
  })
})

it('accepts every policy of this repository', () => {
  const files = readdirSync('policies').filter((name) => name.endsWith('.yaml'))
  expect(files.map((name) => basename(name, '.yaml'))).toEqual(agents.map(({ role }) => role).toSorted())
  for (const agent of agents) {
    const { role } = agent
    expect(
      checkPolicy(loadWithIncludes(join('policies', `${role}.yaml`)), role, sectionsOf(agent, TOKENS)).role,
    ).toBe(role)
  }
})

it('says which folder it cannot make where --out is a file', async () => {
  const file = join(newDirectory(), 'j.json')
  writeFileSync(file, '{}')
  expect(await runCommand(['schemas', '--out', file])).toEqual({
    code: 2,
    out: '',
    err: `error usage: The folder ${join(file, 'policies')} cannot be made: a file is in its place, or it may not be written there. Fix: name a folder with --out\n`,
  })
})
