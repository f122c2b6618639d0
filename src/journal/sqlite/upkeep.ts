import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Clock } from '../../clock.ts'
import { failed } from '../faults.ts'
import type { SqliteJournal } from './sqlite.ts'

/** A disk that fails is noticed after this long, also while nothing happens. */
const PROBE_MS = 5_000

/** What ended is asked about for days: in budgets, in what agents remember, and by people. */
const ARCHIVE_AFTER_MS = 7 * 86_400_000

/** Between two looks for what may be archived. */
const ARCHIVE_EVERY_MS = 3_600_000

/** What keeping a journal in order needs. */
type UpkeepDeps = {
  readonly journal: Pick<SqliteJournal, 'setValue' | 'barrier' | 'archiveSlice' | 'fail'>
  /** The journal's file. */
  readonly file: string
  readonly clock: Clock
}

/**
 * Write to a journal's disk again and again, so that an idle keeper learns too when it fails or its file is gone, and
 * archive what ended. @returns how to stop; it resolves when nothing goes on.
 */
export function startUpkeep({ journal, file, clock }: UpkeepDeps): () => Promise<void> {
  const stopped = new AbortController()
  const every = async (ms: number, work: () => Promise<void>) => {
    while (!stopped.signal.aborted) {
      await work()
      await clock.sleep(ms, stopped.signal)
    }
  }
  const { ino } = statSync(file)
  const probe = async () => {
    // A file that was replaced would take every write and keep none.
    const now = await stat(file).catch(() => null)
    if (now?.ino !== ino) journal.fail(failed(file, 'it was removed or replaced while a keeper wrote it'))
    await journal.setValue('probe', String(clock.nowMs()))
    await journal.barrier()
  }
  const archive = async () => {
    let after: number | null = 0
    while (after !== null && !stopped.signal.aborted) {
      after = await journal.archiveSlice(clock.nowMs() - ARCHIVE_AFTER_MS, after)
    }
  }
  // What fails here fails the journal, and that ends the process.
  const tasks = Promise.allSettled([every(PROBE_MS, probe), every(ARCHIVE_EVERY_MS, archive)])
  return async () => {
    stopped.abort()
    await tasks
  }
}
