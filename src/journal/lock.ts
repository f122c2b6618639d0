import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RolekeeperError } from '../errors.ts'

/**
 * Hold a directory for this process until it ends, however it ends: the operating system releases the lock.
 * Throws RolekeeperError `journal.locked` when another process holds it.
 */
export function lockDirectory(directory: string): { readonly release: () => void } {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  chmodSync(directory, 0o700)
  const lock = new DatabaseSync(join(directory, 'lock.sqlite'))
  try {
    lock.exec(
      'PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version = 1;',
    )
  } catch (cause) {
    lock.close()
    throw new RolekeeperError('journal.locked', `Another rolekeeper process works in ${directory}.`, {
      fix: 'stop it, or choose another `directory`; two writers would sign with one key.',
      cause,
    })
  }
  return { release: () => lock.close() }
}
