import { DatabaseSync, StatementSync } from 'node:sqlite'
import { quantile } from './waves.ts'

/** How long calls took, milliseconds. */
type Spread = { readonly p999Ms: number; readonly maxMs: number }

/** What SQLite did on this thread: every call of it holds the event loop. */
export type SqliteFigures = {
  readonly calls: number
  /** Computing time of the thread: a machine that suspends it adds nothing. */
  readonly cpu: Spread
  readonly wall: Spread
  /** The call that computed longest. */
  readonly longest: string
}

/** Time all that SQLite does from now on. @returns what it did since the last time it was asked. */
export function timeSqlite(): () => SqliteFigures {
  let cpus: number[] = []
  let walls: number[] = []
  let longest = { cpuMs: 0, sql: '' }
  const timed = <T extends object, K extends keyof T>(
    target: T,
    name: K,
    sqlOf: (self: unknown, given: unknown[]) => unknown,
  ) => {
    const work = target[name]
    if (typeof work !== 'function') return
    Object.defineProperty(target, name, {
      value(this: unknown, ...given: unknown[]) {
        const before = process.threadCpuUsage()
        const startedMs = performance.now()
        try {
          return Reflect.apply(work, this, given)
        } finally {
          const wallMs = performance.now() - startedMs
          walls.push(wallMs)
          const { user, system } = process.threadCpuUsage(before)
          // The kernel counts in ticks of some milliseconds, and nothing computes for longer than it takes.
          const cpuMs = Math.min((user + system) / 1_000, wallMs)
          cpus.push(cpuMs)
          if (cpuMs > longest.cpuMs) longest = { cpuMs, sql: String(sqlOf(this, given)) }
        }
      },
    })
  }
  timed(DatabaseSync.prototype, 'exec', (_self, [sql]) => sql)
  for (const name of ['run', 'all', 'get'] as const)
    timed(StatementSync.prototype, name, (self) => (self instanceof StatementSync ? self.sourceSQL : ''))
  const spread = (all: readonly number[]): Spread => ({
    p999Ms: quantile(all, 0.999),
    maxMs: all.reduce((most, each) => Math.max(most, each), 0),
  })
  return () => {
    const figures = { calls: cpus.length, cpu: spread(cpus), wall: spread(walls), longest: longest.sql }
    cpus = []
    walls = []
    longest = { cpuMs: 0, sql: '' }
    return figures
  }
}
