import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { loadWithIncludes } from '../../src/config/include.ts'
import { checkPolicy } from '../../src/config/policy.ts'
import { testsOf } from '../../src/guard/policy/rule.ts'
import { compileRuleset } from '../../src/guard/ruleset.ts'
import { sectionsOf } from '../../src/keeper/policy/role-policy.ts'
import { TOKENS } from '../support/tokens.ts'
import { textOf } from './condition-text.ts'
import { deployment } from './kinds.ts'

/** What bounds a role as it is shipped: a line for each value that it may choose, and one for each type that is asked about. */
function boundsOf(agent: (typeof agents)[number]): readonly string[] {
  const file = fileURLToPath(new URL(`../../policies/${agent.role}.yaml`, import.meta.url))
  const sections = checkPolicy(loadWithIncludes(file), agent.role, sectionsOf(agent, TOKENS))
  const ruleset = compileRuleset(sections, deployment)
  const held = [...[...ruleset.rules.values()].flat(), ...ruleset.metadata.values()]
  return [
    ...held.flatMap(({ id, leaves }) =>
      leaves.map((leaf) => [id, leaf.path, testsOf(leaf).map(textOf).join(', ')].join(' | ')),
    ),
    ...sections.approval.always.map((type) => `asked about always: ${type}`),
  ]
}

describe('what bounds a shipped policy', () => {
  const expected = readFileSync(new URL('bounds.txt', import.meta.url), 'utf8').split('\n\n')

  it.each(agents.map((agent) => [agent.role, agent] as const))(
    'of the %s is what bounds.txt says',
    (role, agent) => {
      const wanted = expected.find((paragraph) => paragraph.startsWith(`${role}\n`))?.trimEnd()
      expect([role, ...boundsOf(agent)].join('\n')).toBe(wanted)
    },
  )
})
