import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import type { Role } from '../service/contract/roles.ts'
import { checkYaml } from './check.ts'
import { loadYaml, type YamlFile } from './yaml.ts'

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
  z.strictObject({ version: z.literal('2'), role: z.literal(role), ...sections })

/**
 * Load a role's policy.
 * @throws RolekeeperError `config.unreadable`, `config.yaml`, `config.invalid`, or `config.policy_old` for a file of
 *   version 1: one line with position and fix.
 */
export const loadPolicy = <S extends PolicySections>(file: string, role: Role, sections: S): Policy<S> =>
  checkPolicy(loadYaml(file), role, sections)

/** Check a role's policy that was read. Throws as {@link loadPolicy} does. */
export function checkPolicy<S extends PolicySections>(yaml: YamlFile, role: Role, sections: S): Policy<S> {
  const { value, file } = yaml
  if (value !== null && typeof value === 'object' && Reflect.get(value, 'version') === '1') {
    const problem = 'version is "1", whose amounts have no units'
    throw new RolekeeperError('config.policy_old', `${file}:${yaml.position(['version'])}: ${problem}.`, {
      fix: `run: rolekeeper policy migrate ${file} --config RUN`,
      facts: { file },
    })
  }
  return checkYaml(yaml, policySchema(role, sections))
}

/** Describe a schema's input for editors, as JSON Schema 2020-12. Pure. */
export const editorSchema = (title: string, schema: z.ZodType): object => ({
  ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
  title,
})
