import { describe, expect, it } from 'vitest'
import { LANGUAGE_ATTACKS, LANGUAGE_POLICIES, playCall } from './language.ts'

describe('calls against a policy of another deployment', () => {
  it.each(LANGUAGE_POLICIES)('are cleared as the policy is written for them: %s', (policy) => {
    expect(playCall({ policy })).toBe('accepted')
  })

  it.each(LANGUAGE_ATTACKS)('are refused by name: $name', (attack) => {
    expect(playCall(attack)).toBe(attack.check)
  })
})
