/** What one instance sees of a beat that another shows, by its own monotonic clock alone. */
export type Watch = {
  /** See what is shown now: `askedAtMs` is when it was asked for, `seenAtMs` when the answer came. */
  readonly see: (shown: string, askedAtMs: number, seenAtMs: number) => void
  /** How long the same was shown, ms, watched without pause. */
  readonly unchangedMs: () => number
  /** Whether it was seen to change, the last time so many ms ago at most. */
  readonly changedWithin: (ms: number) => boolean
}

/** Watch something. After more than `pauseMs` between two looks it begins anew: what went on meanwhile was not watched. */
export function createWatch(pauseMs: number): Watch {
  let shown: string | undefined
  let sinceMs = 0
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let hasChanged = false
  return {
    see: (next, askedAtMs, seenAtMs) => {
      const isWatched = askedAtMs - lookedAtMs <= pauseMs
      if (next !== shown || !isWatched) {
        hasChanged = shown !== undefined && next !== shown
        shown = next
        sinceMs = seenAtMs
      }
      // It was so when it was asked at the earliest, and nobody knows when after.
      lookedAtMs = askedAtMs
    },
    unchangedMs: () => Math.max(lookedAtMs - sinceMs, 0),
    changedWithin: (ms) => hasChanged && lookedAtMs - sinceMs <= ms,
  }
}
