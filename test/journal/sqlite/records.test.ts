import fs, { mkdirSync, renameSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RolekeeperError } from '../../../src/errors.ts'
import { failed } from '../../../src/journal/faults.ts'
import { journalFile, openDatabase } from '../../../src/journal/sqlite/database.ts'
import { decodeRecord, encodeRecord, Records } from '../../../src/journal/sqlite/records.ts'
import { newDirectory } from '../../support/directory.ts'

const SET = 'INSERT OR REPLACE INTO values_by_key (key, value) VALUES (?, ?)'
const GET = 'SELECT value FROM values_by_key WHERE key = ?'

let directory: string
let records: Records
let failures: RolekeeperError[]
const reopened = () =>
  new Records(openDatabase(directory), journalFile(directory), (failure) => failures.push(failure))
beforeEach(() => {
  directory = newDirectory()
  failures = []
  records = reopened()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await records.close()
})

const put = (key: string, value: string) => records.change(() => records.run(SET, key, value))
/** As another connection sees it: what was committed. */
function seen(key: string): unknown {
  const db = new DatabaseSync(journalFile(directory), { readOnly: true })
  const row = db.prepare(GET).get(key)
  db.close()
  return row?.value
}
/** What files that are open are told. */
async function handles() {
  const handle = await open(journalFile(directory))
  const prototype: { datasync: () => Promise<void> } = Object.getPrototypeOf(handle)
  await handle.close()
  return prototype
}

describe('a record', () => {
  it.each([
    ['a bigint anywhere in it', { a: 1n, b: [{ c: -2n }], d: { e: { f: 3n } } }],
    ['what is null, empty or no object', { a: null, b: [], c: {}, d: 'x', e: false, f: 0 }],
    ['a list', [1n, { a: 2n }, null]],
  ])('is read as it was written: %s', (_what, record) => {
    expect(decodeRecord(encodeRecord(record))).toEqual(record)
  })

  it('is JSON without what is undefined, and each of its members is written once', () => {
    const member = { a: 1n }
    expect(encodeRecord({ 'a "name"': 1, gone: undefined, member })).toBe(
      '{"a \\"name\\"":1,"member":{"a":{"$bigint":"1"}}}',
    )
    const written = vi.spyOn(JSON, 'stringify')
    encodeRecord({ member })
    expect(written.mock.calls).toEqual([['member']])
  })
})

describe('a change', () => {
  it('is all or nothing, and leaves what came before it in the same commit', async () => {
    await put('a', '1')
    const half = records.change(() => {
      records.run(SET, 'b', '2')
      throw new TypeError('half')
    })
    await expect(half).rejects.toThrow('half')
    expect(records.run(SET, 'c', '3')).toBe(1)
    await records.barrier()
    expect(['a', 'b', 'c'].map(seen)).toEqual(['1', undefined, '3'])
  })

  it('is seen at once by its writer, and by others when it is committed, without a barrier too', async () => {
    await put('a', '1')
    expect([records.rows(GET, 'a')[0]?.value, seen('a')]).toEqual(['1', undefined])
    // Once more after a commit that nobody asked for.
    for (const key of ['a', 'b']) {
      await put(key, '1')
      await expect.poll(() => seen(key)).toBe('1')
    }
  })

  it('prepares a statement once', async () => {
    await put('a', '1')
    const prepared = vi.spyOn(DatabaseSync.prototype, 'prepare')
    await put('b', '2')
    expect(prepared).not.toHaveBeenCalled()
  })
})

