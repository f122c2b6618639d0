import type { EventEnvelope } from '../contract/assumptions.ts'
import { createRecentIds } from './recent-ids.ts'

/** More events than the service replays at once after a gap. */
const SEEN_LEAST = 4_096

/** A reason to look again, and no more: what is true is read anew. An event's `type` is never `sweep`. */
export type Hint =
  | { readonly type: string; readonly subject: string; readonly receivedAtMs: number }
  | { readonly type: 'sweep' }

/** The hints of a feed: each event of a wanted type once, whichever way it comes, and sweeps. */
export type Hints = {
  readonly listen: (listener: (hint: Hint) => void) => void
  /** Give an event as a hint, unless it was given; `silent` only remembers it. Throws what a listener throws. */
  readonly event: (event: EventEnvelope, silent?: boolean) => void
  readonly sweep: () => void
  /** Events passed that nobody was given: the next contact with the service gives a sweep. */
  readonly oweSweep: () => void
  readonly paySweep: () => void
  readonly counts: () => { readonly hints: number; readonly duplicates: number }
}

/** Create the hints of events of some types. Once stopped, nothing is given any more. */
export function createHints(wanted: readonly string[], nowMs: () => number, stop: AbortSignal): Hints {
  const types = new Set(wanted)
  const listeners: ((hint: Hint) => void)[] = []
  const seen = createRecentIds(SEEN_LEAST)
  let hints = 0
  let duplicates = 0
  let isDue = false

  const give = (hint: Hint): void => {
    if (stop.aborted) return
    if (hint.type !== 'sweep') hints += 1
    for (const listener of listeners) listener(hint)
  }

  return {
    listen: (listener) => listeners.push(listener),
    event: ({ id, type, subject }, silent = false) => {
      if (seen.has(id)) duplicates += 1
      else if (!silent && types.has(type)) give({ type, subject, receivedAtMs: nowMs() })
      seen.add(id)
    },
    sweep: () => give({ type: 'sweep' }),
    oweSweep: () => {
      isDue = true
    },
    paySweep: () => {
      if (isDue) give({ type: 'sweep' })
      isDue = false
    },
    counts: () => ({ hints, duplicates }),
  }
}
