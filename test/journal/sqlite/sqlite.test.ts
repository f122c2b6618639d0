import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { lockDirectory } from '../../../src/journal/directory/lock.ts'
import { failed } from '../../../src/journal/faults.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal, readSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { move } from '../../../src/workflow/workflow.ts'
import { newDirectory } from '../../support/directory.ts'
import { frozenJournal } from '../../support/frozen-journal.ts'
import { until } from '../../support/until.ts'
import { SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'
import { describeJournal, type JournalHouse } from '../contract.ts'

let directory: string
let journal: Journal

const inDirectory = async (folder: string): Promise<JournalHouse> => {
  let journal: Journal
  const open = async () => {
    journal = frozenJournal(openSqliteJournal(folder))
    return journal
  }
  return {
    open,
    reopen: () => journal.close().then(open),
    reader: async () => readSqliteJournal(folder),
  }
}

describeJournal('the SQLite journal', () => inDirectory(newDirectory()))

beforeEach(() => {
  directory = newDirectory()
  journal = frozenJournal(openSqliteJournal(directory))
})

const discovered = (id: string, opportunity = id) => workflowOf('discovered', { id, opportunity })
const reservation = (workflowId: string, usdMicros = 5n) => ({
  workflowId,
  role: 'liquidator' as const,
  atMs: 10,
  usdMicros,
  gasWei: 7n,
  reverted: false,
})

describe('the SQLite journal on its disk', () => {
  it('brings its log into the database in a thread, and never in a commit', async () => {
    const checkpointed = () => {
      copyFileSync(join(directory, 'journal.sqlite'), join(directory, 'copy.sqlite'))
      const copy = new DatabaseSync(join(directory, 'copy.sqlite'))
      const { count } = copy.prepare('SELECT count(*) AS count FROM workflows').get() ?? {}
      copy.close()
      return count
    }
    const padding = 'x'.repeat(50_000)
    for (let index = 0; index < 200; index += 1) {
      await journal.open({ ...discovered(`a${index}`), note: { check: 'long', message: padding } })
    }
    await journal.barrier()
    // More than twice the log that SQLite itself lets grow before a commit does the work.
    expect(statSync(join(directory, 'journal.sqlite-wal')).size).toBeGreaterThan(8_000_000)
    await until(() => expect(checkpointed()).toBe(200), 100)
  })

  it('lets a barrier pass that waits while it is closed, with everything on disk', async () => {
    await journal.setValue('a', '1')
    const first = journal.barrier()
    await new Promise((resolve) => setImmediate(resolve))
    await journal.setValue('b', '2')
    const second = journal.barrier()
    await journal.close()
    await Promise.all([first, second])
    journal = frozenJournal(openSqliteJournal(directory))
    expect([await journal.getValue('a'), await journal.getValue('b')]).toEqual(['1', '2'])
  })

  it('decodes no record to say what is live, however much it is: 1,000 in flight blocked 162 ms a look', async () => {
    for (let count = 0; count < 20; count += 1) await journal.open(discovered(`w${count}`))
    await journal.close()
    journal = frozenJournal(openSqliteJournal(directory))
    const parse = vi.spyOn(JSON, 'parse')
    const live = await journal.live()
    expect(live.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, count) => `w${count}`))
    const [first] = live
    if (first === undefined) throw new Error('nothing is live')
    expect(await journal.write(move(first, 'requested', 2))).toBe(await journal.get('w0'))
    expect((await journal.byOpportunity('w0'))?.state).toBe('requested')
    expect((await journal.live())[0]?.state).toBe('requested')
    await journal.settle(reservation('w0'))
    expect(await journal.reservations('liquidator', 0)).toEqual([reservation('w0')])
    expect(parse).not.toHaveBeenCalled()
    parse.mockRestore()
  })
})

