import { describe, expect, it } from 'vitest'
import { PREPARED } from '../../guard/shipped.ts'
import { LATER_ATTACKS, MOMENTS, playAt } from './later.ts'

describe.each(MOMENTS)('a chain that is another as a workflow is %s', (moment) => {
  it.each(PREPARED)('is refused by name: %s', async (_case, kind, ruleset) => {
    expect(await playAt(moment, kind, ruleset, null)).toBe('ok')
    for (const attack of LATER_ATTACKS) {
      const check = await playAt(moment, kind, ruleset, attack)
      if (check !== null) expect(check, attack.name).toBe(attack.check)
    }
  })

  it('has each of the attacks fit somewhere', async () => {
    for (const attack of LATER_ATTACKS) {
      const played = await Promise.all(PREPARED.map(([, kind, rules]) => playAt(moment, kind, rules, attack)))
      expect(played.filter((check) => check !== null).length, attack.name).toBeGreaterThan(0)
    }
  })
})
