import type { Clock } from '../clock.ts'

/** What is read of the chain beside decisions, again and again. */
export type CachedRead<T> = {
  /** What was read last, or now where nothing was or it is due. Throws what reading throws. */
  readonly get: () => Promise<T>
  /** What was read last; null before the first. */
  readonly last: () => T | null
  /** Read again if it is due, and do not wait for it. */
  readonly begin: () => void
}

/** Create what is read again when it is due; one read goes on at a time, and one that failed is due. */
export function createCachedRead<T>(
  read: () => Promise<T>,
  {
    clock,
    everyMs,
    onFailed,
  }: {
    readonly clock: Pick<Clock, 'monotonicMs'>
    /** How long what was read is good for. */
    readonly everyMs: (last: T) => number
    /** Called where a read that nobody waited for failed. */
    readonly onFailed: (error: unknown) => void
  },
): CachedRead<T> {
  let last: { readonly value: T; readonly atMs: number } | null = null
  let reading: Promise<T> | undefined
  const get = async () => {
    if (last !== null && clock.monotonicMs() - last.atMs < everyMs(last.value)) return last.value
    reading ??= read()
      .then((value) => {
        last = { value, atMs: clock.monotonicMs() }
        return value
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }
  return {
    get,
    last: () => last?.value ?? null,
    begin: () => {
      get().catch(onFailed)
    },
  }
}
