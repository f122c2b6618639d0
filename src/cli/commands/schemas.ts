import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { printable } from '../../errors.ts'
import { command, usageError } from '../parse/command.ts'

/** `rolekeeper schemas`: what an editor needs to check policies and run configurations while they are written. */
export const schemas = command({
  name: 'schemas',
  usage: '[--out DIR]',
  help: `Write the JSON Schemas of the policies and of the run configuration: policies/ROLE.schema.json and
config/run.schema.json. A file names its schema in its first line:

  # yaml-language-server: $schema=liquidator.schema.json`,
  options: { out: { help: 'the folder that holds policies/ and config/ (default: .)', value: 'DIR' } },
  argumentsMax: 0,
  run: async ({ out = '.' }, _args, io) => {
    for (const [name, schema] of Object.entries(await editorSchemas())) {
      const file = join(out, name)
      write(file, `${JSON.stringify(schema, null, 2)}\n`)
      io.out(`${file}\n`)
    }
    return 0
  },
})

/** Write a file and the folder that it is in. Throws RolekeeperError `usage`. */
function write(file: string, text: string): void {
  const folder = dirname(file)
  try {
    mkdirSync(folder, { recursive: true })
  } catch {
    throw usageError(
      `The folder ${printable(folder)} cannot be made: a file is in its place, or it may not be written there.`,
      'name a folder with --out',
    )
  }
  try {
    writeFileSync(file, text)
  } catch {
    throw usageError(`${printable(file)} cannot be written.`, 'name another folder with --out')
  }
}

/** Describe every file that a person writes: its path and its JSON Schema. */
export async function editorSchemas(): Promise<Readonly<Record<string, object>>> {
  const { agents } = await import('../../../agents/index.ts')
  const { runConfigSchema } = await import('../../config/config.ts')
  const { editorSchema, policyEditorSchema } = await import('../../config/policy.ts')
  const { sectionsOf } = await import('../../keeper/policy/role-policy.ts')
  const policies = agents.map((agent) => [
    `policies/${agent.role}.schema.json`,
    policyEditorSchema(agent.role, sectionsOf(agent, [])),
  ])
  const run = runConfigSchema('.', { env: {}, isWellKnown: () => false })
  return { ...Object.fromEntries(policies), 'config/run.schema.json': editorSchema('Run configuration', run) }
}
