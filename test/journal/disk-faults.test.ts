import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { openJournal } from '../../src/journal/open.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { newDirectory } from '../support/directory.ts'
import { WAIT_MS_MAX } from '../support/until.ts'

const source = (path: string) => fileURLToPath(new URL(`../../src/${path}`, import.meta.url))

let directory: string
beforeEach(() => {
  directory = newDirectory()
})

/** Run a program in a process of its own, with files of at most `blocks` of 1,024 bytes: a full disk that it alone has. */
function runProgram(program: string, blocks: number | 'unlimited' = 'unlimited') {
  return spawnSync(
    'bash',
    [
      ...['-c', `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, '--input-type=module', '-e'],
      ...[program, directory, source('journal/sqlite/sqlite.ts'), source('journal/open.ts')],
    ],
    { encoding: 'utf8', timeout: WAIT_MS_MAX },
  )
}

/** Two writers of one journal; the commit of the first fails. What does the barrier of the second, late one say? */
const TWO_WRITERS = `
  const [, directory, sqlite] = process.argv
  const { openSqliteJournal } = await import(sqlite)
  const failures = []
  const journal = openSqliteJournal(directory, ({ code, message }) => failures.push(code, message))
  const said = (promise) => promise.then(() => 'passed', (error) => error.code)
  await journal.setValue('late', 'x')
  await journal.setValue('large', 'x'.repeat(400_000))
  const first = await said(journal.barrier())
  const late = await said(journal.barrier())
  const write = await said(journal.setValue('next', 'x'))
  const read = await said(journal.getValue('late'))
  console.log(JSON.stringify({ first, late, write, read, failures }))
`

/** A keeper's journal in which nothing happens, under a clock that does not wait, and then `fault`. */
const idle = (fault: string) => `
  import { closeSync, readdirSync, readlinkSync, renameSync } from 'node:fs'
  const [, directory, , open] = process.argv
  const { openJournal } = await import(open)
  process.on('uncaughtException', (error) => {
    console.log(error.code + ': ' + error.shortMessage)
    process.exit(1)
  })
  const sleep = () => new Promise((resolve) => setTimeout(resolve, 1))
  const { journal } = openJournal(directory, { nowMs: Date.now, sleep })
  await journal.barrier()
  ${fault}
`
/** A limit of the process is an I/O error to SQLite, as a bad sector is. */
const TOO_LARGE = 'the disk failed, or a file became too large for it'

const CLOSED_BEHIND_ITS_BACK = `
  for (const fd of readdirSync('/proc/self/fd')) {
    let path = ''
    try { path = readlinkSync('/proc/self/fd/' + fd) } catch {}
    if (path.endsWith('journal.sqlite-wal')) closeSync(Number(fd))
  }
`

describe('a disk that fails', () => {
  it('lets no barrier pass once a commit failed, because what was written before it is gone', () => {
    const { stdout } = runProgram(TWO_WRITERS, 200)
    expect(JSON.parse(stdout)).toEqual({
      first: 'journal.failed',
      late: 'journal.failed',
      write: 'journal.failed',
      read: 'journal.failed',
      failures: ['journal.failed', expect.stringMatching(/could not be written: the disk failed/)],
    })
  })

  it.each([
    { name: 'is full', fault: '', blocks: 200, line: TOO_LARGE },
    { name: 'answers with an I/O error', fault: CLOSED_BEHIND_ITS_BACK, line: TOO_LARGE },
    {
      name: 'has another journal in the place of ours',
      fault: "renameSync(directory + '/journal.sqlite', directory + '/elsewhere')",
      line: 'it was removed or replaced while a keeper wrote it',
    },
  ])('ends an idle keeper with one line when it $name', ({ fault, blocks, line }) => {
    const { status, stdout } = runProgram(idle(fault), blocks)
    expect(stdout).toBe(
      `journal.failed: The journal ${join(directory, 'journal.sqlite')} could not be written: ${line}.\n`,
    )
    expect(status).toBe(1)
  })

  it('refuses to start where nothing can be written', () => {
    openJournal(directory, systemClock).close()
    for (const file of ['journal.sqlite', 'lock.sqlite']) chmodSync(join(directory, file), 0o444)
    chmodSync(directory, 0o555)
    const { stdout } = runProgram(`
      const [, directory, , open] = process.argv
      const { openJournal } = await import(open)
      // To root nothing is read-only.
      if (process.getuid() === 0) process.setuid(65534)
      try { openJournal(directory, { nowMs: Date.now, sleep: () => new Promise(() => {}) }) } catch (error) { console.log(error.code) }
    `)
    expect(stdout).toBe('journal.failed\n')
  })
})

describe('a journal that is damaged', () => {
  it('is refused at the start, whatever page it is', async () => {
    const journal = openSqliteJournal(directory)
    for (let count = 0; count < 50; count += 1) await journal.setValue(`k${count}`, 'x'.repeat(3_000))
    await journal.close()
    const file = join(directory, 'journal.sqlite')
    const page = Math.floor(statSync(file).size / 4_096) - 10
    const fd = openSync(file, 'r+')
    writeSync(fd, Buffer.alloc(4_096, 0xff), 0, 4_096, page * 4_096)
    closeSync(fd)
    expect(() => openSqliteJournal(directory)).toThrow(
      expect.objectContaining({
        code: 'journal.corrupt',
        message: expect.stringMatching(/Fix: put the directory back/),
      }),
    )
  })

  it('is refused when it is something else, and left as it is', () => {
    const file = join(directory, 'journal.sqlite')
    writeFileSync(file, 'no database at all'.repeat(100))
    expect(() => openSqliteJournal(directory)).toThrow(expect.objectContaining({ code: 'journal.corrupt' }))
    expect(readFileSync(file, 'utf8')).toMatch(/^no database/)
  })
})
