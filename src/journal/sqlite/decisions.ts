import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DecisionRow } from '../journal.ts'
import { encodeRecord, type Records } from './records.ts'

/** Decisions kept: at one changed reason a second, about half a day. */
const DECISIONS_MAX = 50_000

/** Decisions added in one turn of the event loop, about a millisecond: the first look at a book has one of each position. */
const TURN_ROWS = 50

/** Add decisions, a few in a turn of the event loop, and forget the oldest. */
export async function addDecisions(rows: readonly DecisionRow[], records: Records): Promise<void> {
  for (let start = 0; start < rows.length; start += TURN_ROWS) {
    if (start > 0) await nextTurn()
    await records.change(() => {
      for (const row of rows.slice(start, start + TURN_ROWS)) {
        const sql = 'INSERT INTO decisions (subject, body) VALUES (?, ?)'
        records.run(sql, row.subject, encodeRecord(row))
      }
      records.run('DELETE FROM decisions WHERE id <= (SELECT max(id) FROM decisions) - ?', DECISIONS_MAX)
    })
  }
}
