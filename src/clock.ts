/** The one source of time: keeper, sandbox and chain share it, so that a test can hold it still. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: () => number
  /** Resolve after `ms` milliseconds, or reject with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
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
