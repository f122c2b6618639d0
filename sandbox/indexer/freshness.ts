import type { Freshness } from '../../src/service/contract/resources.ts'
import type { Snapshot } from './canonical.ts'

/** How old the indexed block may be, in whole seconds, to be called current or healthy. */
const CURRENT_LAG_S_MAX = 5
const HEALTHY_LAG_S_MAX = 15

/** What the indexer knows of its own state. */
export type IndexerHealth = {
  readonly snapshot: Snapshot
  /** Whether the newest head that was seen is the snapshot's block. */
  readonly headIndexed: boolean
  /** Why the chain cannot be the one that was indexed; null while it can. */
  readonly contradiction: string | null
  /** Why the last read of the chain failed; null when it did not. */
  readonly failure: string | null
}

/** Compute the true lag of the snapshot, by the indexed block's time against the clock. Pure. */
export function freshnessOf(health: IndexerHealth, nowMs: number): Freshness {
  const { block, indexedAtMs } = health.snapshot
  const lagSeconds = Math.max(0, Math.floor(nowMs / 1_000) - block.timestampS)
  return {
    status: statusOf(health, lagSeconds),
    lagSeconds,
    blockNumber: String(block.number),
    blockTimestamp: new Date(block.timestampS * 1_000).toISOString(),
    projectedAt: new Date(indexedAtMs).toISOString(),
    reason: health.contradiction ?? health.failure,
  }
}

function statusOf(health: IndexerHealth, lagSeconds: number): 'current' | 'healthy' | 'stale' | 'blocked' {
  if (health.contradiction !== null) return 'blocked'
  if (lagSeconds > HEALTHY_LAG_S_MAX) return 'stale'
  return health.headIndexed && lagSeconds <= CURRENT_LAG_S_MAX ? 'current' : 'healthy'
}
