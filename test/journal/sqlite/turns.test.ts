import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DecisionRow } from '../../../src/journal/journal.ts'
import { Archive } from '../../../src/journal/sqlite/archive.ts'
import { RecentReservations } from '../../../src/journal/sqlite/recent-reservations.ts'
import { openSqliteJournal, type SqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { newDirectory } from '../../support/directory.ts'
import { workflowOf } from '../../support/workflows.ts'

const COUNT = 200
let journal: SqliteJournal
beforeEach(() => {
  journal = openSqliteJournal(newDirectory())
})
afterEach(() => journal.close())

/** Do something, and count the turns of the event loop until it is done. */
async function turnsOf<T>(work: Promise<T>): Promise<{ readonly turns: number; readonly result: T }> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns += 1) await new Promise((resolve) => setImmediate(resolve))
  return { turns, result: await done }
}

/** Open workflows and end them. @returns their ids, newest first. */
async function endAll(): Promise<readonly string[]> {
  const ids = Array.from({ length: COUNT }, (_, index) => `w${index}`)
  for (const [createdAtMs, id] of ids.entries()) {
    const workflow = workflowOf('discovered', { id, opportunity: id, createdAtMs })
    await journal.open(workflow)
    const shadowed = { outcome: { lot: 'undecided' } }
    await journal.write(Object.assign({}, workflow, { state: 'shadowed', shadowed }))
  }
  await journal.barrier()
  return ids.toReversed()
}

describe('the event loop, beside a journal', () => {
  it('is free while many workflows are read: a thousand took it 100 ms as a role opened', async () => {
    const ids = await endAll()
    const newest = await turnsOf(journal.newestOf('liquidator', COUNT))
    expect(newest.result.map(({ id }) => id)).toEqual(ids)
    expect(newest.turns).toBeGreaterThan(20)
    const lots = await turnsOf(journal.unmarked('liquidator'))
    expect(lots.result.map(({ id }) => id)).toEqual(ids.toReversed())
    expect(lots.turns).toBeGreaterThan(20)
    const listed = await turnsOf(journal.list(COUNT))
    expect(listed.result.map(({ id }) => id)).toEqual(ids)
  })

  it('leaves out of what is to be marked what is decided and marked', async () => {
    const shadow = async (id: string, outcome: object) => {
      const workflow = workflowOf('discovered', { id, opportunity: id })
      await journal.open(workflow)
      await journal.write(Object.assign({}, workflow, { state: 'shadowed', shadowed: { outcome } }))
    }
    await shadow('decided', { lot: 'won' })
    await shadow('undecided', { lot: 'undecided' })
    expect((await journal.unmarked('liquidator')).map(({ id }) => id)).toEqual(['undecided'])
  })

  it('gives what ends while many are read as it ended: a role that opens remembers it by that alone', async () => {
    await endAll()
    const moving = workflowOf('discovered', { id: 'moving', opportunity: 'moving', createdAtMs: COUNT })
    await journal.open(moving)
    const reading = journal.newestOf('liquidator', COUNT)
    await new Promise((resolve) => setImmediate(resolve))
    await journal.write({ ...moving, state: 'succeeded' })
    expect((await reading)[0]).toMatchObject({ id: 'moving', state: 'succeeded' })
  })

  it('gives each workflow once that is archived while many are read', async () => {
    const ids = await endAll()
    const [oldest] = await journal.unmarked('liquidator')
    if (oldest === undefined) throw new TypeError('no lot')
    const { shadowed: _decided, ...rest } = oldest
    await journal.write({ ...rest, state: 'succeeded' })
    const reading = Promise.withResolvers<readonly Workflow[]>()
    const { keep } = Archive.prototype
    const kept = vi.spyOn(Archive.prototype, 'keep').mockImplementation(async function (this: Archive, rows) {
      await keep.call(this, rows)
      // It is in both files now, and leaves the journal's before the next turn.
      reading.resolve(journal.newestOf('liquidator', COUNT))
    })
    await journal.archiveSlice(10_000, 0)
    kept.mockRestore()
    expect((await reading.promise).map(({ id }) => id)).toEqual(ids)
    expect(await journal.unmarked('liquidator')).toHaveLength(COUNT - 1)
  })

  it('is free while the decisions of a large book are added, in their order', async () => {
    const rows: readonly DecisionRow[] = Array.from({ length: 2_000 }, (_, index) => ({
      role: 'liquidator',
      subject: `p${index}`,
      atMs: index,
      check: 'x',
      message: 'm',
      reason: {},
    }))
    const { turns } = await turnsOf(journal.addDecisions(rows))
    expect(turns).toBeGreaterThan(20)
    expect(await journal.decisions('p', 2_000)).toEqual(rows.toReversed())
  })

  it('is not held by all the reservations that are old when one comes after quiet days', () => {
    const recent = new RecentReservations([])
    const at = (atMs: number) => ({
      workflowId: `at ${atMs}`,
      role: 'liquidator' as const,
      atMs,
      usdMicros: 1n,
      gasWei: 1n,
      reverted: false,
    })
    for (let atMs = 0; atMs < 20; atMs += 1) recent.set(at(atMs))
    const held = () =>
      Array.from({ length: 20 }, (_, ms) => recent.since('liquidator', ms) !== null).indexOf(true)
    const lateMs = 3 * 86_400_000
    recent.set(at(lateMs))
    expect(held()).toBe(8)
    expect(recent.since('liquidator', 8)).toHaveLength(13)
    recent.set(at(lateMs + 1))
    recent.set(at(lateMs + 2))
    expect(recent.since('liquidator', 20)).toHaveLength(3)
    expect(recent.since('liquidator', 19)).toBeNull()
  })

  it('is held by commits of 25 changes at most, where many write in one turn', async () => {
    const commits = vi.spyOn(DatabaseSync.prototype, 'exec')
    await Promise.all(Array.from({ length: 100 }, (_, index) => journal.setValue(`k${index}`, 'v')))
    await journal.barrier()
    expect(commits.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(4)
    commits.mockRestore()
  })

  it('reads no more of an outbox than it is asked for: what a long outage left has thousands', async () => {
    const row = { workflowId: 'a', requestId: 'r', order: 0, chainId: 1 }
    for (const [dueAtMs, digit] of ['3', '1', '2'].entries())
      await journal.post([{ ...row, hash: `0x0${digit}`, dueAtMs }])
    expect((await journal.due(10, 2)).map(({ hash }) => hash)).toEqual(['0x03', '0x01'])
  })
})
