import type { OutboxRow } from '../journal.ts'
import { encodeRecord, type Records } from './records.ts'

/** Put transactions in the outbox of these records; one that is there already stays as it is. */
export async function post(rows: readonly Omit<OutboxRow, 'tries'>[], records: Records): Promise<void> {
  await records.change(() => {
    for (const row of rows) {
      records.run(
        'INSERT INTO outbox (hash, due_at_ms, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
        row.hash,
        row.dueAtMs,
        encodeRecord({ ...row, tries: 0 }),
      )
    }
  })
}

/** Keep that the service has a transaction; its row stays, so that it is never put in again. */
export async function posted(hash: string, records: Records): Promise<void> {
  await records.change(() => records.run('UPDATE outbox SET due_at_ms = NULL WHERE hash = ?', hash))
}

/** Try a transaction of the outbox again at a time. */
export async function postpone(hash: string, dueAtMs: number, records: Records): Promise<void> {
  await records.change(() => {
    const row = records.bodies<OutboxRow>('SELECT body FROM outbox WHERE hash = ?', hash)[0]
    if (row === undefined) return
    const next = { ...row, tries: row.tries + 1, dueAtMs }
    const sql = 'UPDATE outbox SET due_at_ms = ?, body = ? WHERE hash = ?'
    records.run(sql, dueAtMs, encodeRecord(next), hash)
  })
}
