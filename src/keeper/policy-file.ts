import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { agents } from '../../agents/index.ts'
import { checkYaml } from '../config/check.ts'
import { migratePolicy } from '../config/migrate.ts'
import { checkPolicy, policySchema } from '../config/policy.ts'
import { loadYaml, parseYaml, type YamlFile } from '../config/yaml.ts'
import { RolekeeperError } from '../errors.ts'
import { deployment } from '../service/contract/deployment.ts'
import { sectionsOf } from './role-policy.ts'

/** What of a run configuration a policy is read by: no secret has to be there. */
const pinned = z.looseObject({ deployment })

/**
 * Rewrite a policy file of version 1, by the deployment of a run configuration.
 * @returns the text of version 2, which is checked whole, and how many places differ; 0 for a file that is of version 2.
 * @throws RolekeeperError `config.unreadable`, `config.yaml` or `config.invalid`, one line with position and fix.
 */
export function migrateFile(
  file: string,
  config: string,
): { readonly text: string; readonly changed: number } {
  const yaml = loadYaml(file)
  const { assets } = checkYaml(loadYaml(config), pinned).deployment
  const agent = agentOf(yaml)
  const sections = sectionsOf(agent, assets)
  const text = readFileSync(file, 'utf8')
  if (Reflect.get(Object(yaml.value), 'version') === '2') return { text, changed: 0 }
  const { text: migrated, changed } = migratePolicy(yaml, text, policySchema(agent.role, sections), assets)
  checkPolicy(parseYaml(file, migrated), agent.role, sections)
  return { text: migrated, changed }
}

/** Find the role that a policy file is of. */
function agentOf({ file, value, at }: YamlFile) {
  const role: unknown = Reflect.get(Object(value), 'role')
  const agent = agents.find((each) => each.role === role)
  if (agent !== undefined) return agent
  const known = agents.map((each) => each.role).join(', ')
  throw new RolekeeperError('config.invalid', `${at(['role'])}: role is no role of this release.`, {
    fix: `write one of: ${known}`,
    facts: { file },
  })
}
