import type { Moment } from '../../agent.ts'
import type { ManagerSeen, Unopened } from '../seen.ts'
import type { Declared } from './declared.ts'
import { compareSettings } from './vault-settings.ts'

/** Steps of settings that are proposed and not opened, with those of the look before. Pure. What is under way is none of them. */
export function unopenedOf(seen: Moment & ManagerSeen, declared: Declared): Unopened {
  const differences = declared.vaultSettings.flatMap((one) => compareSettings(one, seen, declared))
  return new Map(
    differences.flatMap(({ subject, outcome }) => {
      const before = seen.unopened.get(subject)
      if ('check' in outcome)
        return before !== undefined && WAITS.has(outcome.check) ? [[subject, before]] : []
      const { occurrence } = outcome
      const sinceMs = before?.occurrence === occurrence ? before.sinceMs : seen.nowMs
      return [[subject, { occurrence, sinceMs, lastMs: seen.nowMs }]]
    }),
  )
}

/** What waits for another is still what it was. */
const WAITS: ReadonlySet<string> = new Set(['waits_its_turn', 'not_opened'])
