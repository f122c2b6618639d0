import type { Clock } from '../clock.ts'
import type { Queue } from './queue.ts'

/** What in-process wake-ups need. */
export type TimersDeps = {
  readonly clock: Clock
  /** Run a workflow; answers the milliseconds after which it wants to run again, or null. */
  readonly run: (id: string) => Promise<number | null>
  readonly onError: (id: string, error: unknown) => void
}

/** A run that failed is looked at again: nothing else would wake it. */
const RETRY_MS = 1_000

type Entry = { running: boolean; again: boolean; timer: AbortController | undefined; dueAtMs: number }

/** Wake workflows from this process, one run at a time for each workflow, all workflows side by side. */
export function createTimers(deps: TimersDeps): Queue {
  const entries = new Map<string, Entry>()
  const running = new Set<Promise<void>>()
  let closed = false

  const start = (id: string, entry: Entry) => {
    entry.running = true
    const run = deps
      .run(id)
      .catch((error: unknown) => {
        deps.onError(id, error)
        return RETRY_MS
      })
      .then((delayMs) => {
        entry.running = false
        running.delete(run)
        if (closed) return
        if (entry.again) {
          entry.again = false
          start(id, entry)
        } else if (delayMs === null) entries.delete(id)
        else wake(id, delayMs)
      })
    running.add(run)
  }

  const wake = (id: string, delayMs: number): void => {
    if (closed) return
    const entry = entries.get(id) ?? { running: false, again: false, timer: undefined, dueAtMs: 0 }
    entries.set(id, entry)
    if (entry.running) {
      // A wake-up during a run may be about what the run has read already: look once more.
      if (delayMs === 0) entry.again = true
      return
    }
    const dueAtMs = deps.clock.monotonicMs() + delayMs
    if (entry.timer !== undefined && entry.dueAtMs <= dueAtMs) return
    // Nobody reads the reason; without one an abort makes an error with a stack each time.
    entry.timer?.abort('replaced')
    entry.timer = undefined
    if (delayMs === 0) {
      start(id, entry)
      return
    }
    const timer = new AbortController()
    entry.timer = timer
    entry.dueAtMs = dueAtMs
    deps.clock.sleep(delayMs, timer.signal).then(
      () => {
        // Replaced while its end was on its way.
        if (closed || entry.timer !== timer) return
        entry.timer = undefined
        start(id, entry)
      },
      () => undefined,
    )
  }

  return {
    wake,
    close: async () => {
      closed = true
      for (const entry of entries.values()) entry.timer?.abort()
      await Promise.all(running)
    },
  }
}
