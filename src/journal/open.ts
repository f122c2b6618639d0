import type { Clock } from '../clock.ts'
import { journalFile } from './database.ts'
import type { Journal, JournalReads } from './journal.ts'
import { lockDirectory } from './lock.ts'
import { openSqliteJournal, readSqliteJournal } from './sqlite.ts'
import { startUpkeep } from './upkeep.ts'

/**
 * Open (or create) the journal of a directory for this process alone; `close` lets another one have it. The process ends
 * when the disk fails. Throws RolekeeperError `journal.locked` while another process writes it, `journal.version` for one
 * of a newer release, `journal.corrupt`, `journal.archive_missing` and `journal.failed` as `fix` says.
 */
export function openJournal(
  directory: string,
  clock: Clock,
): {
  readonly journal: Journal
  readonly close: () => Promise<void>
} {
  const lock = lockDirectory(directory)
  try {
    const journal = openSqliteJournal(directory)
    const stopUpkeep = startUpkeep({ journal, file: journalFile(directory), clock })
    const close = async () => {
      await stopUpkeep()
      await journal.close().finally(lock.release)
    }
    return { journal, close }
  } catch (error) {
    lock.release()
    throw error
  }
}

/**
 * Read the journal of a directory, beside a keeper that runs or without one. Throws RolekeeperError `journal.absent` when
 * there is none, `journal.version` for one of another release, and what `read` throws.
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
