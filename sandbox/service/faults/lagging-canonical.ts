import type { Clock } from '../../../src/clock.ts'
import type { Canonical, CanonicalChange, Snapshot } from '../../indexer/canonical.ts'
import { freshnessOf } from '../../indexer/freshness.ts'
import type { Fault } from './faults.ts'

type HeldRows = {
  readonly snapshot: Snapshot
  readonly changes: readonly CanonicalChange[]
  readonly atMs: number
}

/**
 * Serve canonical state as late as a fault says: a snapshot, its changes and everything that is read beside it come
 * out when the indexer has a new block after the lag has passed. `stop` ends this, not the indexer.
 * @param faultNow read at every block; undefined serves at once.
 */
export function createLaggingCanonical(
  canonical: Canonical,
  clock: Pick<Clock, 'nowMs'>,
  faultNow: () => Fault['indexer'],
): Canonical {
  const listeners = new Set<(snapshot: Snapshot, changes: readonly CanonicalChange[]) => void>()
  let held: HeldRows[] = []
  let shown = canonical.snapshot()
  const unsubscribe = canonical.onSnapshot((snapshot, changes) => {
    const nowMs = clock.nowMs()
    held.push({ snapshot, changes, atMs: nowMs })
    const dueMs = nowMs - (faultNow()?.lagMs ?? 0)
    const due = held.filter(({ atMs }) => atMs <= dueMs)
    held = held.slice(due.length)
    for (const { snapshot: next, changes: its } of due) {
      shown = next
      for (const listener of listeners) listener(next, its)
    }
  })
  // Without lag nothing is held back: a transaction may be mined in a block that is still being indexed.
  const isShown = (blockNumber: bigint) => held.length === 0 || blockNumber <= shown.block.number
  return {
    ...canonical,
    snapshot: () => (held.length === 0 ? canonical.snapshot() : shown),
    freshness: () => {
      if (held.length === 0) return canonical.freshness()
      const nowMs = clock.nowMs()
      const health = { snapshot: shown, headIndexed: false, contradiction: null, failure: null }
      const late = freshnessOf(health, nowMs)
      return faultNow()?.admits === false ? { ...late, status: 'current', lagSeconds: 0 } : late
    },
    activity: (filter) =>
      canonical.activity(filter).filter(({ blockNumber }) => isShown(BigInt(blockNumber ?? 0))),
    transaction: async (hash) => {
      const found = await canonical.transaction(hash)
      return found !== null && isShown(found.blockNumber) ? found : null
    },
    onSnapshot: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop: async () => unsubscribe(),
  }
}
