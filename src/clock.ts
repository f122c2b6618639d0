/** The one source of time: keeper, sandbox and chain share it, so that a test can hold it still. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: () => number
  /** Milliseconds since any moment, for spans within this process: people and time servers set the other clock, never this one. */
  readonly monotonicMs: () => number
  /** Resolve after `ms` milliseconds, or reject with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
}

/** Whether work ends within so many milliseconds; waits no longer, and ends nothing. Throws what the work throws by then. */
export async function endsWithin(
  work: Promise<unknown>,
  ms: number,
  clock: Pick<Clock, 'sleep'>,
): Promise<boolean> {
  const ended = new AbortController()
  const isLate = () => false
  try {
    return await Promise.race([work.then(() => true), clock.sleep(ms, ended.signal).then(isLate, isLate)])
  } finally {
    // Nobody reads the reason; without one an abort makes an error with a stack each time.
    ended.abort('ended')
  }
}
