import { setTimeout as sleep } from 'node:timers/promises'
import type { Line } from './connect.ts'
import { faultError, isPassing, LineFault } from './faults.ts'

/** What has no answer is tried again for so long: a lost reply is settled in it, a Redis that is away is not waited for. */
const TRY_MS = 2_000
/** Between two tries from the third on, so that a server that refuses connections is not asked a thousand times. */
const PAUSE_MS = 25

/** A way to Redis that outlives its lines: each new one is verified before anything else runs on it. */
export type Link = {
  /**
   * Do something on a verified line; where its outcome is not known, again on the next one, for a while: so it must be
   * idempotent. Throws RolekeeperError `journal.unknown` where the last try may have run, what {@link faultError} says where
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

/** Create a link; its first line is opened when it is used. */
export function createLink({ open, verify, server }: LinkDeps): Link {
  let count = 0
  let isClosed = false
  let current: Line | undefined
  let opening: Promise<Line> | undefined

  const begin = async (): Promise<Line> => {
    count += 1
    const line = await open(count)
    try {
      await verify(line)
    } catch (error) {
      line.close()
      throw error
    }
    current = line
    return line
  }
  const verified = async (): Promise<Line> => {
    if (isClosed) throw new LineFault('ended', false)
    if (current?.isOpen()) return current
    // Whoever comes meanwhile shares the next line.
    opening ??= begin().finally(() => {
      opening = undefined
    })
    return opening
  }
  return {
    use: async (work) => {
      const startedAtMs = performance.now()
      let mayHaveRun = false
      for (let tries = 1; ; tries += 1) {
        try {
          const line = await verified()
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
          if (!isPassing(error) || isClosed || performance.now() - startedAtMs > TRY_MS) {
            throw faultError(new LineFault(error.word, mayHaveRun), server)
          }
        }
        if (tries > 1) await sleep(PAUSE_MS)
      }
    },
    close: () => {
      isClosed = true
      current?.close()
    },
  }
}
