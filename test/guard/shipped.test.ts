import { describe, expect, it } from 'vitest'
import { judge, reasonOf } from './rules.ts'
import { CASES } from './shipped.ts'

describe('the rules of a shipped policy', () => {
  it.each(CASES)('take what an honest service prepares: %s', (_name, kind, ruleset) => {
    expect(reasonOf(judge(kind, ruleset))).toBe('accepted')
  })
})
