import type { BorrowerCollection, Rows } from '../../agents/rows.ts'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { Page } from '../service/collection.ts'
import type { BorrowerRows } from './borrower-rows.ts'

/** A page that cannot be read is asked for again this often, at its cursor, before the whole sweep is given up. */
const PAGE_ATTEMPTS = 5
const PAGE_PAUSE_MS = 1_000
/** Five million rows. A service that gives ever new cursors would else be swept for ever. */
const PAGES_MAX = 50_000
/** A first sweep that takes longer is said so, again and again: nothing is looked at before it has ended. */
const SAY_EVERY_MS = 60_000

/**
 * Read every page of a collection; one that fails for now is asked for again, because a sweep is long. Throws
 * RolekeeperError `service.too_large` past {@link PAGES_MAX} pages, and what reading the last of several tries throws.
 */
export async function* pagesOf<C extends BorrowerCollection>(
  source: BorrowerRows['sources'][C],
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Page<Rows[C][number]>> {
  let cursor: string | null = null
  let pages = 0
  for (let failures = 0; ; ) {
    try {
      for await (const page of source.pages({ cursor, signal })) {
        failures = 0
        pages += 1
        if (pages > PAGES_MAX) throw tooLarge()
        cursor = page.nextCursor
        yield page
      }
      return
    } catch (error) {
      const again = error instanceof RolekeeperError && error.retry === 'later' && cursor !== null
      failures += 1
      if (!again || failures >= PAGE_ATTEMPTS || signal.aborted) throw error
      await clock.sleep(PAGE_PAUSE_MS, signal)
    }
  }
}

const tooLarge = () =>
  new RolekeeperError('service.too_large', `A sweep of a collection went past ${PAGES_MAX} pages.`, {
    fix: 'look whether the service ends its pages, or use a deployment namespace with fewer rows.',
    facts: { pagesMax: PAGES_MAX },
  })

/** Wait for the first sweep, and say every minute how long it has taken. Throws what it throws. */
export async function waitAndSay(
  sweeping: Promise<void> | undefined,
  clock: Clock,
  onSlow: (sweptMs: number) => void,
): Promise<void> {
  const ended = new AbortController()
  const say = async () => {
    for (let sweptMs = SAY_EVERY_MS; ; sweptMs += SAY_EVERY_MS) {
      await clock.sleep(SAY_EVERY_MS, ended.signal)
      onSlow(sweptMs)
    }
  }
  // Ends with the sweep.
  say().catch(() => undefined)
  try {
    await sweeping
  } finally {
    ended.abort()
  }
}
