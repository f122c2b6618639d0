import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const SQLITE = fileURLToPath(new URL('../../src/journal/sqlite.ts', import.meta.url))

/** Two writers of one journal; the commit of the first fails. What does the barrier of the second, late one say? */
const PROGRAM = `
  const { openSqliteJournal } = await import(process.argv[1])
  const journal = openSqliteJournal(process.argv[2])
  const said = (promise) => promise.then(() => 'passed', (error) => error.code)
  await journal.setValue('late', 'x')
  await journal.setValue('large', 'x'.repeat(400_000))
  const first = await said(journal.barrier())
  const late = await said(journal.barrier())
  const write = await said(journal.setValue('next', 'x'))
  console.log(JSON.stringify({ first, late, write, there: await journal.getValue('late') }))
`

it('lets no barrier pass once a commit failed, because what was written before it is gone', () => {
  const directory = mkdtempSync(join(tmpdir(), 'full-'))
  // A file size limit is a full disk that only this process has: 200 blocks of 1,024 bytes.
  const { stdout } = spawnSync(
    'bash',
    [
      '-c',
      'ulimit -f 200; exec "$0" "$@"',
      process.execPath,
      '--input-type=module',
      '-e',
      PROGRAM,
      SQLITE,
      directory,
    ],
    { encoding: 'utf8' },
  )
  expect(JSON.parse(stdout)).toEqual({
    first: 'journal.failed',
    late: 'journal.failed',
    write: 'journal.failed',
    there: null,
  })
})
