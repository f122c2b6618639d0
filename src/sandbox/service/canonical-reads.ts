import type { z } from 'zod'
import { facilityEntityId, QUERY } from '../../service/assumptions.ts'
import { type ActivityResource, marketResource, vaultResource } from '../../service/resources.ts'
import type { Canonical, CanonicalOracle } from '../indexer/canonical.ts'
import { notFound } from './api-error.ts'
import { selectFields } from './fields.ts'
import { same } from './judge.ts'
import type { Access, Call, Caller, ReadOperation } from './operation.ts'
import { type Cursors, PAGE_QUERY, page } from './page.ts'

/** A market's detail carries its last hour; all buckets are under `/history`. */
const DETAIL_BUCKETS = { interval: '1m', count: 60 }

/** Every read of canonical state. Source: service API, "Read operations with known shape". */
export function canonicalReads(canonical: Canonical, cursors: Cursors): readonly ReadOperation[] {
  const now = () => canonical.snapshot()

  /** A collection whose rows and keys are read anew at each request. */
  function collection<T>(
    path: string,
    access: Access,
    rows: (call: Call) => readonly T[],
    keyOf: (row: T) => string,
  ): ReadOperation {
    return {
      method: 'GET',
      path,
      access,
      query: PAGE_QUERY,
      answer: (call) => {
        const name = `${path} ${Object.values(call.params).join(' ')}`.toLowerCase()
        return page(call, cursors, { name, rows: rows(call), keyOf }, canonical.freshness())
      },
    }
  }

  function detail<T extends { readonly id: string }>(
    path: string,
    schema: z.ZodObject,
    find: (call: Call) => T,
  ): ReadOperation {
    return {
      method: 'GET',
      path,
      access: 'any',
      query: [QUERY.fields],
      answer: (call) => {
        const resource = { ...find(call), freshness: canonical.freshness() }
        return selectFields(resource, schema, call.query[QUERY.fields] ?? [])
      },
    }
  }

  const market = ({ params }: Call) => byId(now().markets, params.resourceId, 'market of this id')
  const vault = ({ params }: Call) => byId(now().vaults, params.resourceId, 'vault of this id')
  return [
    collection('/v1/assets', 'any', () => now().assets, idOf),
    collection('/v1/oracles', 'any', () => now().oracles.map((row) => oracle(row, now().markets)), idOf),
    collection('/v1/markets', 'any', () => now().markets, idOf),
    detail('/v1/markets/:resourceId', marketResource, (call) => {
      const row = market(call)
      const minutes = canonical
        .marketHistory(row.address)
        .filter((one) => one.interval === DETAIL_BUCKETS.interval)
      return { ...row, history: minutes.slice(-DETAIL_BUCKETS.count) }
    }),
    collection(
      '/v1/markets/:resourceId/activity',
      'any',
      (call) => canonical.activity({ marketAddress: market(call).address }),
      newestFirst,
    ),
    collection(
      '/v1/markets/:resourceId/history',
      'any',
      (call) => canonical.marketHistory(market(call).address),
      (bucket) => `${bucket.interval} ${bucket.bucketStart}`,
    ),
    collection(
      '/v1/markets/:resourceId/allocators',
      'any',
      (call) => market(call).allocators ?? [],
      (row) => row.vaultId,
    ),
    collection('/v1/vaults', 'any', () => now().vaults, idOf),
    detail('/v1/vaults/:resourceId', vaultResource, vault),
    collection(
      '/v1/vaults/:resourceId/allocations',
      'any',
      (call) => vault(call).allocations ?? [],
      (row) => row.marketId,
    ),
    collection(
      '/v1/vaults/:resourceId/activity',
      'any',
      (call) => canonical.activity({ vaultAddress: vault(call).address }),
      newestFirst,
    ),
    collection(
      '/v1/credit-facilities',
      'any',
      () => now().facilities.map((row) => row.resource),
      facilityKey,
    ),
    collection('/v1/liquidation-recovery', 'any', () => now().recoveries, facilityKey),
    collection('/v1/activity', 'any', () => canonical.activity(), newestFirst),
    collection(
      '/v1/positions',
      'key_or_wallet',
      ({ caller }) => now().positions.filter((row) => mayRead(caller, row.walletAddress)),
      (row) => `${row.marketId}:${row.walletAddress}`,
    ),
    collection(
      '/v1/eligibility',
      'key_and_wallet',
      ({ caller }) =>
        now().eligibility.filter((row) => caller.wallet !== null && same(row.walletAddress, caller.wallet)),
      (row) => `${row.scopeAddress}:${row.actionType}:${row.walletAddress}`,
    ),
  ]
}

const idOf = (row: { readonly id: string }) => row.id

const facilityKey = (row: { marketAddress: string; vaultAddress: string; borrowerAddress: string }) =>
  facilityEntityId(row.marketAddress, row.vaultAddress, row.borrowerAddress)

/** Ascending in this key is descending in time. */
function newestFirst(row: ActivityResource): string {
  const down = (place: bigint) => (10n ** 16n - place).toString().padStart(17, '0')
  return `${down(BigInt(row.blockNumber ?? 0))} ${down(BigInt(row.logIndex))} ${row.txHash}`
}

/** A session's wallet sees its own rows; only a secret key without a session sees all. */
function mayRead(caller: Caller, wallet: string): boolean {
  if (caller.wallet !== null) return same(wallet, caller.wallet)
  return caller.key === 'secret'
}

function byId<T extends { readonly id: string }>(
  rows: readonly T[],
  id: string | undefined,
  what: string,
): T {
  const row = rows.find((candidate) => same(candidate.id, id ?? ''))
  if (row === undefined) throw notFound(what)
  return row
}

function oracle(row: CanonicalOracle, markets: readonly { id: string; chainId: number; address: string }[]) {
  const market = markets.find((candidate) => same(candidate.address, row.marketAddress))
  return {
    id: row.address.toLowerCase(),
    chainId: market?.chainId ?? 0,
    address: row.address,
    marketId: market?.id ?? null,
    priceWad: row.priceWad.toString(),
    state: row.state,
    sourceAsOf: new Date(row.sourceAsOfS * 1_000).toISOString(),
    lastUpdated: new Date(row.updatedAtS * 1_000).toISOString(),
  }
}
