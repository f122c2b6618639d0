import type { Address } from 'viem'
import type { MarketHistoryResource, MarketResource } from '../../src/service/contract/resources.ts'
import type { VaultHistoryResource, VaultResource } from '../../src/service/contract/vault-resources.ts'
import type { Snapshot } from './canonical.ts'

/** How markets and vaults stood in each minute and hour: the last snapshot in it. */
type History = {
  readonly record: (snapshot: Snapshot) => void
  /** Forget what was seen after this block, which a reorg made the newest common one. */
  readonly rollBack: (blockNumber: bigint) => void
  /** Minutes then hours, each oldest first; empty for one never seen. */
  readonly ofMarket: (market: Address) => readonly MarketHistoryResource[]
  readonly ofVault: (vault: Address) => readonly VaultHistoryResource[]
}

/** One day of minutes and ten of hours, each. */
const INTERVALS = [
  { interval: '1m', lengthS: 60, bucketsMax: 1_440 },
  { interval: '1h', lengthS: 3_600, bucketsMax: 240 },
] as const

/** What every row of history says of its place in time. */
type HistoryPlace = {
  readonly interval: string
  readonly bucketStart: string
  readonly bucketEnd: string
  readonly blockNumber: string
}

type Bucket<Row> = { readonly blockNumber: bigint; readonly row: Row }

/** Create an empty history. It fills from snapshots alone, so it begins when the indexer does. */
export function createHistory(): History {
  const markets = createSeries(marketBucket)
  const vaults = createSeries(vaultBucket)
  return {
    record: ({ block, ...snapshot }) => {
      for (const market of snapshot.markets) markets.record(market, block)
      for (const vault of snapshot.vaults) vaults.record(vault, block)
    },
    rollBack: (blockNumber) => {
      markets.rollBack(blockNumber)
      vaults.rollBack(blockNumber)
    },
    ofMarket: markets.of,
    ofVault: vaults.of,
  }
}

function createSeries<Resource extends { readonly address: Address }, Row>(
  describe: (resource: Resource, place: HistoryPlace) => Row,
) {
  /** By `address interval`, then by start of the bucket in seconds, oldest first. */
  const series = new Map<string, Map<number, Bucket<Row>>>()
  return {
    record: (resource: Resource, block: Snapshot['block']): void => {
      for (const { interval, lengthS, bucketsMax } of INTERVALS) {
        const key = `${resource.address.toLowerCase()} ${interval}`
        const buckets = series.get(key) ?? new Map<number, Bucket<Row>>()
        series.set(key, buckets)
        const startS = Math.floor(block.timestampS / lengthS) * lengthS
        const place = {
          interval,
          bucketStart: new Date(startS * 1_000).toISOString(),
          bucketEnd: new Date((startS + lengthS) * 1_000).toISOString(),
          blockNumber: String(block.number),
        }
        buckets.set(startS, { blockNumber: block.number, row: describe(resource, place) })
        const oldest = buckets.keys().next().value
        if (buckets.size > bucketsMax && oldest !== undefined) buckets.delete(oldest)
      }
    },
    rollBack: (blockNumber: bigint): void => {
      for (const buckets of series.values()) {
        for (const [startS, bucket] of buckets) if (bucket.blockNumber > blockNumber) buckets.delete(startS)
      }
    },
    of: (address: Address): readonly Row[] =>
      INTERVALS.flatMap(({ interval }) =>
        [...(series.get(`${address.toLowerCase()} ${interval}`)?.values() ?? [])].map(({ row }) => row),
      ),
  }
}

const marketBucket = (market: MarketResource, place: HistoryPlace): MarketHistoryResource => ({
  marketId: market.id,
  marketAddress: market.address,
  ...place,
  utilizationSpotWad: market.utilizationWad,
  utilizationEffectiveWad: effectiveUtilizationWad(market),
  borrowRateAprBps: market.borrowRateAprBps,
  lendingApyBps: market.lendingApyBps,
  // The contract keeps nothing back from the interest.
  protocolApyBps: 0,
  totalSupplied: market.totalSupplied,
  totalDebt: market.totalDebt,
  availableLiquidity: market.availableLiquidity,
  totalBadDebt: market.totalBadDebt,
  oracleState: market.oracleState,
})

/** Of all that vaults ever supplied and did not get back, the share that is not there: bad debt counts as lent. */
function effectiveUtilizationWad({
  totalDebt,
  totalBadDebt,
  availableLiquidity,
}: MarketResource): string | null {
  if (totalDebt == null || totalBadDebt == null || availableLiquidity == null) return null
  const gone = BigInt(totalDebt) + BigInt(totalBadDebt)
  return gone === 0n ? '0' : String((gone * 10n ** 18n) / (gone + BigInt(availableLiquidity)))
}

const vaultBucket = (vault: VaultResource, place: HistoryPlace): VaultHistoryResource => ({
  vaultId: vault.id,
  vaultAddress: vault.address,
  ...place,
  sharePrice: vault.sharePrice,
  netApyBps: vault.netApyBps,
  totalAssets: vault.totalAssets,
  totalAllocatedAssets: vault.totalAllocatedAssets,
  idleAssets: vault.idleAssets,
  tvlUsd: vault.tvlUsd,
})
