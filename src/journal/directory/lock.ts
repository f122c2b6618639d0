import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RolekeeperError } from '../../errors.ts'
import { isBusy, unwritable } from '../faults.ts'

/**
 * Hold a directory for this process until it ends, however it ends: the operating system releases the lock.
 * Throws RolekeeperError `journal.locked` when another process holds it, and `journal.failed` where nothing can be
 * written in it.
 */
export function lockDirectory(directory: string): { readonly release: () => void } {
  let lock: DatabaseSync | undefined
  try {
    createFolder(directory)
    chmodSync(directory, 0o700)
    const held = new DatabaseSync(join(directory, 'lock.sqlite'))
    lock = held
    held.exec(
      // One who only looks whether it is held does so for an instant.
      'PRAGMA busy_timeout = 100; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version = 1;',
    )
    return { release: () => held.close() }
  } catch (cause) {
    lock?.close()
    if (!isBusy(cause)) throw unwritable(directory, cause)
    throw new RolekeeperError('journal.locked', `Another rolekeeper process works in ${directory}.`, {
      fix: 'stop it, or choose another folder, with `--directory` or in the configuration; two writers would sign with one key.',
      cause,
    })
  }
}

/** Whether a process holds a directory. It only looks. */
export function isLocked(directory: string): boolean {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(join(directory, 'lock.sqlite'), { readOnly: true })
    lock.exec('PRAGMA busy_timeout = 0; SELECT count(*) FROM sqlite_schema')
    return false
  } catch (cause) {
    return isBusy(cause)
  } finally {
    lock?.close()
  }
}

/** Make a folder, and those above it. Node's own `recursive` never returns below /proc. Throws the file system's own error. */
export function createFolder(path: string): void {
  const isThere = () => existsSync(`${path}/`)
  if (isThere()) return
  createFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isThere()) throw error
  }
}
