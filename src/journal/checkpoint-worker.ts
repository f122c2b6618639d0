import { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { isBusy } from './faults.ts'

/** What a checkpoint came to: how many pages the log holds, or why it could not be. `errcode` is SQLite's. */
export type Checkpointed = { readonly pages: number } | { readonly errcode: number; readonly message: string }

/** The thread that {@link createCheckpoints} starts: one checkpoint for each file that it is sent. */
parentPort?.on('message', (file: string) => parentPort?.postMessage(checkpoint(file)))

function checkpoint(file: string): Checkpointed {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file)
    db.exec('PRAGMA synchronous = NORMAL')
    const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    passive.get()
    // What was committed meanwhile too: where the writer has to end the log, little is left for it to do.
    return { pages: Number(passive.get()?.log ?? 0) }
  } catch (cause) {
    if (isBusy(cause)) return { pages: 0 }
    const errcode = cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) : 0
    return { errcode, message: String(cause) }
  } finally {
    db?.close()
  }
}
