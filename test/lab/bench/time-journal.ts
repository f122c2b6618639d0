import { openSync, readSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Records } from '../../../src/journal/sqlite/records.ts'
import { SqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { quantile } from './waves.ts'

/** How long calls took, milliseconds. */
type Spread = { readonly p999Ms: number; readonly maxMs: number }

/** How long the journal kept this thread, from each time that it was entered until it was left or waited without it. */
export type JournalCalls = {
  readonly calls: number
  /** By the wall's clock. */
  readonly wall: Spread
  /** Less what the thread was ready and had no core: what the call did, its reads of the disk and collections included. */
  readonly held: Spread
  /** The longest in which no garbage was collected, and what it was. */
  readonly uncollected: { readonly maxMs: number; readonly name: string }
  /** The longest collection of garbage inside a call, whoever left it behind. */
  readonly collectionMaxMs: number
}

/** What takes less is not looked at by itself. */
const SLOW_MS = 0.5

type Call = {
  readonly startMs: number
  readonly wallMs: number
  readonly heldMs: number
  readonly name: string
}

/** Time all that the journal, its records and SQLite do on this thread. @returns what it was since the last time it was asked. */
export function timeJournal(): () => Promise<JournalCalls> {
  let walls: number[] = []
  let helds: number[] = []
  let slow: Call[] = []
  let collections: { readonly startTime: number; readonly duration: number }[] = []
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  timeOutermost((call) => {
    walls.push(call.wallMs)
    helds.push(call.heldMs)
    if (call.wallMs > SLOW_MS) slow.push(call)
  })
  return async () => {
    // Collections are reported in a later turn.
    await sleep(100)
    const inside = ({ startMs, wallMs }: Call) =>
      collections.filter(
        ({ startTime, duration }) => startTime < startMs + wallMs && startTime + duration > startMs,
      )
    const uncollected = slow
      .filter((call) => inside(call).length === 0)
      .toSorted((a, b) => b.heldMs - a.heldMs)
    const figures = {
      calls: walls.length,
      wall: spread(walls),
      held: spread(helds),
      uncollected: { maxMs: uncollected[0]?.heldMs ?? SLOW_MS, name: uncollected[0]?.name ?? '' },
      collectionMaxMs: most(slow.flatMap((call) => inside(call).map(({ duration }) => duration))),
    }
    walls = []
    helds = []
    slow = []
    collections = []
    return figures
  }
}

/** Time each call that is made from outside of all of them: one that another makes is a part of it. */
function timeOutermost(onCall: (call: Call) => void): void {
  const waitedMs = coreWait()
  let isInside = false
  const timed = (target: object, name: string, nameOf: (self: unknown, given: unknown[]) => unknown) => {
    const work: unknown = Reflect.get(target, name)
    if (typeof work !== 'function') return
    Object.defineProperty(target, name, {
      value(this: unknown, ...given: unknown[]) {
        if (isInside) return Reflect.apply(work, this, given)
        isInside = true
        const waitedBeforeMs = waitedMs()
        const startMs = performance.now()
        try {
          return Reflect.apply(work, this, given)
        } finally {
          const wallMs = performance.now() - startMs
          const heldMs = Math.max(0, wallMs - (waitedMs() - waitedBeforeMs))
          isInside = false
          onCall({ startMs, wallMs, heldMs, name: String(nameOf(this, given)) })
        }
      },
    })
  }
  timed(DatabaseSync.prototype, 'exec', (_self, [sql]) => sql)
  timed(DatabaseSync.prototype, 'close', () => 'close')
  for (const name of ['run', 'all', 'get'])
    timed(StatementSync.prototype, name, (self) => (self instanceof StatementSync ? self.sourceSQL : ''))
  for (const { prototype } of [Records, Object.getPrototypeOf(SqliteJournal), SqliteJournal]) {
    const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor')
    for (const name of names) timed(prototype, name, () => name)
  }
}

/** How long this thread was ready to run and had no core; 0 where the kernel does not say so. */
function coreWait(): () => number {
  let file: number
  try {
    file = openSync('/proc/thread-self/schedstat', 'r')
  } catch {
    return () => 0
  }
  const bytes = Buffer.alloc(64)
  // Nanoseconds on a core, nanoseconds waited for one, and how often it was given one.
  return () => Number(bytes.toString('latin1', 0, readSync(file, bytes, 0, 64, 0)).split(' ')[1]) / 1e6
}

const most = (all: readonly number[]): number => all.reduce((known, each) => Math.max(known, each), 0)

const spread = (all: readonly number[]): Spread => ({ p999Ms: quantile(all, 0.999), maxMs: most(all) })
