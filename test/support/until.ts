import { vi } from 'vitest'

/** The limit of every wait in the tests: a busy machine stays below it, a system that hangs does not. */
export const WAIT_MS_MAX = 60_000

/** Wait until an assertion holds, tried every so many milliseconds, and return what it returned. Throws what it threw last where it never holds. */
export const until = <T>(isSo: () => T | Promise<T>, interval = 5): Promise<T> =>
  vi.waitFor(isSo, { timeout: WAIT_MS_MAX, interval })
