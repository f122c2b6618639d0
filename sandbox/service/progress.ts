import type { Hex } from 'viem'
import type { Clock } from '../../src/clock.ts'
import { WORKFLOW_STAGES } from '../../src/service/contract/assumptions.ts'
import { SERVICE_CATALOGUE } from '../../src/service/contract/workflow-types.ts'
import type { Canonical, Snapshot } from '../indexer/canonical.ts'
import type { EventLog } from './events/events.ts'
import type { EventDraft } from './http/handler.ts'
import { fieldOf, holds } from './postconditions.ts'
import type {
  Postcondition,
  RegisteredTransaction,
  WorkflowRecord,
  WorkflowRecords,
  WorkflowStatus,
} from './workflow-records.ts'

/** A workflow that did not finish in a day is no longer followed. */
const FOLLOWED_MS = 24 * 3_600_000

/** What is this deep, a revert or a final success, is not undone by a reorg of the sandbox's chain. */
const REORG_BLOCKS_MAX = 64n

/** The sandbox's chain finalises a block when this many are on top of it. */
const FINALITY_BLOCKS = 2n

/** A workflow of a session without application is announced to nobody; an event without application is everybody's. */
const NO_APPLICATION = 'none'

/** What the indexer knows of a transaction; null when no indexed block holds it. */
type IndexedTransaction = { readonly blockNumber: bigint; readonly status: 'success' | 'reverted' } | null

/**
 * Say how far a workflow is on the indexed chain: forward by stages, or back when a reorg dropped what had been mined.
 * Only `final_success` is never left, so it waits until the chain finalises the action's block; where a deeper reorg
 * moves the action all the same, its postconditions are judged anew at the block that it is in now. Pure.
 */
export function advance(
  record: WorkflowRecord,
  seen: ReadonlyMap<Hex, IndexedTransaction>,
  snapshot: Snapshot,
): WorkflowRecord {
  if (record.transactions.length === 0) return record
  const transactions = record.transactions.map((tx) => ({
    ...tx,
    ...placed(seen.get(tx.hash) ?? null, snapshot),
  }))
  const reverted = transactions.find((tx) => tx.status === 'reverted')
  const action = minedAction(record.intents, transactions)
  const moved = action?.blockNumber !== minedAction(record.intents, record.transactions)?.blockNumber
  const postconditions =
    action?.status === 'persisted_visible'
      ? record.postconditions.map((item) => latched(item, snapshot, moved))
      : record.postconditions.map(unlatched)
  const wasFinal = record.status === 'final_success'
  // Gone from the chain, it is on its way into another block.
  if (wasFinal && (action === undefined || action.status === 'reverted')) return record
  const status = reverted === undefined ? statusOf(action, postconditions, snapshot) : 'failed'
  return {
    ...record,
    transactions,
    postconditions,
    status: wasFinal ? 'final_success' : status,
    failedBlock: reverted?.blockNumber ?? null,
  }
}

function placed(
  seen: IndexedTransaction,
  snapshot: Snapshot,
): Pick<RegisteredTransaction, 'status' | 'blockNumber'> {
  if (seen === null) return { status: 'submitted', blockNumber: null }
  if (seen.status === 'reverted') return { status: 'reverted', blockNumber: seen.blockNumber }
  const visible = snapshot.block.number >= seen.blockNumber
  return { status: visible ? 'persisted_visible' : 'mined', blockNumber: seen.blockNumber }
}

/** Of the hashes registered for the action, at most one is in a block: they share a nonce. */
const minedAction = (intents: number, transactions: readonly RegisteredTransaction[]) =>
  transactions.find((tx) => tx.order === intents - 1 && tx.blockNumber !== null)

function statusOf(
  action: RegisteredTransaction | undefined,
  conditions: readonly Postcondition[],
  snapshot: Snapshot,
): WorkflowStatus {
  if (action === undefined) return 'submitted'
  if (action.status === 'mined') return 'mined'
  const isFinal = snapshot.block.number >= (action.blockNumber ?? 0n) + FINALITY_BLOCKS
  const isTrue = conditions.every((condition) => condition.satisfied)
  return isFinal && isTrue ? 'final_success' : 'persisted_visible'
}

