import { transactionRegistration } from '../../service/assumptions.ts'
import { hash32 } from '../../service/scalars.ts'
import type { Canonical } from '../indexer/canonical.ts'
import { ApiError, notFound } from './api-error.ts'
import type { Call, Operation } from './operation.ts'
import { type Cursors, PAGE_QUERY, page } from './page.ts'
import { parseBody } from './parse-body.ts'
import type { Progress } from './progress.ts'
import {
  trackedTransactions,
  type WorkflowRecord,
  type WorkflowRecords,
  workflowProgressOf,
} from './workflow-records.ts'

/** A workflow holds no more transactions than its answer can show. */
const TRANSACTIONS_MAX = 100

/** Progress reads and the registration of transactions. Source: service API, "Related operations". */
export function workflowOperations(deps: {
  readonly canonical: Canonical
  readonly records: WorkflowRecords
  readonly progress: Progress
  readonly cursors: Cursors
  readonly chainId: number
}): readonly Operation[] {
  const { canonical, records, chainId } = deps

  function find(call: Call): WorkflowRecord {
    const record = records.find(call.params.requestId ?? '')
    if (record === null) throw notFound('workflow of this id')
    if (!mayRead(call, record)) {
      throw new ApiError(
        403,
        'foreign_workflow',
        'A wallet session reaches the workflows of its own wallet only.',
      )
    }
    return record
  }

  return [
    {
      method: 'GET',
      path: '/v1/workflows/:requestId',
      access: 'key_or_wallet',
      answer: (call) => workflowProgressOf(find(call), chainId, canonical.freshness()),
    },
    {
      method: 'POST',
      path: '/v1/workflows/:requestId/transactions',
      access: 'key_or_wallet',
      perform: (call) => {
        const record = find(call)
        const { order, chainId: givenChainId, txHash } = parseBody(transactionRegistration, call.body)
        if (givenChainId !== chainId)
          throw new ApiError(400, 'unknown_chain', `This service is on chain ${chainId}.`)
        if (order >= record.intents)
          throw new ApiError(400, 'unknown_intent', `The workflow has no intent ${order}.`)
        const known = record.transactions.some((tx) => tx.order === order && tx.hash === txHash)
        if (!known && record.transactions.length >= TRANSACTIONS_MAX) {
          throw new ApiError(
            409,
            'too_many_transactions',
            `A workflow holds ${TRANSACTIONS_MAX} transactions.`,
          )
        }
        const added = { order, hash: txHash, status: 'submitted', blockNumber: null } as const
        const after: WorkflowRecord = known
          ? record
          : {
              ...record,
              status: record.status === 'prepared' ? 'submitted' : record.status,
              transactions: [...record.transactions, added],
            }
        return {
          body: workflowProgressOf(after, chainId, canonical.freshness()),
          commit: () => records.register(record.requestId, order, txHash),
          // It may be mined already: the next block is not waited for. The stage is written and announced there.
          committed: () => deps.progress.evaluate(),
        }
      },
    },
    {
      method: 'GET',
      path: '/v1/transactions/:chainId/:txHash',
      access: 'key',
      query: PAGE_QUERY,
      answer: (call) => {
        const hash = hash32.safeParse(call.params.txHash)
        if (!hash.success)
          throw new ApiError(400, 'invalid_request', 'The transaction hash is not 32 bytes of hex.')
        if (call.params.chainId !== String(chainId)) throw notFound('tracked transaction on this chain')
        const rows = records
          .byTransaction(hash.data)
          .flatMap((record) => trackedTransactions(record, chainId))
          .filter((tx) => tx.txHash === hash.data)
        if (rows.length === 0) throw notFound('tracked transaction of this hash')
        const keyOf = (tx: (typeof rows)[number]) => `${tx.requestId}:${tx.order}`
        return page(
          call,
          deps.cursors,
          { name: `transactions/${hash.data}`, rows, keyOf },
          canonical.freshness(),
        )
      },
    },
  ]
}

/** A key sees the application's workflows; a session, with or without a publishable key, its own wallet's. */
const mayRead = ({ caller }: Call, record: WorkflowRecord) =>
  caller.key === 'secret' || caller.wallet === null || caller.wallet === record.principal
