import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { Checkpointed, CheckpointOrder } from './checkpoint-worker.ts'

/** What was committed comes into the database itself after this long. */
const EVERY_MS = 2_000
/** A log of more pages than this, 32 MB, has to begin anew: beside a writer that never rests it only grows. */
const LOG_PAGES_MAX = 8_000

/** Brings what a database's log holds into its file, in a thread: it takes syncs of the disk. */
export type Checkpoints = {
  /** Something was committed. */
  readonly due: () => void
  /** Whether the log is too long, and `restart` is to be called between two transactions. */
  readonly mustRestart: () => boolean
  /** Begin the log anew, and call `done`: until then nothing may be written. */
  readonly restart: (done: () => void) => void
  /** Resolve when the database has no other connection of this process. */
  readonly close: () => Promise<void>
}

/** Create the checkpoints of a database's file. `onFailed` is called with what SQLite says of the disk. */
export function createCheckpoints(file: string, onFailed: (cause: Error) => void): Checkpoints {
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  let state: 'idle' | 'working' | 'closed' = 'idle'
  let isLong = false
  let onRestarted: (() => void) | undefined
  const pin = createPin(file)

  const order = (restart: boolean) => {
    timer = undefined
    state = 'working'
    try {
      restart ? pin.close() : pin.renew()
      worker ??= start()
      worker.postMessage({ file, restart } satisfies CheckpointOrder)
    } catch (cause) {
      ended(cause)
    }
  }
  const ended = (failure: unknown) => {
    if (state !== 'closed') state = 'idle'
    // A test, or a person, may have removed the directory.
    if (failure instanceof Error && existsSync(file)) onFailed(failure)
    onRestarted?.()
    onRestarted = undefined
  }
  const reported = (result: Checkpointed) => {
    if ('message' in result)
      return ended(Object.assign(new Error(result.message), { errcode: result.errcode }))
    isLong = onRestarted === undefined && result.pages > LOG_PAGES_MAX
    try {
      // Else it stays where it is: a reader of a log that is wholly in the database keeps nobody from it.
      if (onRestarted !== undefined && state !== 'closed') pin.renew()
      ended(null)
    } catch (cause) {
      ended(cause)
    }
  }
  const start = () => {
    const started = new Worker(new URL('./checkpoint-worker.ts', import.meta.url))
    started.unref()
    started.on('message', reported)
    started.on('error', ended)
    return started
  }
  return {
    due: () => {
      // What is committed while a checkpoint goes on makes the next commit ask again.
      if (state === 'idle') timer ??= setTimeout(() => order(false), EVERY_MS).unref()
    },
    mustRestart: () => isLong && state === 'idle',
    restart: (done) => {
      clearTimeout(timer)
      isLong = false
      onRestarted = done
      order(true)
    },
    close: async () => {
      state = 'closed'
      clearTimeout(timer)
      pin.close()
      // It ends what SQLite is at.
      worker?.ref()
      await worker?.terminate()
      ended(null)
    },
  }
}

/**
 * A reader of what a log holds. Where all of a log is in the database and nobody reads it, the next writer begins it anew
 * and syncs its header, and the event loop would wait: so somebody reads it. Source: sqlite.org/wal.html, section 2.4.
 */
function createPin(file: string) {
  let reader: DatabaseSync | undefined
  const close = () => {
    reader?.close()
    reader = undefined
  }
  return {
    /** Read what was committed last; a checkpoint stops there. */
    renew: () => {
      if (reader?.isTransaction) reader.exec('COMMIT')
      reader ??= new DatabaseSync(file, { readOnly: true })
      reader.exec('BEGIN; SELECT 1 FROM sqlite_schema')
    },
    close,
  }
}
