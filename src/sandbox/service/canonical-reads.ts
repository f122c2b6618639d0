import type { z } from 'zod'
import type { OracleResource } from '../../service/assumptions.ts'
import { facilityEntityId, QUERY } from '../../service/assumptions.ts'
import { type ActivityResource, marketResource } from '../../service/resources.ts'
import { vaultResource } from '../../service/vault-resources.ts'
import type { Canonical, CanonicalOracle } from '../indexer/canonical.ts'
import { notFound } from './api-error.ts'
import { selectFields } from './fields.ts'
import type { AnyCall, Caller, Handlers } from './handler.ts'
import { type Cursors, page } from './page.ts'
import { same } from './same.ts'

/** A market's detail carries its last hour; all buckets are under `/history`. */
const DETAIL_BUCKETS = { interval: '1m', count: 60 }

/** Where the reads read. */
type Source = { readonly canonical: Canonical; readonly cursors: Cursors }

/** Every read of canonical state. Source: service API, "Read operations with known shape". */
export function canonicalReads(canonical: Canonical, cursors: Cursors) {
  const source = { canonical, cursors }
  const now = () => canonical.snapshot()
  const oracles = () => now().oracles.map((row) => oracle(row, now().markets))
  return {
    listAssets: collection(source, 'assets', () => now().assets, idOf),
    getAsset: ({ params }) => byId(now().assets, params.resourceId, 'asset of this id'),
    listOracles: collection(source, 'oracles', oracles, idOf),
    listActivity: collection(source, 'activity', () => canonical.activity(), newestFirst),
    ...marketReads(source),
    ...vaultReads(source),
    ...creditReads(source),
  } satisfies Partial<Handlers>
}

function marketReads(source: Source) {
  const { canonical } = source
  const find = ({ params }: AnyCall) =>
    byId(canonical.snapshot().markets, params.resourceId, 'market of this id')
  const history = (call: AnyCall) => canonical.marketHistory(find(call).address)
  const activity = (call: AnyCall) => canonical.activity({ marketAddress: find(call).address })
  const whole = (call: AnyCall) => {
    const minutes = history(call).filter((bucket) => bucket.interval === DETAIL_BUCKETS.interval)
    return { ...find(call), history: minutes.slice(-DETAIL_BUCKETS.count) }
  }
  return {
    listMarkets: collection(source, 'markets', () => canonical.snapshot().markets, idOf),
    getMarket: detail(source, marketResource, whole),
    listMarketActivity: collection(source, 'market activity', activity, newestFirst),
    listMarketHistory: collection(
      source,
      'market history',
      history,
      (row) => `${row.interval} ${row.bucketStart}`,
    ),
    listMarketAllocators: collection(
      source,
      'market allocators',
      (call) => find(call).allocators ?? [],
      (row) => row.vaultId,
    ),
  } satisfies Partial<Handlers>
}

function vaultReads(source: Source) {
  const { canonical } = source
  const find = ({ params }: AnyCall) =>
    byId(canonical.snapshot().vaults, params.resourceId, 'vault of this id')
  const activity = (call: AnyCall) => canonical.activity({ vaultAddress: find(call).address })
  return {
    listVaults: collection(source, 'vaults', () => canonical.snapshot().vaults, idOf),
    listTranches: collection(source, 'tranches', () => canonical.snapshot().vaults, idOf),
    getVault: detail(source, vaultResource, find),
    listVaultAllocations: collection(
      source,
      'vault allocations',
      (call) => find(call).allocations ?? [],
      (row) => row.marketId,
    ),
    listVaultActivity: collection(source, 'vault activity', activity, newestFirst),
  } satisfies Partial<Handlers>
}

function creditReads(source: Source) {
  const now = () => source.canonical.snapshot()
  return {
    listCreditFacilities: collection(
      source,
      'credit facilities',
      () => now().facilities.map((row) => row.resource),
      facilityKey,
    ),
    listLiquidationRecovery: collection(source, 'liquidation recovery', () => now().recoveries, facilityKey),
    listPositions: collection(
      source,
      'positions',
      ({ caller }) => now().positions.filter((row) => mayRead(caller, row.walletAddress)),
      (row) => `${row.marketId}:${row.walletAddress}`,
    ),
    listEligibility: collection(
      source,
      'eligibility',
      ({ caller }) =>
        now().eligibility.filter((row) => caller.wallet !== null && same(row.walletAddress, caller.wallet)),
      (row) => `${row.scopeAddress}:${row.actionType}:${row.walletAddress}`,
    ),
  } satisfies Partial<Handlers>
}

/** A collection whose rows are read anew at each request. */
const collection =
  <T>(
    { canonical, cursors }: Source,
    what: string,
    rows: (call: AnyCall) => readonly T[],
    keyOf: (row: T) => string,
  ) =>
  (call: AnyCall) => {
    const name = `${what} ${Object.values(call.params).join(' ')}`.toLowerCase()
    return page(call, cursors, { name, rows: rows(call), keyOf }, canonical.freshness())
  }

const detail =
  ({ canonical }: Source, schema: z.ZodObject, find: (call: AnyCall) => object) =>
  (call: AnyCall) =>
    selectFields({ ...find(call), freshness: canonical.freshness() }, schema, call.query[QUERY.fields] ?? [])

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
