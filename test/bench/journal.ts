import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/clock.ts'
import { archiveFile, journalFile, openArchiveDatabase, openDatabase } from '../../src/journal/database.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openJournal } from '../../src/journal/open.ts'
import { encodeRecord } from '../../src/journal/records.ts'
import type { Slot } from '../../src/workflow/slot.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../support/workflows.ts'
import { type SqliteFigures, timeSqlite } from './time-sqlite.ts'

/** What the journal's calls hold the event loop for, with so many workflows in flight and so many archived. */
export type JournalFigures = {
  readonly type: 'journal'
  readonly sizes: readonly (SqliteFigures & { readonly archived: number; readonly inFlight: number })[]
}

const CHAIN = 31_337
const IN_FLIGHT = 1_000
const ARCHIVED = [0, 1_000_000]
/** Between two heads, each of which moves all that is in flight. */
const HEAD_MS = 500
/** How often each place in flight is taken by another workflow. */
const ROUNDS = 5

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Measure every call of SQLite while workflows go from their opening to their end. */
export async function measureJournal(say: (text: string) => void): Promise<JournalFigures> {
  const figures = timeSqlite()
  const sizes: JournalFigures['sizes'][number][] = []
  for (const archived of ARCHIVED) {
    const directory = mkdtempSync(join(tmpdir(), 'bench-journal-'))
    try {
      say(`${archived} archived`)
      fill(directory, archived)
      const { journal, close } = openJournal(directory, systemClock)
      await journal.adoptNonce(CHAIN, SIGNER, 0)
      figures()
      for (let round = 0; round < ROUNDS; round += 1) await carryAll(round, journal)
      sizes.push({ archived, inFlight: IN_FLIGHT, ...figures() })
      await close()
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
  return { type: 'journal', sizes }
}

/** Write what a year leaves behind, as SQL makes it. */
function fill(directory: string, archived: number): void {
  openDatabase(directory).close()
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
  const ids = Array.from({ length: IN_FLIGHT }, (_, index) => round * IN_FLIGHT + index)
  const claimed: Workflow[] = []
  for (const index of ids) claimed.push(await open(index, journal))
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
            ...{ hash: `0x${hashOf(`tx ${workflow.id}`)}`, requestId: workflow.id, workflowId: workflow.id },
            ...{ order: 0, chainId: CHAIN, dueAtMs: 0 },
          },
        ])
        await journal.barrier()
        return written
      }),
    )
    await sleep(HEAD_MS)
    await journal.live()
    await journal.due(Date.now())
  }
  await Promise.all(workflows.map((workflow) => journal.write({ ...workflow, state: 'succeeded' })))
  await journal.barrier()
}

async function open(index: number, journal: Journal): Promise<Workflow> {
  const id = hashOf(`journal ${index}`)
  const nowMs = Date.now()
  const named = { id: id.slice(0, 32), opportunity: id, createdAtMs: nowMs, updatedAtMs: nowMs }
  await journal.byOpportunity(id)
  const discovered = workflowOf('discovered', { ...named, chainId: CHAIN, slots: [] })
  await journal.open(discovered)
  const reservation = { workflowId: named.id, role: 'liquidator', atMs: nowMs, usdMicros: 1n, gasWei: 1n }
  await journal.spending('liquidator', [nowMs - 3_600_000, nowMs - 86_400_000], named.id)
  const slots = [slotOf({ chainId: CHAIN, nonce: index, attempts: [attemptOf({ digest: `0x${id}` })] })]
  const claimed = await journal.claim(workflowOf('in_flight', { ...named, chainId: CHAIN, slots }), {
    ...reservation,
    role: 'liquidator',
    reverted: false,
  })
  if (claimed === 'lost') throw new TypeError('a nonce was taken')
  return claimed
}
