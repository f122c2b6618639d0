import { describe, expect, it } from 'vitest'
import { PREPARED } from '../../guard/shipped.ts'
import { CHAIN_ATTACKS, clearBy } from './chain.ts'

describe.each(PREPARED)('hostile contracts and nodes at %s', (_case, kind, ruleset) => {
  it('clear what is honest', async () => {
    expect(await clearBy(kind, ruleset, null)).toBe('cleared')
  })

  it('are refused by name', async () => {
    for (const attack of CHAIN_ATTACKS) {
      const check = await clearBy(kind, ruleset, attack)
      if (check !== null) expect(check, attack.name).toBe(attack.check)
    }
  })
})
