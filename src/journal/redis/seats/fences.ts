import type { RedisStore } from '../link/store.ts'
import { type Controls, fence, type Mark } from './seat.ts'

/** The barriers of a term: who asks while one is under way shares the next with all others. */
export type Fences = {
  /**
   * Resolve when all that was written before is acknowledged, with what the ledger has in some fields; empty where it
   * has nothing. Throws what {@link fence} throws.
   */
  readonly pass: (fields: readonly string[]) => Promise<ReadonlyMap<string, string>>
}

type Batch = { readonly fields: Set<string>; readonly passed: Promise<ReadonlyMap<string, string>> }

/**
 * Create the fences of a writer, whose mark is read as each begins; `onControls` is called with what each finds set for the
 * fleet.
 */
export function createFences(
  mark: () => Mark,
  store: RedisStore,
  onControls: (controls: Controls) => void,
): Fences {
  let following: Batch | undefined
  let underWay: Promise<unknown> = Promise.resolve()

  const pass = async (fields: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const { controls, entries } = await fence(mark(), fields, store)
    onControls(controls)
    return new Map(fields.map((field, index) => [field, entries[index] ?? '']))
  }
  const begin = (): Batch => {
    const fields = new Set<string>()
    const passed = underWay.then(() => {
      // What is written from here on may come after this fence.
      following = undefined
      const passing = pass([...fields])
      underWay = passing.catch(() => undefined)
      return passing
    })
    return { fields, passed }
  }
  return {
    pass: (fields) => {
      following ??= begin()
      for (const field of fields) following.fields.add(field)
      return following.passed
    },
  }
}