describe('a write of the SQLite journal', () => {
  it('is a state that was reached only where the state is another', async () => {
    await journal.open(discovered('a'))
    const moved = await journal.write(move(discovered('a'), 'requested', 2))
    await journal.write({ ...moved, updatedAtMs: 3 })
    expect((await journal.transitions('a')).map(({ state }) => state)).toEqual(['discovered', 'requested'])
  })

  it('takes the next nonce to close it as any other', async () => {
    await journal.adoptNonce(31_337, SIGNER, 7)
    await journal.open(discovered('a'))
    const closing = workflowOf('in_flight', { id: 'a', slots: [slotOf({ nonce: 7, closing: 'x' })] })
    expect(await journal.claim(closing, null)).not.toBe('lost')
    expect(await journal.nextNonce(31_337, SIGNER)).toBe(8)
  })

  it('is none once something outside the database says that its disk fails', async () => {
    const told: string[] = []
    const failing = openSqliteJournal(newDirectory(), ({ code }) => told.push(code))
    const failure = failed('file', 'it was removed')
    failing.fail(failure)
    await expect(failing.setValue('a', '1')).rejects.toBe(failure)
    expect(told).toEqual(['journal.failed'])
    await failing.close()
  })
})

describe('what a journal does not have', () => {
  it('is not said to be ordered before it is on disk', async () => {
    const digest = `0x${'0d'.repeat(32)}` as const
    const entry = {
      digest,
      kind: 'typed_data' as const,
      signer: SIGNER,
      workflowId: 'a',
      nonce: null,
      atMs: 1,
    }
    await journal.enterDigest(entry)
    const reader = readSqliteJournal(directory)
    expect(await reader.ledgerEntry(digest, SIGNER)).toBeNull()
    await journal.ordered([entry])
    expect(await reader.ledgerEntry(digest, SIGNER)).toEqual(entry)
    await reader.close()
  })

  it('is null, and is not tried again', async () => {
    expect(await journal.getValue('none')).toBeNull()
    expect(await journal.nextNonce(1, SIGNER)).toBeNull()
    expect(await journal.byNonce(1, SIGNER, 0)).toBeNull()
    const claiming = workflowOf('in_flight', { id: 'a', slots: [slotOf({ nonce: 0 })] })
    await journal.open({ ...claiming, state: 'cleared', slots: [] })
    expect(await journal.claim(claiming, null)).toBe('lost')
    // What is archived leaves the outbox.
    await journal.postpone('0x01', 5)
    expect(await journal.due(10, 10)).toEqual([])
  })

  it('is read of the records where it is older than what is held, of a role and of all', async () => {
    const day = 86_400_000
    const rows = [
      { ...reservation('a'), atMs: day },
      { ...reservation('b'), role: 'allocator', atMs: 2 * day },
      { ...reservation('c'), atMs: 9 * day },
    ]
    for (const row of rows) await journal.settle(row)
    const ids = async (role: string | null, times: readonly number[]) =>
      (await journal.spending(role, times, 'none')).rows.map(({ workflowId }) => workflowId)
    expect(await ids(null, [9 * day, day])).toEqual(['a', 'b', 'c'])
    expect(await ids('liquidator', [day])).toEqual(['a', 'c'])
  })
})

describe('a directory', () => {
  it('is held by one writer, and free when it lets go', () => {
    const lock = lockDirectory(directory)
    expect(() => lockDirectory(directory)).toThrow(/Another rolekeeper process/)
    lock.release()
    lockDirectory(directory).release()
  })

  it('is for its owner alone', () => {
    lockDirectory(directory).release()
    expect(statSync(directory).mode & 0o777).toBe(0o700)
  })

  it('is refused where it is a file, is below one, or cannot be made', () => {
    const file = join(directory, 'journal.sqlite')
    for (const path of [file, join(file, 'below')]) {
      expect(() => lockDirectory(path)).toThrow(
        /Nothing can be written in .*: it is a file, or below one\. Fix:/,
      )
    }
    expect(() => lockDirectory('/proc/none/below')).toThrow(/Nothing can be written in .*ENOENT\. Fix:/)
  })

  it('without a journal says so', () => {
    expect(() => readSqliteJournal(newDirectory())).toThrow(/There is no journal/)
  })
})
