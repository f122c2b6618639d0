import { printable, RolekeeperError } from '../errors.ts'

/** What a disk does to a database, by SQLite's primary result code. Source: sqlite.org/rescode.html. */
const FAULTS: ReadonlyMap<number, string> = new Map([
  [8, 'it is read-only'],
  [10, 'the disk failed, or a file became too large for it'],
  [13, 'the disk is full'],
  [14, 'it cannot be opened'],
])
const DAMAGES: ReadonlyMap<number, string> = new Map([
  [11, 'a page of it is malformed'],
  [26, 'it is no SQLite database'],
])

/** The low byte; the rest says where it happened. */
const primaryCode = (cause: unknown): number | null =>
  cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) & 0xff : null

/** Whether another connection holds the database. Pure. */
export const isBusy = (cause: unknown): boolean => primaryCode(cause) === 5

/**
 * Name what SQLite said about the disk under a file: `journal.failed` or `journal.corrupt`, or null where the disk has no
 * part in it. Pure.
 */
export function diskFault(cause: unknown, file: string): RolekeeperError | null {
  const code = primaryCode(cause)
  if (code === null) return null
  if (DAMAGES.has(code)) return damaged(file, DAMAGES.get(code) ?? '', cause)
  const fault = FAULTS.get(code)
  return fault === undefined ? null : failed(file, fault, cause)
}

/** What a file system says of a folder that nothing can be written in, by its error code. */
const FOLDER_FAULTS: ReadonlyMap<string, string> = new Map([
  ['EEXIST', 'it is a file, or below one'],
  ['EACCES', 'this user may not'],
  ['EPERM', 'this user may not'],
  ['EROFS', 'it is read-only'],
  ['ENOSPC', 'the disk is full'],
])

/** Say that nothing can be written in a directory, by SQLite's or the file system's own code. Pure. */
export function unwritable(directory: string, cause: unknown): RolekeeperError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
  const fault = FOLDER_FAULTS.get(code) ?? `its file system says ${code}`
  return (
    diskFault(cause, directory) ??
    new RolekeeperError('journal.failed', `Nothing can be written in ${directory}: ${fault}.`, {
      fix: 'correct its path in the configuration, or make it a folder that this user may write, on a disk with room.',
      cause,
    })
  )
}

/** End the process: what can no longer be recorded must not be signed, and the next start resumes from what is on disk. */
export function endProcess(failure: RolekeeperError): void {
  setImmediate(() => {
    throw failure
  })
}

/** Say what is damaged, and how SQLite names it. Pure. */
export const damaged = (file: string, found: string, cause?: unknown): RolekeeperError =>
  new RolekeeperError('journal.corrupt', `The journal ${file} is damaged: ${printable(found)}.`, {
    fix: 'put the directory back from a backup, and look at the disk; a keeper with an older journal starts in SAFE.',
    cause,
  })

/** Say that a file does not take what is written, and why. Pure. */
export const failed = (file: string, fault: string, cause?: unknown): RolekeeperError =>
  new RolekeeperError('journal.failed', `The journal ${file} could not be written: ${fault}.`, {
    fix: 'give `directory` a disk that can be written and has room, then start again; what was in flight resumes.',
    cause,
  })
