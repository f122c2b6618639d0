import type { SqliteJournal } from '../../src/journal/sqlite/sqlite.ts'

/**
 * A journal whose records cannot be changed once it was given them or gave them: what changes one throws. Its encoder keeps
 * what it wrote of a record by identity, and would not see the change.
 */
export const frozenJournal = (journal: SqliteJournal): SqliteJournal =>
  new Proxy(journal, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return async (...given: unknown[]) =>
        deepFreeze(await Reflect.apply(value, target, given.map(deepFreeze)))
    },
  })

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const each of Object.values(value)) deepFreeze(each)
  }
  return value
}
