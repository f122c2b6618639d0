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

/** A clock that only `move` moves, by milliseconds; who sleeps wakes once it has passed what they asked for. */
export function heldClock(startMs = Date.parse('2026-01-01T00:00:00Z')) {
  let nowMs = startMs
  const due = new Set<{ atMs: number; wake: () => void }>()
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const sleeper = { atMs: nowMs + ms, wake: resolve }
        due.add(sleeper)
        signal?.addEventListener('abort', () => due.delete(sleeper) && reject(signal.reason), { once: true })
      }),
  }
  const move = (ms: number) => {
    nowMs += ms
    for (const each of due) if (each.atMs <= nowMs && due.delete(each)) each.wake()
  }
  return { ...clock, move }
}
