import type { Address, Hex } from 'viem'
import { z } from 'zod'
import {
  expectedValue,
  type TrackedTransaction,
  WORKFLOW_STAGES,
  type WorkflowProgress,
} from '../../src/service/contract/assumptions.ts'
import type { Freshness } from '../../src/service/contract/resources.ts'
import { addr, hash32 } from '../../src/service/contract/scalars.ts'
import type { Store } from './store.ts'

const status = z.enum([...WORKFLOW_STAGES, 'failed'])
/** How far a workflow is: a stage, or `failed` when one of its transactions reverted. */
export type WorkflowStatus = z.infer<typeof status>

const RETENTION_MS = 30 * 24 * 3_600_000

const postcondition = z.object({
  entityType: z.string(),
  entityId: z.string(),
  field: z.string(),
  expected: expectedValue,
  /** Latched: once true at an indexed block, it stays so unless the chain drops the transaction. */
  satisfied: z.boolean(),
  /** The block at which it was first seen true; null before. */
  blockNumber: z.string().nullable(),
})
export type Postcondition = z.infer<typeof postcondition>

const transactionStatus = z.enum(['submitted', 'mined', 'persisted_visible', 'reverted'])

/** A transaction registered for an intent. `blockNumber` is where the indexer has it, null while it has it nowhere. */
export type RegisteredTransaction = {
  readonly order: number
  readonly hash: Hex
  readonly status: z.infer<typeof transactionStatus>
  readonly blockNumber: bigint | null
}

/** A prepared workflow and how far it is. */
export type WorkflowRecord = {
  readonly requestId: string
  readonly workflowType: string
  /** Whose key or session prepared it; null for a session of no application. */
  readonly applicationId: string | null
  /** Whose wallet it is for; null when none was named, or only by a publishable key alone. */
  readonly principal: Address | null
  readonly status: WorkflowStatus
  /** How many intents were prepared; 0 when the preflight blocked. The last one is the action. */
  readonly intents: number
  readonly postconditions: readonly Postcondition[]
  readonly createdMs: number
  /** The block of the revert, while it is failed. */
  readonly failedBlock: bigint | null
  readonly transactions: readonly RegisteredTransaction[]
}

/** Workflows on disk, for 30 days. Writes are made inside the caller's transaction. */
export type WorkflowRecords = {
  readonly insert: (record: WorkflowRecord) => void
  readonly find: (requestId: string) => WorkflowRecord | null
  /** The workflows that registered a transaction, newest first. */
  readonly byTransaction: (hash: Hex) => readonly WorkflowRecord[]
  /** The workflows whose progress may still change, oldest first: what ended in a block from `undoneFromBlock` on may. */
  readonly unsettled: (createdAfterMs: number, undoneFromBlock: bigint) => readonly WorkflowRecord[]
  readonly register: (requestId: string, order: number, hash: Hex) => void
  readonly update: (record: WorkflowRecord) => void
  /** Forget the workflows of an application. */
  readonly forget: (applicationId: string) => void
}

/** Open the workflows in the store. */
export const createWorkflowRecords = ({ db }: Store): WorkflowRecords => ({
  ...workflowReads(db),
  ...workflowWrites(db),
})

type Db = Store['db']

function workflowReads(db: Db): Pick<WorkflowRecords, 'find' | 'byTransaction' | 'unsettled'> {
  const record = createRowReader(db)
  const find = db.prepare('SELECT * FROM workflows WHERE request_id = ?')
  const byTransaction = db.prepare(
    `SELECT * FROM workflows WHERE request_id IN (SELECT request_id FROM transactions WHERE hash = ?)
     ORDER BY created_ms DESC LIMIT 100`,
  )
  const unsettled = db.prepare(
    `SELECT * FROM workflows AS w WHERE created_ms > ? AND (status <> 'failed' OR failed_block >= ?)
     AND EXISTS (SELECT 1 FROM transactions AS t WHERE t.request_id = w.request_id
       AND (w.status <> 'final_success' OR CAST(t.block_number AS INTEGER) >= ?)) ORDER BY created_ms`,
  )
  return {
    find: (requestId) => {
      const row = find.get(requestId)
      return row === undefined ? null : record(row)
    },
    byTransaction: (hash) => byTransaction.all(hash).map(record),
    unsettled: (createdAfterMs, undoneFromBlock) =>
      unsettled.all(createdAfterMs, undoneFromBlock, undoneFromBlock).map(record),
  }
}

