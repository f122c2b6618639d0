import type { Clock } from '../../src/clock.ts'

/** A clock that stands still until it is moved. */
export const createStillClock = () => {
  let nowMs = 0
  const sleeps = new Set<{ readonly dueMs: number; readonly wake: () => void }>()
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const sleep = { dueMs: nowMs + ms, wake: resolve }
        sleeps.add(sleep)
        signal?.addEventListener('abort', () => {
          sleeps.delete(sleep)
          reject(signal.reason)
        })
      }),
  }
  const go = async (ms: number) => {
    nowMs += ms
    for (const sleep of [...sleeps].filter(({ dueMs }) => dueMs <= nowMs)) {
      sleeps.delete(sleep)
      sleep.wake()
    }
    await settled()
  }
  return { clock, go, asleep: () => sleeps.size }
}

/** Let all go on that waits for nothing outside. */
export const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
