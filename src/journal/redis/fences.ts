import type { Hex } from 'viem'
import { type Controls, fence, type Mark } from './seat.ts'
import type { RedisStore } from './store.ts'

/** The barriers of a term: who asks while one is under way shares the next with all others. */
export type Fences = {
  /**
   * Resolve when all that was written before is acknowledged, with the ledger's entries of some digests; empty where it has
   * none. Throws what {@link fence} throws.
   */
  readonly pass: (digests: readonly Hex[]) => Promise<ReadonlyMap<Hex, string>>
}

type Batch = { readonly digests: Set<Hex>; readonly passed: Promise<ReadonlyMap<Hex, string>> }

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

  const pass = async (digests: readonly Hex[]): Promise<ReadonlyMap<Hex, string>> => {
    const { controls, entries } = await fence(mark(), digests, store)
    onControls(controls)
    return new Map(digests.map((digest, index) => [digest, entries[index] ?? '']))
  }
  const begin = (): Batch => {
    const digests = new Set<Hex>()
    const passed = underWay.then(() => {
      // What is written from here on may come after this fence.
      following = undefined
      const passing = pass([...digests])
      underWay = passing.catch(() => undefined)
      return passing
    })
    return { digests, passed }
  }
  return {
    pass: (digests) => {
      following ??= begin()
      for (const digest of digests) following.digests.add(digest)
      return following.passed
    },
  }
}