const unlatched = (item: Postcondition): Postcondition => ({ ...item, satisfied: false, blockNumber: null })

function latched(item: Postcondition, snapshot: Snapshot, moved: boolean): Postcondition {
  if (item.satisfied && !moved) return item
  if (!holds(item.expected, fieldOf(snapshot, item))) return unlatched(item)
  return { ...item, satisfied: true, blockNumber: snapshot.block.number.toString() }
}

/** The stages that lie between two statuses, the new one last: each is announced. Pure. */
function stagesPassed(from: WorkflowStatus, to: WorkflowStatus): readonly WorkflowStatus[] {
  if (from === to) return []
  const order: readonly WorkflowStatus[] = WORKFLOW_STAGES
  const [start, end] = [order.indexOf(from), order.indexOf(to)]
  return start >= 0 && end > start ? order.slice(start + 1, end + 1) : [to]
}

/** Follows every unsettled workflow. */
export type Progress = {
  /** Look again; a look that is running is followed by one more. */
  readonly evaluate: () => void
  /** Settles when no look is running. */
  readonly idle: () => Promise<void>
}

/** Follow workflows on the indexed chain, announcing each stage. A look that fails goes to `onCrash`. */
export function createProgress(deps: {
  readonly canonical: Canonical
  readonly records: WorkflowRecords
  readonly log: EventLog
  readonly clock: Clock
  readonly onCrash: (error: unknown) => void
}): Progress {
  const { canonical, records, log } = deps
  let running: Promise<void> | null = null
  let again = false

  async function look(): Promise<void> {
    const undoneFrom = canonical.snapshot().block.number - REORG_BLOCKS_MAX
    const unsettled = records.unsettled(deps.clock.nowMs() - FOLLOWED_MS, undoneFrom)
    const hashes = [...new Set(unsettled.flatMap((record) => record.transactions.map((tx) => tx.hash)))]
    const seen = new Map(
      await Promise.all(hashes.map(async (h) => [h, await canonical.transaction(h)] as const)),
    )
    // Read after the transactions: a snapshot older than a transaction's block would only delay a stage.
    const snapshot = canonical.snapshot()
    for (const known of unsettled) {
      // Most are as they were, and are not read a second time.
      if (same(known, advance(known, seen, snapshot))) continue
      // A transaction may have been registered meanwhile; it is looked at next time.
      const record = records.find(known.requestId)
      if (record === null || record.transactions.some((tx) => !seen.has(tx.hash))) continue
      const next = advance(record, seen, snapshot)
      if (same(record, next)) continue
      log.append(progressEvents(stagesPassed(record.status, next.status), next), () => records.update(next))
    }
  }

  function evaluate(): void {
    again = true
    running ??= (async () => {
      while (again) {
        again = false
        await look().catch(deps.onCrash)
      }
      running = null
    })()
  }
  return { evaluate, idle: async () => running ?? undefined }
}

/** Announce the stages that a workflow reached, to its application. Pure. */
export function progressEvents(
  stages: readonly WorkflowStatus[],
  { requestId, workflowType, applicationId }: WorkflowRecord,
): readonly EventDraft[] {
  const entry = Object.entries(SERVICE_CATALOGUE).find(([type]) => type === workflowType)
  if (entry === undefined) return []
  return stages.map((status) => ({
    type: entry[1].eventType,
    subject: requestId,
    data: { requestId, workflowType, status },
    applicationId: applicationId ?? NO_APPLICATION,
  }))
}

/** Plain data, bigints apart: equal text is equal state. */
const same = (a: WorkflowRecord, b: WorkflowRecord) => text(a) === text(b)
const text = (record: WorkflowRecord) =>
  JSON.stringify(record, (_key, value) => (typeof value === 'bigint' ? value.toString() : value))
