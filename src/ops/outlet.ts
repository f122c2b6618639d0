import { writeSync } from 'node:fs'

/** What could not be written. */
export type LostOutput = {
  /** Texts since the start: a line of the log each, or what the screen shows at once. */
  readonly count: number
  /** Why the last one was lost. */
  readonly problem: string
  /** When that was, by the clock that nobody sets. */
  readonly atMs: number
}

/** Where a process says what it does. Who reads it may stall, leave or be full: nothing waits for that, and nothing ends by it. */
export type Outlet = {
  readonly name: 'log' | 'screen'
  /** Written at once, so that what explains a crash is out before the crash; else as soon as it is taken, or lost. Never throws. */
  readonly write: (text: string) => void
  /** Null where nothing was lost. */
  readonly lost: () => LostOutput | null
}

/** What waits for a slow reader, in bytes. */
const WAITING_MAX = 1_048_576
const RETRY_MS = 50

/** What a failure of a write means to people. Source: write(2). */
const PROBLEMS: Readonly<Record<string, string>> = {
  EAGAIN: 'its reader does not read',
  EPIPE: 'its reader has left',
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk is full',
}

/** Say why a write failed. Pure. */
export function problemOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  return PROBLEMS[code] ?? code
}

/** Open an outlet on a file, a terminal, or a pipe that does not block, as Node makes those of a process's own streams. */
export function createOutlet(name: Outlet['name'], fd: number, monotonicMs: () => number): Outlet {
  let waiting: readonly Buffer[] = []
  /** Whether the first that waits was taken in part: what came in its place would be read as of the same line. */
  let isBegun = false
  let timer: NodeJS.Timeout | undefined
  let lost: LostOutput | null = null
  const lose = (count: number, code: string) => {
    lost = { count: (lost?.count ?? 0) + count, problem: PROBLEMS[code] ?? code, atMs: monotonicMs() }
  }
  const drain = () => {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      const taken = writeSync(fd, first)
      isBegun = taken < first.length
      waiting = isBegun ? [first.subarray(taken), ...waiting.slice(1)] : waiting.slice(1)
    }
  }
  const flush = () => {
    clearTimeout(timer)
    try {
      drain()
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
      if (code === 'EAGAIN') {
        timer = setTimeout(flush, RETRY_MS)
        return
      }
      const kept = isBegun ? 1 : 0
      lose(waiting.length - kept, code)
      waiting = waiting.slice(0, kept)
    }
  }
  return {
    name,
    write: (text) => {
      const bytes = Buffer.from(text)
      if (waiting.reduce((sum, { length }) => sum + length, bytes.length) > WAITING_MAX) lose(1, 'EAGAIN')
      else waiting = [...waiting, bytes]
      flush()
    },
    lost: () => lost,
  }
}
