import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Checkpointed } from './checkpoint-worker.ts'

/** What was committed comes into the database itself after this long. */
const EVERY_MS = 2_000
/** A log of more pages than this, 32 MB, is ended from the writer's side: beside one that never rests it only grows. */
const LOG_PAGES_MAX = 8_000

/** Brings what a database's log holds into its file, in a thread: it takes two syncs of the disk. */
export type Checkpoints = {
  /** Something was committed. */
  readonly due: () => void
  /** Whether the log is to be ended by the writer, between two of its transactions; asked once for each time. */
  readonly mustEnd: () => boolean
  readonly close: () => void
}

/** Create the checkpoints of a database's file. `onFailed` is called with what SQLite says of the disk. */
export function createCheckpoints(file: string, onFailed: (cause: Error) => void): Checkpoints {
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  let mustEnd = false
  const start = () => {
    const started = new Worker(new URL('./checkpoint-worker.ts', import.meta.url))
    started.unref()
    started.on('message', (said: Checkpointed) => {
      timer = undefined
      if ('pages' in said) mustEnd ||= said.pages > LOG_PAGES_MAX
      else if (existsSync(file)) onFailed(Object.assign(new Error(said.message), { errcode: said.errcode }))
    })
    started.on('error', onFailed)
    return started
  }
  return {
    due: () => {
      // What is committed while a checkpoint goes on makes the next commit ask again.
      timer ??= setTimeout(() => {
        worker ??= start()
        worker.postMessage(file)
      }, EVERY_MS).unref()
    },
    mustEnd: () => {
      const must = mustEnd
      mustEnd = false
      return must
    },
    close: () => {
      clearTimeout(timer)
      void worker?.terminate()
    },
  }
}
