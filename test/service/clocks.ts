import { type Clock, systemClock } from '../../src/clock.ts'

/** A clock whose sleeps end at once, and are what moves it. */
export function leapingClock(startMs = Date.parse('2026-01-01T00:00:00Z')) {
  const sleptMs: number[] = []
  let nowMs = startMs
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      sleptMs.push(ms)
      nowMs += ms
    },
  }
  return { ...clock, sleptMs, leap: (ms: number) => (nowMs += ms) }
}

/** The machine's clock, run faster: real timers, fewer of their seconds. They are not exact: nothing is measured by it. */
export function fastClock(speed: number): Clock {
  const startMs = Date.now()
  return {
    nowMs: () => startMs + (Date.now() - startMs) * speed,
    monotonicMs: () => performance.now() * speed,
    sleep: (ms, signal) => systemClock.sleep(ms / speed, signal),
  }
}
