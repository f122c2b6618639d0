import { type Clock, endsWithin } from '../clock.ts'
import type { Log } from '../ops/log.ts'

/** What has not ended by then is left to the end of the process: a stop waits twice, and ends within 10 s. */
const END_MS_MAX = 4_000

/**
 * End what runs, all of it at once, but wait no longer than a supervisor does: what matters is on disk. One that fails
 * holds up none of the others.
 */
export async function endAll(
  ends: readonly (() => unknown)[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const all = Promise.all(
    ends.map(async (end) => {
      try {
        await end()
      } catch (error) {
        log.warn('could not be closed', {}, error)
      }
    }),
  )
  if (!(await endsWithin(all, END_MS_MAX, clock)))
    log.warn('not everything could be closed in time', { waitedMs: END_MS_MAX })
}
