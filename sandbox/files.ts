import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { z } from 'zod'
import { RolekeeperError } from '../src/errors.ts'

/** How long to wait for a sandbox of this directory whose parent was just killed: it ends within two seconds. */
const LOCK_MS_MAX = 3_000

/** Make a directory for its owner alone. */
export function createPrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  chmodSync(directory, 0o700)
}

/** Replace a file as a whole, readable by its owner alone: a reader sees the old content or the new one. */
export function writePrivateFile(file: string, content: string | Uint8Array): void {
  const part = `${file}.part`
  writeFileSync(part, content, { mode: 0o600 })
  renameSync(part, file)
}

/** Replace a JSON file. */
export const writeJsonFile = (file: string, value: unknown): void =>
  writePrivateFile(file, `${JSON.stringify(value, null, 2)}\n`)

/**
 * Read a JSON file of ours.
 * @returns undefined when it is not there. Throws RolekeeperError `sandbox.file` when it does not match `schema`.
 */
export function readJsonFile<S extends z.ZodType>(file: string, schema: S): z.output<S> | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  try {
    return schema.parse(JSON.parse(text))
  } catch (cause) {
    throw new RolekeeperError('sandbox.file', `${file} is not what the sandbox wrote.`, {
      fix: 'start over with `--fresh`.',
      cause,
    })
  }
}

/** The primary result codes of SQLite that count here, and of a file system. Source: sqlite.org/rescode.html, errno(3). */
const BUSY = 5
const FULL: readonly (number | string)[] = [10, 13, 'ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS']

const sqliteCode = (cause: unknown): number | null =>
  cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) & 0xff : null

/** Say that a disk does not take what is written to it; null where something else went wrong. Pure. */
export function untaken(directory: string, cause: unknown): RolekeeperError | null {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (!FULL.includes(sqliteCode(cause) ?? code)) return null
  return new RolekeeperError('sandbox.file', `The disk of ${directory} takes no more, or fails.`, {
    fix: 'make room there and start again: what is there stays.',
    cause,
  })
}

/**
 * Hold a directory for this sandbox alone, until released or until this process ends, however it ends.
 * Throws RolekeeperError `sandbox.locked` when another sandbox still has it after three seconds.
 */
export function lockSandbox(directory: string): { readonly release: () => void } {
  // Beside the sandbox's own folder: starting over removes that one, and must not remove a lock that is held.
  const file = join(directory, 'lock.sandbox.sqlite')
  const lock = new DatabaseSync(file)
  try {
    lock.exec(`PRAGMA busy_timeout = ${LOCK_MS_MAX}; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;`)
  } catch (cause) {
    lock.close()
    if (sqliteCode(cause) !== BUSY) {
      const fix = 'remove it while no sandbox runs there: it holds nothing.'
      throw (
        untaken(directory, cause) ??
        new RolekeeperError('sandbox.file', `${file} is no lock.`, { fix, cause })
      )
    }
    throw new RolekeeperError('sandbox.locked', `Another sandbox runs in ${directory}.`, {
      fix: 'stop it, or choose another directory with --directory.',
      cause,
    })
  }
  return { release: () => lock.close() }
}
