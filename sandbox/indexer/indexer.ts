import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { atEachHead } from '../chain/heads.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { activityAfter, activityIn } from './book.ts'
import type { Canonical } from './canonical.ts'
import { changesBetween } from './changes.ts'
import { openCheckpoints } from './checkpoint.ts'
import { checkpointOf, EMPTY_TRACK } from './follow.ts'
import { freshnessOf, type IndexerHealth } from './freshness.ts'
import { createHistory } from './history.ts'
import { type Indexed, openSource } from './source.ts'

/** What an indexer is made of. */
type IndexerOptions = {
  /** Where it reads. */
  readonly rpcUrl: string
  /** Of anvil itself, which tells of its blocks. */
  readonly chainUrl: string
  readonly deployment: Deployment
  readonly clock: Clock
  /** Where the index is kept, for when the chain no longer has the logs that it was made of. */
  readonly checkpointFile: string
  /** The chain has the logs of so many blocks, its newest. */
  readonly blocksKept: bigint
}

type Health = Omit<IndexerHealth, 'snapshot'>

const WELL: Health = { headIndexed: true, contradiction: null, failure: null }
/** Stopping waits no longer than this for a read in flight. */
const STOP_MS_MAX = 1_000
/** The node is on another chain than the deployment: waiting does not mend that. */
const CONTRADICTIONS: readonly string[] = ['indexer.other_chain', 'indexer.no_deployment']

/**
 * Create the indexer, and resolve once it has read the chain from its last checkpoint, or the deployment's first block, to
 * the head. From then on a failing node only makes it lag, which freshness shows.
 * Throws `indexer.node`, `indexer.logs_gone`, `indexer.no_deployment` or `indexer.other_chain` when the first read fails.
 */
export async function createIndexer(options: IndexerOptions): Promise<Canonical> {
  const { chainUrl, clock } = options
  const stopping = new AbortController()
  const checkpoints = openCheckpoints(options.checkpointFile)
  const source = await openSource({ ...options, checkpoints })
  const history = createHistory()
  const listeners = new Set<Parameters<Canonical['onSnapshot']>[0]>()
  let indexed = await source.index(EMPTY_TRACK, await source.head())
  let health = WELL
  history.record(indexed.snapshot)

  /** Read the head if it is new; null when it is not, or when the chain could not be read. */
  const look = async (): Promise<Indexed | null> => {
    try {
      const head = await source.head()
      if (head.hash === indexed.snapshot.block.hash) {
        health = WELL
        return null
      }
      health = { ...WELL, headIndexed: false }
      const next = await source.index(indexed.track, head)
      health = WELL
      return next
    } catch (cause) {
      if (!(cause instanceof RolekeeperError)) throw cause
      health = healthAfter(cause)
      return null
    }
  }

  const replace = (next: Indexed): void => {
    const { snapshot: before } = indexed
    indexed = next
    history.rollBack(next.ancestor)
    history.record(next.snapshot)
    const added = activityAfter(next.track.book, next.ancestor)
    const changes = changesBetween(before, next.snapshot, added)
    for (const listener of listeners) listener(next.snapshot, changes)
    const checkpoint = checkpointOf(next.track)
    if (checkpoint !== null) checkpoints.keep(checkpoint)
  }

  const follow = async () => {
    const next = await look()
    if (next !== null && !stopping.signal.aborted) replace(next)
  }
  const running = atEachHead(chainUrl, follow, stopping.signal)

  return {
    snapshot: () => indexed.snapshot,
    freshness: () => freshnessOf({ ...health, snapshot: indexed.snapshot }, clock.nowMs()),
    activity: (filter) => activityIn(indexed.track.book, filter),
    marketHistory: history.ofMarket,
    vaultHistory: history.ofVault,
    onSnapshot: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    transaction: (hash) => source.transaction(hash, indexed.track),
    stop: async () => {
      stopping.abort()
      // What a hanging node still answers is ignored.
      await Promise.race([running, wait(STOP_MS_MAX, undefined, { ref: false })])
    },
  }
}

function healthAfter(failure: RolekeeperError): Health {
  const message = failure.shortMessage
  const contradiction = CONTRADICTIONS.includes(failure.code) ? message : null
  return { headIndexed: false, contradiction, failure: message }
}
