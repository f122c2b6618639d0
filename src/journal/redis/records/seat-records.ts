import type { Journal } from '../../journal.ts'
import { encodeRecord } from '../../sqlite/records.ts'
import { encodeEntry } from './entries.ts'
import { Outbox } from './outbox.ts'
import type { RedisReads } from './reads.ts'
import type { SeatWriter } from './seat-writer.ts'

/** Decisions of one script: a first look at a book has one of each position. */
const DECISIONS_MAX = 500

/** What the holder of a seat keeps beside its workflows. */
type SeatRecords = Pick<
  Journal,
  'enterDigest' | 'settle' | 'addDecisions' | 'post' | 'posted' | 'postpone' | 'due' | 'setValue'
>

/** Keep for a seat what is no workflow: digests, reservations, decisions, the outbox and values. */
export function createSeatRecords(writer: SeatWriter, reads: Pick<RedisReads, 'dueOf'>): SeatRecords {
  const { keys } = writer.store
  const { seat } = writer.held
  const outbox = new Outbox()
  const outboxKeys = [keys.outbox(seat), keys.outboxRows(seat), keys.outboxTries(seat)]
  return {
    enterDigest: async (entry) => {
      await writer.run('enter', [keys.digests], [entry.digest, encodeEntry(entry)])
    },
    settle: async (reservation) => {
      const { role, workflowId, atMs } = reservation
      const budget = [keys.budget(role), keys.budgetTimes(role), keys.budgetChanges(role)]
      await writer.run('settle', budget, [workflowId, atMs, encodeRecord(reservation)])
    },
    addDecisions: async (rows) => {
      for (const [role, ofRole = []] of Object.entries(Object.groupBy(rows, (row) => row.role))) {
        for (let start = 0; start < ofRole.length; start += DECISIONS_MAX) {
          const some = ofRole.slice(start, start + DECISIONS_MAX).map(encodeRecord)
          await writer.run('decide', [keys.decisions(role), keys.decisionOps, keys.roles], [role, ...some])
        }
      }
    },
    post: (rows) =>
      outbox.post(rows, (fresh) => {
        const args = fresh.flatMap(({ dueAtMs, ...row }) => [row.hash, dueAtMs, encodeRecord(row)])
        return writer.run('post', outboxKeys, args)
      }),
    posted: (hash) => outbox.posted(hash, () => writer.run('posted', outboxKeys, [hash])),
    postpone: (hash, dueAtMs) =>
      outbox.postpone(hash, dueAtMs, () => writer.run('postpone', outboxKeys, [hash, dueAtMs])),
    due: (nowMs, limit) =>
      outbox.due(nowMs, limit, (most) => reads.dueOf(seat, Number.POSITIVE_INFINITY, most)),
    setValue: async (key, value) => {
      await writer.run('put', [keys.values], value === null ? [key] : [key, value])
    },
  }
}
