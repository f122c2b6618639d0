import { writeSync } from 'node:fs'

/** What of a text stays out when nobody takes it. */
export type Lost = {
  /** Texts since the start: a line of the log each, or what the screen shows at once. */
  readonly count: number
  /** Why the last one was lost. */
  readonly problem: string
  /** When that was, Unix milliseconds. */
  readonly atMs: number
}

/** Where a process says what it does. Who reads it may stall, leave or be full: nothing waits for that, and nothing ends by it. */
export type Outlet = {
  readonly name: 'log' | 'screen'
  /** Written at once, so that what explains a crash is out before the crash; or lost. Never throws. */
  readonly write: (text: string) => void
  /** Null where nothing was lost. */
  readonly lost: () => Lost | null
}

/** What a failure of a write means to people. Source: write(2). */
const PROBLEMS: Readonly<Record<string, string>> = {
  EAGAIN: 'its reader does not read',
  EPIPE: 'its reader has left',
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk is full',
}

/** Open an outlet on a file, a terminal, or a pipe that does not block, as Node makes those of a process's own streams. */
export function createOutlet(name: Outlet['name'], fd: number, nowMs: () => number): Outlet {
  /** The rest of a text that was taken in part: what follows it would be read as of the same line. */
  let rest: Buffer = Buffer.alloc(0)
  let lost: Lost | null = null
  /** Write as much as is taken; the rest of it. */
  const put = (bytes: Buffer) => bytes.subarray(writeSync(fd, bytes))
  return {
    name,
    write: (text) => {
      try {
        if (rest.length > 0) rest = put(rest)
        if (rest.length === 0) {
          rest = put(Buffer.from(text))
          return
        }
        lost = { count: (lost?.count ?? 0) + 1, problem: PROBLEMS.EAGAIN ?? '', atMs: nowMs() }
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
        lost = { count: (lost?.count ?? 0) + 1, problem: PROBLEMS[code] ?? code, atMs: nowMs() }
      }
    },
    lost: () => lost,
  }
}
