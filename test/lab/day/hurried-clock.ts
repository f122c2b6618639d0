import { type Clock, systemClock } from '../../../src/clock.ts'

/** How many of its seconds pass in one of the machine's. */
const SPEED = 7

/** A clock that was right at `startedAtMs` and hurries since: every process that starts it so reads the same time. */
export const hurriedClock = (startedAtMs: number): Clock => ({
  nowMs: () => Math.floor(startedAtMs + (Date.now() - startedAtMs) * SPEED),
  monotonicMs: () => performance.now() * SPEED,
  sleep: (ms, signal) => systemClock.sleep(ms / SPEED, signal),
})
