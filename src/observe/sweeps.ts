import type { BorrowerCollection, Rows } from '../../agents/rows.ts'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { Page } from '../service/collection.ts'
import type { BorrowerRows } from './borrower-rows.ts'

/** A page that cannot be read is asked for again this often, at its cursor, before the whole sweep is given up. */
const PAGE_ATTEMPTS = 5
const PAGE_PAUSE_MS = 1_000

/** Read every page of a collection; one that fails for now is asked for again, because a sweep is long. */
export async function* pagesOf<C extends BorrowerCollection>(
  source: BorrowerRows['sources'][C],
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Page<Rows[C][number]>> {
  let cursor: string | null = null
  for (let failures = 0; ; ) {
    try {
      for await (const page of source.pages({ cursor, signal })) {
        failures = 0
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

/** Whether a sweep ends within so many milliseconds; waits no longer. Throws what the sweep throws meanwhile. */
export async function endsWithin(sweeping: Promise<void>, ms: number, clock: Clock): Promise<boolean> {
  const ended = new AbortController()
  const late = clock.sleep(ms, ended.signal).then(
    () => false,
    () => false,
  )
  try {
    return await Promise.race([sweeping.then(() => true), late])
  } finally {
    ended.abort()
  }
}
