import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import type { EventSource } from './event-source.ts'
import type { FeedCursor } from './feed-cursor.ts'
import type { Hints } from './hints.ts'

/** One round of polling reads at most this many pages, 2,000 events; a sweep sees the rest sooner. */
const PAGES_MAX = 20
/** A stream that loses something all the time must not take the whole rate limit for its gaps. */
const AGAIN_MS = 100

/** What polling needs. */
type PollingDeps = {
  readonly client: Pick<EventSource, 'pollEvents'>
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly cursor: FeedCursor
  readonly hints: Pick<Hints, 'event' | 'oweSweep' | 'paySweep'>
  /** The service answered; so many rows could not be read. */
  readonly onPage: (unreadable: number) => void
  /** The service does not know the cursor any more. */
  readonly onCursorRefused: () => void
}

/** Polls the service's events from the cursor to their end, once at a time. */
export type Polling = {
  /** Poll now, or once more after the round under way. Throws what the reads throw. */
  readonly drain: () => Promise<void>
  readonly isDraining: () => boolean
}

/** Create the polling of a feed. */
export function createPolling(deps: PollingDeps): Polling {
  const { clock, stop, hints, cursor } = deps
  let draining: Promise<void> | undefined
  let again = false

  const drainWhileAsked = async () => {
    try {
      while (again) {
        again = false
        await poll()
        if (again) await clock.sleep(AGAIN_MS, stop).catch(() => undefined)
      }
    } finally {
      draining = undefined
    }
  }

  const poll = async () => {
    // Without a cursor the service begins with history: a sweep says more, and sooner.
    const silent = cursor.value() === null
    let more = true
    for (let pages = 0; more && pages < PAGES_MAX; pages += 1) {
      const before = cursor.value()
      const page = await readPage(before)
      deps.onPage(page.dropped)
      for (const item of page.items) {
        hints.event(item.event, silent)
        cursor.move(item.cursor)
      }
      // No row of it could be read: its own cursor leads past it.
      if (cursor.value() === before && page.nextCursor !== null) cursor.move(page.nextCursor)
      more = page.hasMore && cursor.value() !== before
    }
    // What was passed over in silence, or lies beyond the last page, is for a sweep to see.
    if (silent || more) hints.oweSweep()
    hints.paySweep()
  }

  const readPage = async (from: string | null) => {
    try {
      return await deps.client.pollEvents(from, stop)
    } catch (error) {
      if (error instanceof RolekeeperError && error.code === 'service.bad_request') deps.onCursorRefused()
      throw error
    }
  }

  return {
    drain: () => {
      again = true
      draining ??= drainWhileAsked()
      return draining
    },
    isDraining: () => draining !== undefined,
  }
}
