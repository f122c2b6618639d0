import type { Clock } from '../../../src/clock.ts'
import type { Random } from './random.ts'

/** Virtual time, and everything that is due in it. */
export type Scheduler = {
  readonly nowMs: () => number
  /** Do something so many milliseconds from now; what is due in the same millisecond comes in an order by chance. */
  readonly after: (ms: number, work: () => void) => () => void
  /**
   * Go on until nothing is due or `until` says so. Between two events every promise of the one before has settled:
   * nothing of the product waits for anything but its ports, its clock and the disk, which are all in virtual time.
   */
  readonly run: (until: () => boolean) => Promise<void>
}

type Event = { readonly atMs: number; readonly order: number; work: (() => void) | null }

const isBefore = (a: Event, b: Event) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)

/** The machine's own, from before any schedule put its own in its place. */
const realSetImmediate = globalThis.setImmediate

/** Create virtual time that begins at `startMs`. */
export function createScheduler(startMs: number, random: Random): Scheduler {
  const heap: Event[] = []
  let nowMs = startMs

  const push = (event: Event) => {
    let index = heap.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent]
      if (above === undefined || !isBefore(event, above)) break
      heap[index] = above
      index = parent
    }
    heap[index] = event
  }

  const pop = (): Event | undefined => {
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      let below = heap[child]
      if (below === undefined) break
      const right = heap[child + 1]
      if (right !== undefined && isBefore(right, below)) {
        below = right
        child += 1
      }
      if (!isBefore(below, last)) break
      heap[index] = below
      index = child
    }
    heap[index] = last
    return first
  }

  return {
    nowMs: () => nowMs,
    after: (ms, work) => {
      const event: Event = { atMs: nowMs + Math.max(0, Math.round(ms)), order: random.next(), work }
      push(event)
      return () => {
        event.work = null
      }
    },
    run: async (until) => {
      while (!until()) {
        const event = pop()
        if (event === undefined) return
        nowMs = event.atMs
        if (event.work === null) continue
        event.work()
        await new Promise<void>((resolve) => realSetImmediate(resolve))
      }
    },
  }
}

/** Whether the process that set a timer still runs: a dead one's never goes off. */
export type Owner = () => boolean

/** A clock of one process over virtual time. */
export const clockOf = (scheduler: Scheduler, isAlive: Owner): Clock => ({
  nowMs: scheduler.nowMs,
  monotonicMs: scheduler.nowMs,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const cancel = scheduler.after(ms, () => {
        if (!isAlive()) return
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      const onAbort = () => {
        cancel()
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
})

type Timers = Pick<
  typeof globalThis,
  'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval' | 'setImmediate' | 'clearImmediate'
>

/**
 * Put virtual timers in the place of the machine's, for what the product sets beside its clock. The process that is
 * alive when a timer is set owns it; what one throws would end that process.
 * @returns how to put them back.
 */
export function installTimers(
  scheduler: Scheduler,
  owner: () => Owner,
  onThrown: (error: unknown) => void,
): () => void {
  const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = globalThis
  const before: Timers = {
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    setImmediate,
    clearImmediate,
  }
  let last = 0
  const cancels = new Map<number, () => void>()
  const handleOf = (id: number) => ({
    ref: () => handleOf(id),
    unref: () => handleOf(id),
    hasRef: () => true,
    refresh: () => handleOf(id),
    [Symbol.toPrimitive]: () => id,
    [Symbol.dispose]: () => cancel(id),
  })
  const cancel = (handle: unknown) => {
    const id = Number(handle)
    cancels.get(id)?.()
    cancels.delete(id)
  }
  const set = (work: (...args: unknown[]) => void, ms: number, repeats: boolean, args: unknown[]) => {
    const id = ++last
    const isAlive = owner()
    const begin = () =>
      cancels.set(
        id,
        scheduler.after(ms, () => {
          if (!isAlive()) return
          cancels.delete(id)
          if (repeats) begin()
          try {
            work(...args)
          } catch (error) {
            onThrown(error)
          }
        }),
      )
    begin()
    return handleOf(id)
  }
  Object.assign(globalThis, {
    setTimeout: (work: () => void, ms = 0, ...args: unknown[]) => set(work, ms, false, args),
    setInterval: (work: () => void, ms = 0, ...args: unknown[]) => set(work, ms, true, args),
    setImmediate: (work: () => void, ...args: unknown[]) => set(work, 0, false, args),
    clearTimeout: cancel,
    clearInterval: cancel,
    clearImmediate: cancel,
  })
  return () => Object.assign(globalThis, before)
}
