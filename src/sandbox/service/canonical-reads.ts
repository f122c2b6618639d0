import type { z } from 'zod'
import type { OracleResource } from '../../service/assumptions.ts'
import { facilityEntityId, QUERY } from '../../service/assumptions.ts'
import { type ActivityResource, marketResource } from '../../service/resources.ts'
import { vaultResource } from '../../service/vault-resources.ts'
import type { Canonical, CanonicalOracle } from '../indexer/canonical.ts'
import { notFound } from './api-error.ts'
import { selectFields } from './fields.ts'
import type { Access, Call, Caller, ReadOperation } from './operation.ts'
import { type Cursors, PAGE_QUERY, page } from './page.ts'
import { same } from './same.ts'

/** A market's detail carries its last hour; all buckets are under `/history`. */
const DETAIL_BUCKETS = { interval: '1m', count: 60 }

/** Where the reads read. */
type Source = { readonly canonical: Canonical; readonly cursors: Cursors }

/** Every read of canonical state. Source: service API, "Read operations with known shape". */
export function canonicalReads(canonical: Canonical, cursors: Cursors): readonly ReadOperation[] {
  const source = { canonical, cursors }
  const now = () => canonical.snapshot()
  const oracles = () => now().oracles.map((row) => oracle(row, now().markets))
  return [
    collection(source, '/v1/assets', 'any', () => now().assets, idOf),
    collection(source, '/v1/oracles', 'any', oracles, idOf),
    ...marketReads(source),
    ...vaultReads(source),
    collection(source, '/v1/activity', 'any', () => canonical.activity(), newestFirst),
    ...creditReads(source),
  ]
}

function marketReads(source: Source): readonly ReadOperation[] {
  const { canonical } = source
  const path = '/v1/markets'
  const find = ({ params }: Call) =>
    byId(canonical.snapshot().markets, params.resourceId, 'market of this id')
  const history = (call: Call) => canonical.marketHistory(find(call).address)
  const activity = (call: Call) => canonical.activity({ marketAddress: find(call).address })
  const whole = (call: Call) => {
    const minutes = history(call).filter((bucket) => bucket.interval === DETAIL_BUCKETS.interval)
    return { ...find(call), history: minutes.slice(-DETAIL_BUCKETS.count) }
  }
  return [
    collection(source, path, 'any', () => canonical.snapshot().markets, idOf),
    detail(source, `${path}/:resourceId`, marketResource, whole),
    collection(source, `${path}/:resourceId/activity`, 'any', activity, newestFirst),
    collection(
      source,
      `${path}/:resourceId/history`,
      'any',
      history,
      (row) => `${row.interval} ${row.bucketStart}`,
    ),
    collection(
      source,
      `${path}/:resourceId/allocators`,
      'any',
      (c) => find(c).allocators ?? [],
      (row) => row.vaultId,
    ),
  ]
}

function vaultReads(source: Source): readonly ReadOperation[] {
  const { canonical } = source
  const path = '/v1/vaults'
  const find = ({ params }: Call) => byId(canonical.snapshot().vaults, params.resourceId, 'vault of this id')
  const activity = (call: Call) => canonical.activity({ vaultAddress: find(call).address })
  return [
    collection(source, path, 'any', () => canonical.snapshot().vaults, idOf),
    detail(source, `${path}/:resourceId`, vaultResource, find),
    collection(
      source,
      `${path}/:resourceId/allocations`,
      'any',
      (c) => find(c).allocations ?? [],
      (row) => row.marketId,
    ),
    collection(source, `${path}/:resourceId/activity`, 'any', activity, newestFirst),
  ]
}

function creditReads(source: Source): readonly ReadOperation[] {
  const now = () => source.canonical.snapshot()
  return [
    collection(
      source,
      '/v1/credit-facilities',
      'any',
      () => now().facilities.map((row) => row.resource),
      facilityKey,
    ),
    collection(source, '/v1/liquidation-recovery', 'any', () => now().recoveries, facilityKey),
    collection(
      source,
      '/v1/positions',
      'key_or_wallet',
      ({ caller }) => now().positions.filter((row) => mayRead(caller, row.walletAddress)),
      (row) => `${row.marketId}:${row.walletAddress}`,
    ),
    collection(
      source,
      '/v1/eligibility',
      'key_and_wallet',
      ({ caller }) =>
        now().eligibility.filter((row) => caller.wallet !== null && same(row.walletAddress, caller.wallet)),
      (row) => `${row.scopeAddress}:${row.actionType}:${row.walletAddress}`,
    ),
  ]
}

/** A collection whose rows are read anew at each request. */
function collection<T>(
  { canonical, cursors }: Source,
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

function detail(
  { canonical }: Source,
  path: string,
  schema: z.ZodObject,
  find: (call: Call) => object,
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

function oracle(
  row: CanonicalOracle,
  markets: readonly { id: string; chainId: number; address: string }[],
): OracleResource {
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