describe('a barrier', () => {
  it('syncs what was committed once for all who wait, and nothing where nothing was written', async () => {
    const synced = vi.spyOn(await handles(), 'datasync')
    await records.barrier()
    expect(synced).not.toHaveBeenCalled()
    await put('a', '1')
    await Promise.all([records.barrier(), records.barrier()])
    await records.barrier()
    expect(synced).toHaveBeenCalledTimes(1)
    expect(seen('a')).toBe('1')
    // What was committed and not synced is synced too.
    await Promise.all(Array.from({ length: 26 }, (_, index) => put(`k${index}`, 'v')))
    await records.barrier()
    expect(synced).toHaveBeenCalledTimes(2)
  })

  it('waits for the next sync where it comes while the disk is busy', async () => {
    const prototype = await handles()
    const { datasync } = prototype
    const [busy, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const synced = vi.spyOn(prototype, 'datasync').mockImplementation(async function (
      this: typeof prototype,
    ) {
      begun.resolve()
      await busy.promise
      return datasync.call(this)
    })
    await put('a', '1')
    const first = records.barrier()
    await begun.promise
    await put('b', '2')
    const second = records.barrier()
    busy.resolve()
    await first
    await second
    expect(synced).toHaveBeenCalledTimes(2)
    expect(seen('b')).toBe('2')
  })

  it('of a disk that took nothing fails for all, and from then on nothing is read or written', async () => {
    vi.spyOn(await handles(), 'datasync').mockRejectedValue(new Error('EIO'))
    await put('a', '1')
    const both = [records.barrier(), records.barrier()]
    for (const barrier of both) await expect(barrier).rejects.toThrow('the disk did not take it')
    expect(failures.map(({ code }) => code)).toEqual(['journal.failed'])
    const [failure] = failures
    for (const late of [records.barrier(), put('b', '2'), (async () => records.rows(GET, 'a'))()])
      await expect(late).rejects.toBe(failure)
    expect(failures).toHaveLength(1)
  })

  it('fails at once where something else says that the disk fails, which is told once', async () => {
    await put('a', '1')
    const barrier = records.barrier()
    await new Promise<void>((resolve) => process.nextTick(resolve))
    const failure = failed('file', 'it was removed')
    expect(records.fail(failure)).toBe(failure)
    await expect(barrier).rejects.toBe(failure)
    expect(records.fail(failed('file', 'once more'))).toBe(failure)
    expect(failures).toEqual([failure])
  })
})

describe('records', () => {
  it('are all on disk when they are closed, and take a barrier that waits', async () => {
    const synced = vi.spyOn(await handles(), 'datasync')
    await put('a', '1')
    const barrier = records.barrier()
    await records.close()
    await barrier
    expect(synced).not.toHaveBeenCalled()
    expect(seen('a')).toBe('1')
    expect(failures).toEqual([])
    records = new Records(openDatabase(directory), journalFile(directory), (failure) =>
      failures.push(failure),
    )
  })

  it('are synced when they are closed, where they are not yet', async () => {
    const [synced, closed] = [vi.spyOn(fs, 'fdatasyncSync'), vi.spyOn(fs, 'closeSync')]
    syncBuiltinESMExports()
    await put('a', '1')
    await records.close()
    records = reopened()
    expect([synced, closed].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
    await put('b', '2')
    await records.barrier()
    await records.close()
    expect(synced).toHaveBeenCalledTimes(1)
    vi.restoreAllMocks()
    syncBuiltinESMExports()
    records = reopened()
  })

  it('are closed while the disk is busy, and a barrier that waits for it passes: the end has synced', async () => {
    const [busy, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    vi.spyOn(await handles(), 'datasync').mockImplementation(() => {
      begun.resolve()
      return busy.promise
    })
    await put('a', '1')
    const barrier = records.barrier()
    await begun.promise
    await records.close()
    busy.reject(new Error('EBADF'))
    await barrier
    expect([seen('a'), failures]).toEqual(['1', []])
    records = new Records(openDatabase(directory), journalFile(directory), (failure) =>
      failures.push(failure),
    )
  })

  it('fail where nothing was written, too', async () => {
    const failure = records.fail(failed('file', 'it was removed'))
    await expect(records.barrier()).rejects.toBe(failure)
  })

  it('fail with the disk that a statement finds full', async () => {
    records.rows('PRAGMA max_page_count = 1')
    await expect(put('a', 'x'.repeat(100_000))).rejects.toThrow('could not be written: the disk is full')
    expect(failures.map(({ code }) => code)).toEqual(['journal.failed'])
    await expect(put('b', '1')).rejects.toBe(failures[0])
  })

  it('throw what is no fault of the disk, and go on', async () => {
    expect(() => records.rows('SELECT * FROM nowhere')).toThrow('no such table')
    await put('a', '1')
    expect(failures).toEqual([])
  })

  it('fail when their file is another by the time of a checkpoint', async () => {
    const told = Promise.withResolvers<RolekeeperError>()
    const other = newDirectory()
    const lost = new Records(openDatabase(other), journalFile(other), told.resolve)
    await lost.change(() => lost.run(SET, 'a', '1'))
    await lost.barrier()
    renameSync(journalFile(other), join(other, 'elsewhere'))
    mkdirSync(journalFile(other))
    expect(await told.promise).toMatchObject({
      code: 'journal.failed',
      message: expect.stringContaining('the disk failed'),
    })
    await lost.close()
  })

  it('are read by turns of eight', async () => {
    const turnsOf = async (count: number) => {
      const rows = Array.from({ length: count }, () => ({ rowid: 1 }))
      let isDone = false
      const reading = records.bodiesByTurns(rows).finally(() => {
        isDone = true
      })
      let turns = 0
      for (; !isDone; turns += 1) await new Promise((resolve) => setImmediate(resolve))
      expect(await reading).toEqual([])
      return turns
    }
    // The first eight hold the turn in which they are asked for.
    for (const [count, turns] of [
      [1, 1],
      [8, 1],
      [9, 1],
      [17, 2],
      [33, 4],
    ] as const)
      expect([count, await turnsOf(count)]).toEqual([count, turns])
  })
})
