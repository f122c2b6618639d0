import { setTimeout as sleep } from 'node:timers/promises'

/** The limit of every wait in the tests: a busy machine stays below it, a system that hangs does not. */
export const WAIT_MS_MAX = 60_000

/**
 * Wait until an assertion holds, tried every so many milliseconds, and return what it returned. Throws what it threw last where it
 * never holds. Programs of the lab use it, too, which run without the test runner.
 */
export async function until<T>(isSo: () => T | Promise<T>, interval = 5): Promise<T> {
  const untilMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    try {
      return await isSo()
    } catch (error) {
      if (performance.now() >= untilMs) throw error
    }
    await sleep(interval)
  }
}
