import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { requestKey } from '../../../src/journal/entered.ts'
import type { JournalReads } from '../../../src/journal/journal.ts'
import {
  openSqliteJournal,
  readSqliteJournal,
  type SqliteJournal,
} from '../../../src/journal/sqlite/sqlite.ts'
import { move, type Workflow } from '../../../src/workflow/workflow.ts'
import { newDirectory } from '../../support/directory.ts'
import { answerOf, attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const LATER = 1_000_000
let directory: string
let journal: SqliteJournal

beforeEach(async () => {
  directory = newDirectory()
  journal = openSqliteJournal(directory)
  await journal.adoptNonce(CHAIN, SIGNER, 0)
})

/** A workflow that took a nonce and succeeded. */
async function succeeded(id: string, nonce: number): Promise<Workflow> {
  const cleared = workflowOf('cleared', { id, opportunity: `of ${id}`, createdAtMs: 1_000 + nonce })
  await journal.open(cleared)
  const digest = `0x${String(nonce).padStart(64, '0')}` as const
  const hash = `0x${String(nonce).padStart(64, 'f')}` as const
  const slot = slotOf({ nonce, attempts: [attemptOf({ digest, hash })] })
  const claimed = await journal.claim(move(cleared, 'in_flight', 2_000, { slots: [slot] }), {
    workflowId: id,
    role: 'liquidator',
    atMs: 2_000,
    usdMicros: 1n,
    gasWei: 1n,
    reverted: false,
  })
  if (claimed === 'lost') throw new Error('lost')
  const landed = await journal.write({ ...claimed, slots: [{ ...slot, state: 'final' }] })
  const confirmed = await journal.write(move(landed, 'confirmed', 3_000))
  return journal.write(move(confirmed, 'succeeded', 4_000))
}

async function archiveAll(beforeMs = LATER): Promise<void> {
  let after: number | null = 0
  while (after !== null) after = await journal.archiveSlice(beforeMs, after)
}

describe('the archive', () => {
  it('takes what ended long ago, and everything is found as before', async () => {
    const ended: Workflow[] = []
    for (let nonce = 0; nonce < 20; nonce += 1) ended.push(await succeeded(`w${nonce}`, nonce))
    const live = workflowOf('discovered', { id: 'live', opportunity: 'of live' })
    await journal.open(live)
    const asked = async (
      from: Pick<JournalReads, 'list' | 'newestOf' | 'get' | 'byOpportunity' | 'byNonce' | 'transitions'>,
    ) => ({
      list: await from.list(100),
      newest: await from.newestOf('liquidator', 5),
      get: await from.get('w3'),
      byOpportunity: await from.byOpportunity('of w3'),
      byNonce: await from.byNonce(CHAIN, SIGNER, 3),
      transitions: await from.transitions('w3'),
    })
    const before = await asked(journal)
    await archiveAll()
    expect(await asked(journal)).toEqual(before)
    expect(before.get).toEqual(ended[3])
    expect(await journal.nextNonce(CHAIN, SIGNER)).toBe(20)
    expect(await journal.live()).toEqual([live])
    await journal.close()
    // The last connection of a database takes its log away.
    expect(existsSync(join(directory, 'archive.sqlite-wal'))).toBe(false)
    const reader = readSqliteJournal(directory)
    expect(await asked(reader)).toEqual(before)
    await reader.close()
    journal = openSqliteJournal(directory)
    expect(await asked(journal)).toEqual(before)
  })

  it('keeps the hash of each opportunity: none is opened again', async () => {
    await succeeded('w', 0)
    await archiveAll()
    expect(await journal.open(workflowOf('discovered', { id: 'w', opportunity: 'of w' }))).toBe('exists')
    expect(await journal.open(workflowOf('discovered', { id: 'x', opportunity: 'of w' }))).toBe('exists')
    const next = workflowOf('discovered', { id: 'next', opportunity: 'of w', round: 1 })
    expect(await journal.open(next)).toBe('opened')
    expect((await journal.byOpportunity('of w'))?.id).toBe('next')
    await journal.write(move(next, 'refused', 4_000))
    await archiveAll()
    expect((await journal.byOpportunity('of w'))?.id).toBe('next')
  })

  it('leaves what is young, live, unknown to the service, or of an undecided lot', async () => {
    const { slots } = await succeeded('w', 0)
    const hash = slots[0]?.attempts[0]?.hash ?? '0x'
    await archiveAll(3_500)
    await journal.post([{ workflowId: 'w', requestId: 'r', order: 0, chainId: CHAIN, hash, dueAtMs: 10 }])
    const outcome = { verdict: 'won', blockNumber: 1n, gasWei: 1n, lot: 'undecided' } as const
    const lot = workflowOf('cleared', { id: 'lot', opportunity: 'lot', shadow: true })
    await journal.open(lot)
    await journal.write(move(lot, 'shadowed', 5_000, { shadowed: { calls: [], ask: null, outcome } }))
    await archiveAll()
    expect((await journal.unmarked('liquidator')).map(({ id }) => id)).toEqual(['lot'])
    expect(await journal.ledgerEntry(`0x${'0'.repeat(64)}`, SIGNER)).toMatchObject({ workflowId: 'w' })
    await journal.posted(hash)
    await archiveAll()
    expect(await journal.ledgerEntry(`0x${'0'.repeat(64)}`, SIGNER)).toBeNull()
    expect((await journal.get('w'))?.state).toBe('succeeded')
  })

  it('lets the request go with its workflow, and no other', async () => {
    const keyOf = (of: string) => requestKey(`wf-${of}`)
    const bound = async (id: string, nonce: number) => {
      const ended = await succeeded(id, nonce)
      const prepared = { bytesSha256: '', answer: answerOf({ requestId: `wf-${id}` }), receivedAtMs: 1 }
      expect(await journal.writeBound({ ...ended, prepared }, `wf-${id}`)).not.toBe('taken')
    }
    await bound('w', 0)
    await bound('x', 1)
    await journal.setValue(keyOf('x'), 'another')
    await archiveAll()
    expect(await Promise.all(['w', 'x'].map((id) => journal.getValue(keyOf(id))))).toEqual([null, 'another'])
  })

  it('forgets of two keys with one digest that whose workflow left', async () => {
    const { slots } = await succeeded('w', 0)
    const digest = slots[0]?.attempts[0]?.digest ?? '0x'
    const signer = `0x${'52'.repeat(20)}` as const
    await journal.enterDigest({ digest, kind: 'transaction', signer, workflowId: 'x', nonce: 0, atMs: 1 })
    await archiveAll()
    expect(await journal.ledgerEntry(digest, SIGNER)).toBeNull()
    expect(await journal.ledgerEntry(digest, signer)).toMatchObject({ workflowId: 'x' })
  })

  it('is missed at the next start when it is gone', async () => {
    await succeeded('w', 0)
    await archiveAll()
    await journal.close()
    rmSync(join(directory, 'archive.sqlite'))
    expect(() => openSqliteJournal(directory)).toThrow(
      expect.objectContaining({ code: 'journal.archive_missing' }),
    )
  })

  it('loses nothing when the process ends between the two files', async () => {
    await succeeded('w', 0)
    const shadow = workflowOf('cleared', { id: 'shadow', opportunity: 'shadow', shadow: true })
    await journal.open(shadow)
    await journal.write(move(shadow, 'shadowed', 5_000))
    await journal.barrier()
    const before = await journal.list(10)
    const files = ['journal.sqlite', 'journal.sqlite-wal']
    for (const file of files) copyFileSync(join(directory, file), join(directory, `${file}.before`))
    await archiveAll()
    await journal.close()
    // The archive has it, and of the journal's own change nothing came to disk.
    for (const file of files) renameSync(join(directory, `${file}.before`), join(directory, file))
    journal = openSqliteJournal(directory)
    expect(await journal.list(10)).toEqual(before)
    expect(await journal.shadowed()).toMatchObject([{ id: 'shadow' }])
    await archiveAll()
    expect(await journal.shadowed()).toMatchObject([{ id: 'shadow' }])
    expect(await journal.list(10)).toEqual(before)
    expect((await journal.byOpportunity('of w'))?.id).toBe('w')
  })
})
