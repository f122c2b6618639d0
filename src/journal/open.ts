import type { Journal, JournalReads } from './journal.ts'
import { lockDirectory } from './lock.ts'
import { openSqliteJournal, readSqliteJournal } from './sqlite.ts'

/**
 * Open (or create) the journal of a directory for this process alone; `close` lets another one have it. Throws
 * RolekeeperError `journal.locked` while another process writes it, and `journal.version` for one of a newer release.
 */
export function openJournal(directory: string): {
  readonly journal: Journal
  readonly close: () => Promise<void>
} {
  const lock = lockDirectory(directory)
  try {
    const journal = openSqliteJournal(directory)
    return { journal, close: () => journal.close().finally(lock.release) }
  } catch (error) {
    lock.release()
    throw error
  }
}

/**
 * Read the journal of a directory, beside a keeper that runs or without one. Throws RolekeeperError `journal.absent` when
 * there is none, and what `read` throws.
 */
export async function readJournal<T>(
  directory: string,
  read: (journal: JournalReads) => Promise<T>,
): Promise<T> {
  const journal = readSqliteJournal(directory)
  try {
    return await read(journal)
  } finally {
    await journal.close()
  }
}
