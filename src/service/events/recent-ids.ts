/** A bounded memory of ids. */
type RecentIds = {
  readonly has: (id: string) => boolean
  readonly add: (id: string) => void
}

/**
 * Create a memory that holds at least the last `leastCount` ids and at most twice as many. Two generations: deleting
 * the oldest id of one big Set would walk over every id that was deleted before it.
 */
export function createRecentIds(leastCount: number): RecentIds {
  let young = new Set<string>()
  let old = new Set<string>()
  return {
    has: (id) => young.has(id) || old.has(id),
    add: (id) => {
      young.add(id)
      if (young.size < leastCount) return
      old = young
      young = new Set()
    },
  }
}
