import { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { isBusy } from '../faults.ts'

/** Bring a log into its database; `restart` when the log shall begin anew: then nobody else may write. */
export type CheckpointOrder = { readonly file: string; readonly restart: boolean }

/** What a checkpoint came to: how many pages the log held, or why it could not be. `errcode` is SQLite's. */
export type Checkpointed = { readonly pages: number } | { readonly errcode: number; readonly message: string }

/** The thread that {@link createCheckpoints} starts: one checkpoint for each order. */
parentPort?.on('message', (order: CheckpointOrder) => parentPort?.postMessage(checkpoint(order)))

function checkpoint({ file, restart }: CheckpointOrder): Checkpointed {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file)
    db.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0')
    // Pages that a commit writes over, and that have left memory, are read from the disk first: so none are left.
    const pages = db.prepare(`PRAGMA wal_checkpoint(${restart ? 'TRUNCATE' : 'PASSIVE'})`).get()?.log
    if (restart) beginLog(db)
    return { pages: Number(pages ?? 0) }
  } catch (cause) {
    if (isBusy(cause)) return { pages: 0 }
    const errcode = cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) : 0
    return { errcode, message: String(cause) }
  } finally {
    db?.close()
  }
}

/**
 * Write what is there already. The first to write after a whole checkpoint begins the log anew, and syncs its header before
 * any page follows; where a reader needs the log, it grows by a page. Source: sqlite.org/wal.html, section 2.4.
 */
function beginLog(db: DatabaseSync): void {
  db.exec(`PRAGMA user_version = ${Number(db.prepare('PRAGMA user_version').get()?.user_version)}`)
}
