import type { MarketHistoryResource } from '../../service/resources.ts'
import type { Snapshot } from './canonical.ts'

/** How a market stood in each minute and hour: the last snapshot in it. */
export type History = {
  readonly record: (snapshot: Snapshot) => void
  /** Forget what was seen after this block, which a reorg made the newest common one. */
  readonly rollBack: (blockNumber: bigint) => void
  /** Minutes then hours, each oldest first; empty for a market never seen. */
  readonly of: (marketAddress: string) => readonly MarketHistoryResource[]
}

/** One day of minutes and ten of hours, a market. */
const INTERVALS = [
  { interval: '1m', lengthS: 60, bucketsMax: 1_440 },
  { interval: '1h', lengthS: 3_600, bucketsMax: 240 },
] as const

type Bucket = { readonly blockNumber: bigint; readonly row: MarketHistoryResource }

/** Create an empty history. It fills from snapshots alone, so it begins when the indexer does. */
export function createHistory(): History {
  /** By `market interval`, then by start of the bucket in seconds, oldest first. */
  const series = new Map<string, Map<number, Bucket>>()

  return {
    record: (snapshot) => {
      for (const market of snapshot.markets) {
        for (const { interval, lengthS, bucketsMax } of INTERVALS) {
          const key = `${market.address} ${interval}`
          const buckets = series.get(key) ?? new Map<number, Bucket>()
          series.set(key, buckets)
          const startS = Math.floor(snapshot.block.timestampS / lengthS) * lengthS
          const row = rowOf(market, interval, startS, lengthS, snapshot.block.number)
          buckets.set(startS, { blockNumber: snapshot.block.number, row })
          const oldest = buckets.keys().next().value
          if (buckets.size > bucketsMax && oldest !== undefined) buckets.delete(oldest)
        }
      }
    },
    rollBack: (blockNumber) => {
      for (const buckets of series.values()) {
        for (const [startS, bucket] of buckets) if (bucket.blockNumber > blockNumber) buckets.delete(startS)
      }
    },
    of: (marketAddress) =>
      INTERVALS.flatMap(({ interval }) =>
        [...(series.get(`${marketAddress.toLowerCase()} ${interval}`)?.values() ?? [])].map(({ row }) => row),
      ),
  }
}

function rowOf(
  market: Snapshot['markets'][number],
  interval: string,
  startS: number,
  lengthS: number,
  blockNumber: bigint,
): MarketHistoryResource {
  return {
    marketId: market.id,
    marketAddress: market.address,
    interval,
    bucketStart: new Date(startS * 1_000).toISOString(),
    bucketEnd: new Date((startS + lengthS) * 1_000).toISOString(),
    utilizationSpotWad: market.utilizationWad,
    utilizationEffectiveWad: null,
    borrowRateAprBps: market.borrowRateAprBps,
    lendingApyBps: market.lendingApyBps,
    protocolApyBps: null,
    totalSupplied: market.totalSupplied,
    totalDebt: market.totalDebt,
    availableLiquidity: market.availableLiquidity,
    totalBadDebt: market.totalBadDebt,
    oracleState: market.oracleState,
    blockNumber: String(blockNumber),
  }
}
