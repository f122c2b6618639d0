import type { Address } from 'viem'
import { facilityEntityId, type OracleResource, QUERY } from '../../../src/service/contract/assumptions.ts'
import type { NavReportResource } from '../../../src/service/contract/fund-resources.ts'
import { type ActivityResource, marketResource } from '../../../src/service/contract/resources.ts'
import { vaultResource } from '../../../src/service/contract/vault-resources.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import type { CanonicalOracle } from '../../indexer/rows.ts'
import type { AnyCall, Handlers } from '../http/handler.ts'
import { same } from '../same.ts'
import { byId, collection, descending, detail, idOf, mayRead, type Source } from './rows.ts'

/** A detail carries its last hour; all buckets are under `/history`. */
const lastHour = <T extends { readonly interval: string }>(buckets: readonly T[]): readonly T[] =>
  buckets.filter(({ interval }) => interval === '1m').slice(-60)

/** Every read of canonical state. Source: service API, "Read operations with known shape". */
export function canonicalReads(source: Source) {
  const { canonical } = source
  const now = () => canonical.snapshot()
  return {
    listAssets: collection(source, 'assets', () => now().assets, idOf),
    getAsset: ({ params }: AnyCall) => ({
      ...byId(now().assets, params.resourceId, 'asset of this id'),
      freshness: canonical.freshness(),
    }),
    listOracles: collection(source, 'oracles', () => oracleRows(now()), idOf),
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
  return {
    listMarkets: collection(source, 'markets', () => canonical.snapshot().markets, idOf),
    getMarket: detail(source, marketResource, (call) => ({
      ...find(call),
      history: lastHour(history(call)),
    })),
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
  const history = (call: AnyCall) => canonical.vaultHistory(find(call).address)
  const activity = (call: AnyCall) => canonical.activity({ vaultAddress: find(call).address })
  return {
    listVaults: collection(source, 'vaults', () => canonical.snapshot().vaults, idOf),
    listTranches: collection(source, 'tranches', () => canonical.snapshot().vaults, idOf),
    getVault: detail(source, vaultResource, (call) => ({ ...find(call), history: lastHour(history(call)) })),
    listVaultAllocations: collection(
      source,
      'vault allocations',
      (call) => find(call).allocations ?? [],
      (row) => row.marketId,
    ),
    listVaultActivity: collection(source, 'vault activity', activity, newestFirst),
    listVaultHistory: collection(
      source,
      'vault history',
      history,
      (row) => `${row.interval} ${row.bucketStart}`,
    ),
    listVaultLiquidity: collection(
      source,
      'vault liquidity',
      (call) => given(find(call).portfolioLiquidity),
      ofVault,
    ),
    listVaultShareMobility: collection(
      source,
      'vault share mobility',
      (call) => given(find(call).shareMobility),
      ofVault,
    ),
  } satisfies Partial<Handlers>
}

function creditReads(source: Source) {
  const now = () => source.canonical.snapshot()
  return {
    listCreditFacilities: collection(
      source,
      'credit facilities',
      (call) =>
        ofWallets(
          call,
          'borrower',
          now().facilities.map((row) => row.resource),
          borrowerOf,
        ),
      facilityKey,
    ),
    listLiquidationRecovery: collection(
      source,
      'liquidation recovery',
      (call) => ofWallets(call, 'borrower', now().recoveries, borrowerOf),
      facilityKey,
    ),
    listPositions: collection(
      source,
      'positions',
      (call) => {
        const readable = now().positions.filter((row) => mayRead(call.caller, row.walletAddress))
        return ofWallets(call, 'wallet', readable, (row) => row.walletAddress)
      },
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

const borrowerOf = (row: { readonly borrowerAddress: string }) => row.borrowerAddress

/** Keep the rows of the wallets that the query names, in any case; all where it names none. Pure. */
function ofWallets<T>(
  { query }: AnyCall,
  name: 'wallet' | 'borrower',
  rows: readonly T[],
  walletOf: (row: T) => string,
): readonly T[] {
  const asked = query[QUERY[name]]
  if (asked === undefined) return rows
  const wallets = new Set(asked.map((wallet) => wallet.toLowerCase()))
  return rows.filter((row) => wallets.has(walletOf(row).toLowerCase()))
}

/** A focused read of a vault has one row, or none while it is not known. */
const given = <T>(row: T | null | undefined): readonly T[] => (row == null ? [] : [row])
const ofVault = (row: { readonly vaultId: string }) => row.vaultId

const facilityKey = (row: { marketAddress: string; vaultAddress: string; borrowerAddress: string }) =>
  facilityEntityId(row.marketAddress, row.vaultAddress, row.borrowerAddress)

/** Ascending in this key is descending in time. */
const newestFirst = (row: ActivityResource) =>
  `${descending(BigInt(row.blockNumber ?? 0))} ${descending(BigInt(row.logIndex))} ${row.txHash}`

/** List every oracle: those of the markets, and those that NAVs are reported to. Pure. */
function oracleRows({ oracles, markets, navOracles, navReports }: Snapshot): readonly OracleResource[] {
  const chainId = markets[0]?.chainId ?? 0
  const ofNav = [...navOracles.keys()].map((address) =>
    // The reports are newest first.
    navOracle(
      address,
      chainId,
      navReports.find((report) => same(report.oracleAddress, address)),
    ),
  )
  return [...oracles.map((row) => oracle(row, markets)), ...ofNav]
}

/** A NAV is no price of a collateral: `priceWad` is the NAV as a wad, and nothing vouches for it but its reporter. */
function navOracle(address: Address, chainId: number, newest: NavReportResource | undefined): OracleResource {
  const nav = { id: address.toLowerCase(), chainId, address, marketId: null, sourceAsOf: null }
  if (newest === undefined) return { ...nav, priceWad: null, state: 'missing', lastUpdated: null }
  return {
    ...nav,
    priceWad: String((BigInt(newest.value) * 10n ** 18n) / 10n ** BigInt(newest.decimals)),
    state: null,
    lastUpdated: new Date(newest.submittedAtEpochMs).toISOString(),
  }
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
