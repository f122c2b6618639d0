import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from 'vitest'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { newDirectory } from '../../support/directory.ts'
import { until, WAIT_MS_MAX } from '../../support/until.ts'

const SQLITE = fileURLToPath(new URL('../../../src/journal/sqlite/sqlite.ts', import.meta.url))
/** SQLite writes only the pages that differ. */
const padding = (count: number) => String(Math.floor(count / 100) % 10).repeat(count < 1_000 ? 50_000 : 500)

let directory: string
beforeEach(() => {
  directory = newDirectory()
})

const file = (suffix = '') => join(directory, `journal.sqlite${suffix}`)
/** How often the log was begun anew since it was made. Source: sqlite.org/fileformat2.html#the_write_ahead_log. */
function logsBegun(): number {
  const [header, fd] = [Buffer.alloc(32), openSync(file('-wal'), 'r')]
  readSync(fd, header, 0, 32, 0)
  closeSync(fd)
  return header.readUInt32BE(12)
}

describe('the log of a journal', () => {
  it('is not begun anew by a commit, which would wait for a sync, when all of it is in the database', async () => {
    const journal = openSqliteJournal(directory)
    const { mtimeMs } = statSync(file())
    await journal.setValue('round', 'first')
    await journal.barrier()
    await until(() => expect(statSync(file()).mtimeMs).toBeGreaterThan(mtimeMs))
    await journal.setValue('round', 'second')
    await journal.barrier()
    expect(logsBegun()).toBe(0)
    await journal.close()
  })

  it('is begun anew once it is long and no reader needs it, and what is written meanwhile keeps its order', async () => {
    const journal = openSqliteJournal(directory)
    await journal.setValue('round', 'before')
    await journal.barrier()
    const reader = new DatabaseSync(file(), { readOnly: true })
    const seen = () => reader.prepare("SELECT value FROM values_by_key WHERE key = 'round'").get()?.value
    reader.exec('BEGIN')
    expect(seen()).toBe('before')
    let count = 0
    const writeUntil = async (done: () => boolean) => {
      while (!done()) {
        // Nobody waits for the first: it must not come after what follows it.
        const first = journal.setValue('round', `${count} too early`)
        count += 1
        await journal.setValue('round', String(count))
        await journal.setValue(`k${count % 100}`, padding(count))
        await journal.barrier()
        await first
        expect(await journal.getValue('round')).toBe(String(count))
      }
    }
    // Long enough to be asked for while the reader is there.
    await writeUntil(() => count > 1_500)
    expect(statSync(file('-wal')).size).toBeGreaterThan(40_000_000)
    expect({ begun: logsBegun(), seen: seen() }).toEqual({ begun: 0, seen: 'before' })
    reader.exec('COMMIT')
    await writeUntil(() => logsBegun() === 1)
    expect(logsBegun()).toBe(1)
    expect(seen()).toBe(String(count))
    // What a commit overwrites is read from the disk first where it has left memory: so nothing is left to overwrite.
    expect(statSync(file('-wal')).size).toBeLessThan(10_000_000)
    reader.close()
    await journal.close()
    const again = openSqliteJournal(directory)
    expect(await again.getValue('round')).toBe(String(count))
    await again.close()
  })

  it.each([
    {
      name: 'before its last pages are copied',
      point: "sql.includes('wal_autocheckpoint') && ++checkpoints > 1",
    },
    { name: 'when all of it is in the database', point: "sql.startsWith('PRAGMA user_version')" },
    { name: 'right after', point: "sql.startsWith('PRAGMA user_version')", after: true },
  ])(
    'loses nothing that a barrier passed where the process is killed as it begins anew, $name',
    async ({ point, after = false }) => {
      const passed = await killed(point, after)
      expect(passed).toBeGreaterThan(0)
      expect(logsBegun()).toBe(after ? 1 : 0)
      const journal = openSqliteJournal(directory)
      expect(Number(await journal.getValue('last'))).toBeGreaterThanOrEqual(passed)
      await journal.close()
    },
  )
})

/** Write in a process that is killed at a point of its second checkpoint, the last. @returns the last that a barrier passed. */
async function killed(point: string, after: boolean): Promise<number> {
  const hook = `
    import { DatabaseSync } from 'node:sqlite'
    import { isMainThread } from 'node:worker_threads'
    let checkpoints = 0
    const { exec } = DatabaseSync.prototype
    if (!isMainThread) DatabaseSync.prototype.exec = function (sql) {
      const isHere = ${point}
      if (isHere && !${after}) process.kill(process.pid, 'SIGKILL')
      exec.call(this, sql)
      if (isHere) process.kill(process.pid, 'SIGKILL')
    }`
  const program = `
    import { writeSync } from 'node:fs'
    import { openSqliteJournal } from ${JSON.stringify(SQLITE)}
    const padding = ${padding}
    const journal = openSqliteJournal(process.argv[2])
    for (let count = 0; ; count += 1) {
      await journal.setValue('k' + count % 100, padding(count))
      await journal.setValue('last', String(count))
      await journal.barrier()
      writeSync(1, count + '\\n')
    }`
  const url = `data:text/javascript,${encodeURIComponent(hook)}`
  const path = join(directory, 'program.mjs')
  writeFileSync(path, program)
  // A file: a pipe that nobody has read for a while takes no more.
  const said = join(directory, 'said')
  const output = openSync(said, 'w')
  const child = spawn(process.execPath, ['--import', url, path, directory], {
    stdio: ['ignore', output, 'inherit'],
    timeout: WAIT_MS_MAX,
    killSignal: 'SIGTERM',
  })
  const [, signal] = await once(child, 'close')
  closeSync(output)
  expect(signal).toBe('SIGKILL')
  return Number(readFileSync(said, 'utf8').trimEnd().split('\n').at(-1))
}
