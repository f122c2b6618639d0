import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../src/clock.ts'
import type { DecisionRow, Journal } from '../../../src/journal/journal.ts'
import { openJournal } from '../../../src/journal/open.ts'
import { archiveFile, journalFile, openArchiveDatabase } from '../../../src/journal/sqlite/database.ts'
import { encodeRecord } from '../../../src/journal/sqlite/records.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import type { Slot } from '../../../src/workflow/slot.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { newDirectory } from '../../support/directory.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'
import { type JournalCalls, timeJournal } from './time-journal.ts'

/** How long the journal holds the event loop, with so many workflows in flight and so many archived. */
export type JournalFigures = {
  readonly type: 'journal'
  readonly sizes: readonly (JournalCalls & { readonly archived: number; readonly inFlight: number })[]
}

const CHAIN = 31_337
const IN_FLIGHT = 1_000
const ARCHIVED = [0, 1_000_000]
/** Between two heads, each of which moves all that is in flight. */
const HEAD_MS = 500
/** How often each place in flight is taken by another workflow. */
const ROUNDS = 5
/** Workflows that ended over a week ago, which move to the archive meanwhile. */
const ENDED = 1_000
const ENDED_AT_MS = Date.now() - 8 * 86_400_000
/** What a head changes of a large book. */
const DECISIONS = 2_000
/** What a pipeline's workflow holds besides: its request, and the service's answer. */
const MORE_BYTES = 3_000

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Measure all that the journal does while workflows go from their opening to their end, and others to the archive. */
export async function measureJournal(say: (text: string) => void): Promise<JournalFigures> {
  const figures = timeJournal()
  const sizes: JournalFigures['sizes'][number][] = []
  for (const archived of ARCHIVED) {
    const directory = newDirectory()
    try {
      say(`${archived} archived`)
      await fill(directory, archived)
      const { journal, close } = openJournal(directory, systemClock)
      await journal.adoptNonce(CHAIN, SIGNER, ENDED)
      await figures()
      for (let round = 0; round < ROUNDS; round += 1) await carryAll(round, journal)
      sizes.push({ archived, inFlight: IN_FLIGHT, ...(await figures()) })
      await close()
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
  return { type: 'journal', sizes }
}

/** Write what a year leaves behind, as SQL makes it. */
async function fill(directory: string, archived: number): Promise<void> {
  const fresh = openSqliteJournal(directory)
  await fresh.adoptNonce(CHAIN, SIGNER, 0)
  for (let index = 0; index < ENDED; index += 1) {
    const claimed = await open(index, ENDED_AT_MS, fresh)
    await fresh.write({ ...claimed, state: 'succeeded' })
  }
  await fresh.close()
  openArchiveDatabase(directory).close()
  const rows = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${archived})`
  const body = encodeRecord(workflowOf('succeeded'))
  const insert = (file: string, sql: string, ...values: string[]) => {
    const database = new DatabaseSync(file)
    if (archived > 0) database.prepare(sql).run(...values)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    database.close()
  }
  insert(
    journalFile(directory),
    `INSERT INTO archived (opportunity, round, workflow_id) ${rows} SELECT lower(hex(randomblob(32))), 0, printf('%032x', i) FROM n`,
  )
  insert(
    archiveFile(directory),
    `INSERT INTO workflows (id, role, state, created_at_ms, body, transitions) ${rows} SELECT printf('%032x', i), 'liquidator', 'succeeded', i, ?, '[]' FROM n`,
    body,
  )
}

/** Bring a thousand workflows through their records, side by side as a keeper does: each write waits for its barrier. */
async function carryAll(round: number, journal: Journal): Promise<void> {
  const ids = Array.from({ length: IN_FLIGHT }, (_, index) => ENDED + round * IN_FLIGHT + index)
  const claimed: Workflow[] = []
  for (const index of ids) claimed.push(await open(index, Date.now(), journal))
  await journal.barrier()
  const states: readonly Slot['state'][] = ['open', 'mined', 'final']
  let workflows: readonly Workflow[] = claimed
  for (const state of states) {
    workflows = await Promise.all(
      workflows.map(async (workflow) => {
        const slots = workflow.slots.map((slot) => ({ ...slot, state }))
        const written = await journal.write({ ...workflow, slots })
        await journal.post([
          {
            hash: `0x${hashOf(`tx ${workflow.id}`)}`,
            requestId: workflow.id,
            workflowId: workflow.id,
            order: 0,
            chainId: CHAIN,
            dueAtMs: 0,
          },
        ])
        await journal.barrier()
        return written
      }),
    )
    await sleep(HEAD_MS)
    await journal.live()
    await journal.due(Date.now(), 32)
    await journal.addDecisions(DECISION_ROWS)
  }
  await Promise.all(workflows.map((workflow) => journal.write({ ...workflow, state: 'succeeded' })))
  await journal.barrier()
  // As a role does that opens again meanwhile.
  await journal.newestOf('liquidator', 1_000)
  await journal.unmarked('liquidator')
}

const DECISION_ROWS: readonly DecisionRow[] = Array.from({ length: DECISIONS }, (_, index) => ({
  role: 'liquidator',
  subject: `0x${hashOf(`position ${index}`)}`,
  atMs: 0,
  check: 'not_worth_it',
  message: 'it would cost more than it gains',
  reason: { gain: '1000000', cost: '2000000' },
}))

async function open(index: number, nowMs: number, journal: Journal): Promise<Workflow> {
  const id = hashOf(`journal ${index}`)
  const named = { id: id.slice(0, 32), opportunity: id, createdAtMs: nowMs, updatedAtMs: nowMs }
  await journal.byOpportunity(id)
  const request = { idempotencyKey: id, body: 'x'.repeat(MORE_BYTES) }
  const discovered = workflowOf('discovered', { ...named, request, chainId: CHAIN, slots: [] })
  await journal.open(discovered)
  const reservation = { workflowId: named.id, role: 'liquidator', atMs: nowMs, usdMicros: 1n, gasWei: 1n }
  await journal.spending('liquidator', [nowMs - 3_600_000, nowMs - 86_400_000], named.id)
  const slots = [slotOf({ chainId: CHAIN, nonce: index, attempts: [attemptOf({ digest: `0x${id}` })] })]
  const claimed = await journal.claim(workflowOf('in_flight', { ...named, request, chainId: CHAIN, slots }), {
    ...reservation,
    role: 'liquidator',
    reverted: false,
  })
  if (claimed === 'lost') throw new TypeError('a nonce was taken')
  return claimed
}