/** Read a row of `workflows`, with its transactions. */
function createRowReader(db: Db): (row: Record<string, unknown>) => WorkflowRecord {
  const transactions = db.prepare(
    'SELECT intent_order, hash, status, block_number FROM transactions WHERE request_id = ? ORDER BY intent_order, rowid',
  )
  return (row) => {
    const requestId = String(row.request_id)
    return {
      requestId,
      workflowType: String(row.workflow_type),
      applicationId: row.application_id === null ? null : String(row.application_id),
      principal: addr.nullable().parse(row.principal),
      status: status.parse(row.status),
      intents: Number(row.intents),
      postconditions: z.array(postcondition).parse(JSON.parse(String(row.postconditions))),
      createdMs: Number(row.created_ms),
      failedBlock: row.failed_block === null ? null : BigInt(Number(row.failed_block)),
      transactions: transactions.all(requestId).map((tx) => ({
        order: Number(tx.intent_order),
        hash: hash32.parse(tx.hash),
        status: transactionStatus.parse(tx.status),
        blockNumber: tx.block_number === null ? null : BigInt(String(tx.block_number)),
      })),
    }
  }
}

function workflowWrites(db: Db): Pick<WorkflowRecords, 'insert' | 'register' | 'update' | 'forget'> {
  const purgeTransactions = db.prepare(
    'DELETE FROM transactions WHERE request_id IN (SELECT request_id FROM workflows WHERE created_ms < ?)',
  )
  const purge = db.prepare('DELETE FROM workflows WHERE created_ms < ?')
  const insert = db.prepare('INSERT INTO workflows VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)')
  const register = db.prepare("INSERT OR IGNORE INTO transactions VALUES (?, ?, ?, 'submitted', NULL)")
  const update = db.prepare(
    'UPDATE workflows SET status = ?, postconditions = ?, failed_block = ? WHERE request_id = ?',
  )
  const updateTransaction = db.prepare(
    'UPDATE transactions SET status = ?, block_number = ? WHERE request_id = ? AND intent_order = ? AND hash = ?',
  )
  const forgetTransactions = db.prepare(
    'DELETE FROM transactions WHERE request_id IN (SELECT request_id FROM workflows WHERE application_id = ?)',
  )
  const forget = db.prepare('DELETE FROM workflows WHERE application_id = ?')
  return {
    insert: (w) => {
      purgeTransactions.run(w.createdMs - RETENTION_MS)
      purge.run(w.createdMs - RETENTION_MS)
      const postconditions = JSON.stringify(w.postconditions)
      const { requestId, workflowType, applicationId, principal } = w
      insert.run(
        ...([requestId, workflowType, applicationId, principal, w.status, w.intents] as const),
        ...([postconditions, w.createdMs] as const),
      )
    },
    register: (requestId, order, hash) => {
      register.run(requestId, order, hash)
    },
    update: (w) => {
      update.run(w.status, JSON.stringify(w.postconditions), w.failedBlock, w.requestId)
      for (const tx of w.transactions) {
        updateTransaction.run(tx.status, tx.blockNumber?.toString() ?? null, w.requestId, tx.order, tx.hash)
      }
    },
    forget: (applicationId) => {
      forgetTransactions.run(applicationId)
      forget.run(applicationId)
    },
  }
}

/** Show the registered transactions of a workflow. Pure. */
export const trackedTransactions = (record: WorkflowRecord, chainId: number): readonly TrackedTransaction[] =>
  record.transactions.map((tx) => ({
    order: tx.order,
    chainId,
    txHash: tx.hash,
    status:
      record.status === 'final_success' && tx.status === 'persisted_visible' ? 'final_success' : tx.status,
    blockNumber: tx.blockNumber?.toString() ?? null,
    requestId: record.requestId,
  }))

/** Show how far a workflow is. Pure. */
export const workflowProgressOf = (
  record: WorkflowRecord,
  chainId: number,
  freshness: Freshness,
): WorkflowProgress => ({
  requestId: record.requestId,
  workflowType: record.workflowType,
  status: record.status,
  transactions: [...trackedTransactions(record, chainId)],
  canonicalPostconditions: [...record.postconditions],
  freshness,
})
