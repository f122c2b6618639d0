import { z } from 'zod'
import type { Role } from '../service/contract/roles.ts'
import { checkYaml } from './check.ts'
import { loadYaml } from './yaml.ts'

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
  z.strictObject({ version: z.literal('1'), role: z.literal(role), ...sections })

/**
 * Load a role's policy.
 * @throws RolekeeperError `config.unreadable`, `config.yaml` or `config.invalid`, one line with position and fix.
 */
export const loadPolicy = <S extends PolicySections>(file: string, role: Role, sections: S): Policy<S> =>
  checkYaml(loadYaml(file), policySchema(role, sections))

/** Describe a schema's input for editors, as JSON Schema 2020-12. Pure. */
export const editorSchema = (title: string, schema: z.ZodType): object => ({
  ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
  title,
})
