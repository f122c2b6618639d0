import {
  appendFileSync,
  closeSync,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  openSync,
  promises,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import threads from 'node:worker_threads'

/** Do it now; what it throws rejects. */
const now = async <T>(work: () => T): Promise<T> => work()

/** A file of which everything is done at once, and whose sync is whatever `sync` makes of it. */
function handleOf(path: string, flags: string, mode: number | undefined, sync: () => Promise<void>) {
  const file = openSync(path, flags, mode)
  return {
    appendFile: (text: string) => now(() => appendFileSync(file, text)),
    truncate: (bytes: number) => now(() => ftruncateSync(file, bytes)),
    stat: () => now(() => fstatSync(file)),
    datasync: sync,
    close: () => now(() => closeSync(file)),
  }
}

/** The thread that brings a log into its database: readers see no difference, so that here it has nothing to do. */
class IdleThread {
  #said: (said: unknown) => void = () => undefined

  on(event: string, listener: (said: unknown) => void): this {
    if (event === 'message') this.#said = listener
    return this
  }

  postMessage(): void {
    this.#said({ pages: 0 })
  }

  ref(): void {}

  unref(): void {}

  async terminate(): Promise<void> {}
}

/**
 * Put a disk that answers at once in the place of the machine's, for what the product asks of it beside the event loop:
 * nothing then depends on when a thread is done, and no thread is begun. @returns how to put it back.
 */
export function installDisk(sync: () => Promise<void>): () => void {
  const { open, readFile, stat, rename } = promises
  const { Worker } = threads
  Object.assign(threads, { Worker: IdleThread })
  Object.assign(promises, {
    open: (path: string, flags = 'r', mode?: number) => now(() => handleOf(path, flags, mode, sync)),
    readFile: (path: string) => now(() => readFileSync(path)),
    stat: (path: string) => now(() => statSync(path)),
    rename: (from: string, to: string) => now(() => renameSync(from, to)),
  })
  syncBuiltinESMExports()
  return () => {
    Object.assign(promises, { open, readFile, stat, rename })
    Object.assign(threads, { Worker })
    syncBuiltinESMExports()
  }
}

/** Copy the files of a directory that `wants` names into another that is there. */
export function copyFiles(from: string, to: string, wants: (name: string) => boolean): void {
  for (const name of readdirSync(from)) if (wants(name)) copyFileSync(join(from, name), join(to, name))
}
