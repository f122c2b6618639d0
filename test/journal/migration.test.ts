import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { openSqliteJournal, readSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { isTerminal, PROGRESS_STATES, TERMINAL_STATES } from '../../src/workflow/workflow.ts'
import { newDirectory } from '../support/directory.ts'

/**
 * Written by the code of commit 832df81 (version 1): 23 workflows, at least one in each state, those in flight ordered,
 * signed, sent, bumped, closing and mined; their bytes are really signed, for chain 31337 by the key of 32 bytes 0x42.
 */
const VERSION_1 = new URL('./fixtures/version-1.sqlite.gz', import.meta.url)
const CHAIN = 31_337

/**
 * What the keeper of commit 20b0382 left when it was killed, 6 s into `npm start -- --seed 7`: one workflow in flight, three
 * attested, three held, five succeeded. The rooms of src were cut anew in the next commit.
 */
const BEFORE_THE_ROOMS = new URL('./fixtures/before-rooms.sqlite.gz', import.meta.url)

let directory: string
const put = (fixture: URL) =>
  writeFileSync(join(directory, 'journal.sqlite'), gunzipSync(readFileSync(fixture)))
beforeEach(() => {
  directory = newDirectory()
  put(VERSION_1)
})

/** The records as they were written, by id. */
function written(): ReadonlyMap<string, object> {
  const db = new DatabaseSync(join(directory, 'journal.sqlite'), { readOnly: true })
  const rows = db.prepare('SELECT id, body FROM workflows').all()
  db.close()
  return new Map(rows.map(({ id, body }) => [String(id), JSON.parse(String(body))]))
}

/** Version 1 left it with an open nonce that nobody followed. */
const QUARANTINED = 'fixture:quarantined-open'

const asJson = (record: unknown): unknown =>
  JSON.parse(
    JSON.stringify(record, (_key, value) => (typeof value === 'bigint' ? { $bigint: String(value) } : value)),
  )

describe('a journal of version 1', () => {
  it('is brought to today with every workflow as it was, in each state', async () => {
    const before = written()
    const journal = openSqliteJournal(directory)
    const rows = await journal.list(100)
    // Version 1 knew no bundle of which a part landed.
    const states = [...PROGRESS_STATES, ...TERMINAL_STATES].filter((state) => state !== 'partial')
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(states))
    for (const row of rows.filter(({ proposal }) => proposal.subject !== QUARANTINED)) {
      expect(asJson(row)).toEqual(before.get(row.id))
    }
    expect(rows).toHaveLength(before.size)
    expect(await journal.live()).toEqual(
      rows.filter(({ state }) => !isTerminal(state)).toSorted((a, b) => a.createdAtMs - b.createdAtMs),
    )
    await journal.close()
  })

  it('follows what version 1 had quarantined with an open nonce', async () => {
    const before = written()
    const journal = openSqliteJournal(directory)
    const row = (await journal.live()).find(({ proposal }) => proposal.subject === QUARANTINED)
    const was = before.get(row?.id ?? '')
    expect(asJson(row)).toEqual({
      ...was,
      state: 'in_flight',
      quarantined: {
        atMs: row?.updatedAtMs,
        note: { check: 'three_strikes', message: 'Three steps in a row failed.' },
      },
    })
    await journal.close()
  })

  it('keeps nonces, ledger, outbox, reservations and what is asked by role', async () => {
    const journal = openSqliteJournal(directory)
    const inFlight = (await journal.live()).filter(({ state }) => state === 'in_flight')
    expect(inFlight).toHaveLength(7)
    for (const { id, slots } of inFlight) {
      for (const { nonce, signer, attempts } of slots) {
        expect((await journal.byNonce(CHAIN, signer, nonce))?.id).toBe(id)
        for (const { digest } of attempts)
          expect(await journal.ledgerEntry(digest, signer)).toMatchObject({ nonce })
      }
    }
    expect(await journal.nextNonce(CHAIN, inFlight[0]?.signer ?? '0x')).toBe(16)
    expect(await journal.due(Number.MAX_SAFE_INTEGER, 10)).toHaveLength(3)
    expect(await journal.reservations('liquidator', 0)).toHaveLength(14)
    expect(await journal.newestOf('liquidator', 100)).toHaveLength(23)
    expect(await journal.newestOf('allocator', 100)).toHaveLength(0)
    expect(await journal.shadowed()).toHaveLength(1)
    expect(await journal.getValue('feed:cursor')).toBe('cursor-1')
    await journal.close()
  })

  it('keeps what binds a request of the service’s to a workflow, but not to one that it has archived', async () => {
    const [known] = written().keys()
    const db = new DatabaseSync(join(directory, 'journal.sqlite'))
    const add = db.prepare('INSERT INTO values_by_key (key, value) VALUES (?, ?)')
    add.run('request:kept', known ?? '')
    add.run('request:gone', 'archived')
    db.close()
    const journal = openSqliteJournal(directory)
    expect(await journal.getValue('request:kept')).toBe(known)
    expect(await journal.getValue('request:gone')).toBeNull()
    await journal.close()
  })

  it('is not read by a command before a keeper brought it to today', () => {
    expect(() => readSqliteJournal(directory)).toThrow(
      /has version 1; this release reads 3\. Fix: start the keeper/,
    )
  })

  it('is left alone when it is of a newer release', () => {
    const db = new DatabaseSync(join(directory, 'journal.sqlite'))
    db.exec('PRAGMA user_version = 99')
    db.close()
    expect(() => openSqliteJournal(directory)).toThrow(/has version 99; this release reads up to 3/)
  })
})

it('goes on with what a keeper of the commit before the rooms were cut had in flight, as it was', async () => {
  put(BEFORE_THE_ROOMS)
  const before = written()
  const journal = openSqliteJournal(directory)
  const rows = await journal.list(100)
  expect(new Map(rows.map((row) => [row.id, asJson(row)]))).toEqual(before)
  const live = await journal.live()
  expect(live.map(({ state }) => state).toSorted()).toEqual([
    ...['attested', 'attested', 'attested'],
    ...['discovered', 'discovered', 'discovered', 'in_flight'],
  ])
  for (const { id, chainId, slots } of live)
    for (const { nonce, signer, attempts } of slots) {
      expect((await journal.byNonce(chainId, signer, nonce))?.id).toBe(id)
      expect(await journal.nextNonce(chainId, signer)).toBeGreaterThan(nonce)
      for (const { digest } of attempts)
        expect(await journal.ledgerEntry(digest, signer)).toMatchObject({ workflowId: id, nonce })
    }
  await journal.close()
})
