import { describe, expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { judge, reasonOf } from './rules.ts'
import { CASES } from './shipped.ts'

describe('the rules of a shipped policy', () => {
  it.each(CASES)('take what an honest service prepares: %s', (_name, kind, ruleset) => {
    expect(reasonOf(judge(kind, ruleset))).toBe('accepted')
  })

  it('hold every workflow type that an agent may propose', () => {
    const held = new Set(CASES.map(([, { proposal }]) => proposal.workflowType))
    const proposed = agents.flatMap(({ workflowTypes }) => workflowTypes)
    expect(proposed.filter((type) => !held.has(type))).toEqual([])
    expect(proposed).toHaveLength(17)
  })
})
