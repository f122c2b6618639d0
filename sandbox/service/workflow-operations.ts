import type { Hex } from 'viem'
import type { TrackedTransaction } from '../../src/service/contract/assumptions.ts'
import { hash32 } from '../../src/service/contract/scalars.ts'
import type { Canonical } from '../indexer/canonical.ts'
import { ApiError, notFound, unknownChain } from './http/api-error.ts'
import type { AnyCall, Handler, Handlers } from './http/handler.ts'
import { type Cursors, page } from './http/page.ts'
import type { Progress } from './progress.ts'
import {
  trackedTransactions,
  type WorkflowRecord,
  type WorkflowRecords,
  workflowProgressOf,
} from './workflow-records.ts'

/** A workflow holds no more transactions than its answer can show. */
const TRANSACTIONS_MAX = 100

/** What the operations on prepared workflows are given. */
export type WorkflowDeps = {
  readonly canonical: Canonical
  readonly records: WorkflowRecords
  readonly progress: Progress
  readonly cursors: Cursors
  readonly chainId: number
}

/** Progress reads and the registration of transactions. Source: service API, "Related operations". */
export const workflowOperations = (deps: WorkflowDeps) =>
  ({
    getWorkflow: (call) =>
      workflowProgressOf(find(call, deps.records), deps.chainId, deps.canonical.freshness()),
    registerTransaction: registration(deps),
    getTransaction: transactionReads(deps),
  }) satisfies Partial<Handlers>

function registration(deps: WorkflowDeps): Handler<'registerTransaction'> {
  const { canonical, records, progress, chainId } = deps
  return (call) => {
    const record = find(call, records)
    const { order, chainId: givenChainId, txHash } = call.body
    if (givenChainId !== chainId) throw unknownChain(chainId)
    if (order >= record.intents) {
      throw new ApiError(400, 'unknown_intent', `The workflow has no intent ${order}.`)
    }
    return {
      body: workflowProgressOf(withTransaction(record, order, txHash), chainId, canonical.freshness()),
      commit: () => records.register(record.requestId, order, txHash),
      // It may be mined already: the next block is not waited for. The stage is written and announced there.
      committed: () => progress.evaluate(),
    }
  }
}

function withTransaction(record: WorkflowRecord, order: number, hash: Hex): WorkflowRecord {
  if (record.transactions.some((tx) => tx.order === order && tx.hash === hash)) return record
  if (record.transactions.length >= TRANSACTIONS_MAX) {
    throw new ApiError(409, 'too_many_transactions', `A workflow holds ${TRANSACTIONS_MAX} transactions.`)
  }
  return {
    ...record,
    status: record.status === 'prepared' ? 'submitted' : record.status,
    transactions: [...record.transactions, { order, hash, status: 'submitted', blockNumber: null }],
  }
}

function transactionReads(deps: WorkflowDeps): Handler<'getTransaction'> {
  const { canonical, records, cursors, chainId } = deps
  return (call) => {
    const hash = hash32.safeParse(call.params.txHash).data
    if (hash === undefined) {
      throw new ApiError(400, 'invalid_request', 'The transaction hash is not 32 bytes of hex.')
    }
    if (call.params.chainId !== String(chainId)) throw notFound('tracked transaction on this chain')
    const rows = records
      .byTransaction(hash)
      .filter((record) => !isForeign(call, record) && mayRead(call, record))
      .flatMap((record) => trackedTransactions(record, chainId))
      .filter((tx) => tx.txHash === hash)
    if (rows.length === 0) throw notFound('tracked transaction of this hash')
    const keyOf = (tx: TrackedTransaction) => `${tx.requestId}:${tx.order}`
    return page(call, cursors, { name: `transactions/${hash}`, rows, keyOf }, canonical.freshness())
  }
}

function find(call: AnyCall, records: WorkflowRecords): WorkflowRecord {
  const record = records.find(call.params.requestId ?? '')
  if (record === null || isForeign(call, record)) throw notFound('workflow of this id')
  if (!mayRead(call, record)) {
    throw new ApiError(
      403,
      'foreign_workflow',
      "A wallet's workflow is reached by a secret key, or by a session of that wallet.",
    )
  }
  return record
}

/**
 * Another application's workflow is as an unknown one. A wallet's own is known to its session, unless the session
 * and the workflow are of two applications.
 */
function isForeign({ caller }: AnyCall, { applicationId, principal }: WorkflowRecord): boolean {
  if (caller.applicationId !== null && applicationId !== null) return caller.applicationId !== applicationId
  return caller.wallet === null || caller.wallet !== principal
}

/** A secret key sees the application's workflows, a session its wallet's; what is of no wallet, any caller of its own. */
const mayRead = ({ caller }: AnyCall, { principal }: WorkflowRecord) =>
  caller.key === 'secret' || principal === null || caller.wallet === principal
