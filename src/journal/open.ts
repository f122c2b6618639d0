import type { Clock } from '../clock.ts'
import { lockDirectory } from './directory/lock.ts'
import type { Journal, JournalReads } from './journal.ts'
import type { FleetPlace } from './redis/link/command-line.ts'
import { journalFile } from './sqlite/database.ts'
import { openSqliteJournal, readArchive, readSqliteJournal } from './sqlite/sqlite.ts'
import { startUpkeep } from './sqlite/upkeep.ts'

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

/** Where records are: in a directory, or in the Redis of a fleet, and what ended long ago in its instances' directories. */
export type JournalPlace = { readonly directory: string; readonly redis?: FleetPlace }

/**
 * Read the journal of a place, beside the keepers that write it or without one. Throws RolekeeperError `journal.absent` when
 * there is none, `journal.version` for one of another release, what {@link readRedisJournal} says, and what `read` throws.
 */
export async function readJournal<T>(
  place: JournalPlace,
  read: (journal: JournalReads) => Promise<T>,
): Promise<T> {
  const journal = await openReads(place)
  try {
    return await read(journal)
  } finally {
    await journal.close()
  }
}

async function openReads({ directory, redis }: JournalPlace): Promise<JournalReads> {
  if (redis === undefined) return readSqliteJournal(directory)
  // One machine does without ioredis.
  const { readRedisJournal } = await import('./redis/open-reads.ts')
  return readRedisJournal(redis, readArchive(directory))
}
