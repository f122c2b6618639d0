import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import type { Role } from '../service/contract/roles.ts'
import { checkYaml } from './check.ts'
import { INCLUDED } from './include.ts'
import type { Path, YamlFile } from './yaml.ts'

/** The schemas of a policy's sections, each from the room that enforces it. */
type PolicySections = {
  /** The agent's own. */
  readonly strategy: z.ZodType
  /** The guard's. */
  readonly approval: z.ZodType
  readonly limits: z.ZodType
  readonly freshness: z.ZodType
  readonly guard: z.ZodType
  /** The broadcaster's. */
  readonly fees: z.ZodType
}

/** A role's policy: what a file in `policies/` says, checked. */
export type Policy<S extends PolicySections> = z.output<ReturnType<typeof policySchema<S>>>

/** Compose the schema of one role's policy. Strict: an unknown section is a mistake. Pure. */
export const policySchema = <S extends PolicySections>(role: Role, sections: S) =>
  z.strictObject({
    version: z.literal('2'),
    role: z.literal(role),
    /** Its paces and amounts are the sandbox's: production refuses it. */
    environment: z.literal('sandbox').optional(),
    ...sections,
  })

/**
 * Check a role's policy that was read.
 * @throws RolekeeperError `config.invalid`: one line with position and fix.
 */
export function checkPolicy<S extends PolicySections>(yaml: YamlFile, role: Role, sections: S): Policy<S> {
  const { value, file } = yaml
  const version: unknown = Reflect.get(Object(value), 'version')
  if (typeof version === 'string' && version !== '2') {
    // Else each setting of the other format would read as a mistake.
    const problem = `version is ${JSON.stringify(version.slice(0, 40))}; allowed: 2`
    throw new RolekeeperError('config.invalid', `${yaml.at(['version'])}: ${problem}.`, {
      fix: 'write it anew, with the help of `rolekeeper policy new`',
      facts: { file },
    })
  }
  const roleName: unknown = Reflect.get(Object(value), 'role')
  if (typeof roleName === 'string' && roleName !== role) {
    // Else each setting of the other role would read as a mistake.
    const problem = `role is ${JSON.stringify(roleName.slice(0, 40))}, and it is read as the policy of the ${role}`
    throw new RolekeeperError('config.invalid', `${yaml.at(['role'])}: ${problem}.`, {
      fix: `name a policy of the ${role} where this one is named`,
      facts: { file },
    })
  }
  return checkYaml(yaml, policySchema(role, sections), ['include'])
}

/** Describe a schema's input for editors, as JSON Schema 2020-12. Pure. */
export const editorSchema = (title: string, schema: z.ZodType): object => ({
  ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
  title,
})

/** The same of a policy: what is not there may be in the file that it includes. Pure. */
export function policyEditorSchema<S extends PolicySections>(role: Role, sections: S): object {
  const schema = policySchema(role, sections).extend({ include: z.string().optional() })
  return {
    ...z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
      override: ({ jsonSchema }) => {
        delete jsonSchema.required
        // Where a list goes on with what the included file says.
        const { items } = jsonSchema
        const isWritten = typeof items === 'object' && !Array.isArray(items) && items.anyOf === undefined
        if (isWritten && items.type !== 'string')
          jsonSchema.items = { anyOf: [items, { type: 'string', const: INCLUDED }] }
      },
    }),
    title: `Policy of the ${role}`,
  }
}

/**
 * Do what reads a policy, and say where in its files a problem of it stands. An error names its place by the fact `path`,
 * as in `guard.allow[0].params.report.asset`.
 * @throws RolekeeperError what `work` throws, with file, line and column in front where its path is in the file.
 */
export function locating<T>(yaml: YamlFile, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RolekeeperError) || typeof error.facts.path !== 'string') throw error
    // What checks the file's shape says the place by itself.
    if (typeof error.facts.file === 'string') throw error
    const path = pathOf(error.facts.path, yaml.value)
    if (path.length === 0) throw error
    const { code, shortMessage, facts, fix, retry, cause } = error
    throw new RolekeeperError(code, `${yaml.at(path)}: ${shortMessage}`, {
      facts: { ...facts, file: yaml.file },
      retry,
      cause,
      ...(fix === undefined ? {} : { fix }),
    })
  }
}

/** Find the path that a text writes, as far as it is there: keys may hold dots and brackets themselves. Pure. */
function pathOf(text: string, value: unknown): Path {
  if (text === '' || value === null || typeof value !== 'object') return []
  const rest = text.replace(/^\./, '')
  const steps = Array.isArray(value)
    ? value.map((_, index) => ({ key: index, written: `[${index}]` }))
    : Object.keys(value).map((key) => ({ key, written: key }))
  const [step] = steps
    .filter(({ written }) => rest.startsWith(written) && /^([.[]|$)/.test(rest.slice(written.length)))
    .toSorted((a, b) => b.written.length - a.written.length)
  return step === undefined
    ? []
    : [step.key, ...pathOf(rest.slice(step.written.length), Reflect.get(value, step.key))]
}
