import { setTimeout as sleep } from 'node:timers/promises'
import type { Line } from './connect.ts'
import { faultError, isPassing, LineFault } from './faults.ts'

/** What has no answer is tried again for so long: a lost reply is settled in it, a Redis that is away is not waited for. */
const TRY_MS = 2_000
/** Between two tries from the third on. */
const PAUSE_MS = 25
/** Between two lines of which the first could not be used: one more pause for each, up to this. */
const LINE_PAUSE_MS_MAX = 250

/** A way to Redis that outlives its lines: each new one is verified before anything else runs on it. */
export type Link = {
  /**
   * Do something on a verified line; where its outcome is not known, again on the next one, for a while: so it must be
   * idempotent. Where no line could be used for as long already, it is tried once. Throws RolekeeperError `journal.unknown` where the last try may have run, what {@link faultError} says where
   * none did, and what `work` or the verification throws.
   */
  readonly use: <T>(work: (line: Line) => Promise<T>) => Promise<T>
  readonly close: () => void
}

/** What a link is made of. */
type LinkDeps = {
  /** Connect; the number is one more with each line. Throws LineFault. */
  readonly open: (number: number) => Promise<Line>
  /** Look at the server and load what runs on it. Throws RolekeeperError where it must not be used, or LineFault. */
  readonly verify: (line: Line) => Promise<void>
  /** The server as messages name it. */
  readonly server: string
}

/** The lines of a link, one after another. */
type Lines = {
  /** The line of now, or the next one: whoever comes while it is opened shares it. */
  readonly verified: () => Promise<Line>
  /** Since when no line could be used; not yet where one can. */
  readonly downSinceMs: () => number
  readonly isClosed: () => boolean
  readonly close: () => void
}

function createLines({ open, verify }: LinkDeps): Lines {
  let count = 0
  let isClosed = false
  let current: Line | undefined
  let opening: Promise<Line> | undefined
  /** Lines in a row that could not be used. */
  let failures = 0
  let downSinceMs = Number.POSITIVE_INFINITY

  const begin = async (): Promise<Line> => {
    // However many wait for it: a server that is away is asked a few times a second.
    if (failures > 0) await sleep(Math.min(failures * PAUSE_MS, LINE_PAUSE_MS_MAX))
    if (isClosed) throw ended()
    count += 1
    const line = await open(count)
    try {
      await verify(line)
      if (isClosed) throw ended()
    } catch (error) {
      line.close()
      throw error
    }
    current = line
    return line
  }
  const next = async (): Promise<Line> => {
    try {
      const line = await begin()
      failures = 0
      downSinceMs = Number.POSITIVE_INFINITY
      return line
    } catch (error) {
      failures += 1
      downSinceMs = Math.min(downSinceMs, performance.now())
      throw error
    } finally {
      opening = undefined
    }
  }
  return {
    verified: async () => {
      if (isClosed) throw ended()
      if (current?.isOpen()) return current
      opening ??= next()
      return opening
    },
    downSinceMs: () => downSinceMs,
    isClosed: () => isClosed,
    close: () => {
      isClosed = true
      current?.close()
    },
  }
}

/** Create a link; its first line is opened when it is used. */
export function createLink(deps: LinkDeps): Link {
  const lines = createLines(deps)
  return {
    use: async (work) => {
      const startedAtMs = performance.now()
      let mayHaveRun = false
      for (let tries = 1; ; tries += 1) {
        try {
          const line = await lines.verified()
          try {
            return await work(line)
          } catch (error) {
            // What it answers is not for this line alone: a server that was demoted or restarted is looked at again.
            if (error instanceof LineFault && isPassing(error)) line.close()
            throw error
          }
        } catch (error) {
          if (!(error instanceof LineFault)) throw error
          mayHaveRun ||= error.mayHaveRun
          const triedMs = performance.now() - Math.min(startedAtMs, lines.downSinceMs())
          if (!isPassing(error) || lines.isClosed() || triedMs > TRY_MS) {
            throw faultError(new LineFault(error.word, mayHaveRun), deps.server)
          }
        }
        if (tries > 1) await sleep(PAUSE_MS)
      }
    },
    close: lines.close,
  }
}

const ended = () => new LineFault('ended', false)
