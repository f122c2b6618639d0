import type { EntityResource } from '../../../src/service/contract/directory-resources.ts'
import type { FundResource } from '../../../src/service/contract/fund-resources.ts'
import type { AssetResource } from '../../../src/service/contract/resources.ts'
import { addr } from '../../../src/service/contract/scalars.ts'
import type { VaultResource } from '../../../src/service/contract/vault-resources.ts'
import type { Canonical, Snapshot } from '../../indexer/canonical.ts'
import { unusedAssetRow } from '../../indexer/rows.ts'
import type { ServiceRecord, ServiceRecords } from '../records.ts'
import { same } from '../same.ts'
import { entitiesOf } from './directory-reads.ts'

/**
 * Serve canonical state with what lives at the service: names, classes and issuers are added, and what a curator hides is
 * no longer listed. What the chain says is never said otherwise, and nothing is listed that it does not list.
 * @param cast who is known by name from the start.
 */
export function createRecordedCanonical(
  canonical: Canonical,
  records: ServiceRecords,
  cast: readonly EntityResource[],
): Canonical {
  let shown = { of: canonical.snapshot(), version: -1, snapshot: canonical.snapshot() }
  const recorded = (of: Snapshot): Snapshot => {
    const version = records.version()
    if (shown.of !== of || shown.version !== version) {
      shown = { of, version, snapshot: withRecords(of, records, cast) }
    }
    return shown.snapshot
  }
  return {
    ...canonical,
    snapshot: () => recorded(canonical.snapshot()),
    onSnapshot: (listener) =>
      canonical.onSnapshot((snapshot, changes) => listener(recorded(snapshot), changes)),
  }
}

type Lists = Pick<ServiceRecords, 'list'>

/** Add what lives at the service to the rows that show it, as they are read. */
function withRecords(snapshot: Snapshot, records: Lists, cast: readonly EntityResource[]): Snapshot {
  const submissions = once(() =>
    byKey(records.list('asset_submission').filter(({ status }) => status === 'approved')),
  )
  const hidden = once(() => hiddenMarkets(records))
  const assets = once(() => assetRows(snapshot, submissions()))
  const markets = once(() => marketRows(snapshot, submissions(), hidden()))
  const vaults = once(() => vaultRows(snapshot, submissions(), hidden(), records))
  const funds = once(() => {
    const entities = entitiesOf(cast, snapshot, records.list('partner_application'))
    return snapshot.funds.map((fund) => ({ ...fund, ...managerOf(fund, entities) }))
  })
  return {
    ...snapshot,
    get funds() {
      return funds()
    },
    get assets() {
      return assets()
    },
    get markets() {
      return markets()
    },
    get vaults() {
      return vaults()
    },
  }
}

/** Make a value when it is asked for first. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

type ByKey = ReadonlyMap<string, ServiceRecord>

function assetRows({ assets, markets }: Snapshot, submissions: ByKey): Snapshot['assets'] {
  const [chainId = 0] = markets.map((market) => market.chainId)
  const known = new Set(assets.map(({ id }) => id))
  return [
    ...assets.map((asset) => ({ ...asset, ...issued(submissions.get(asset.id)) })),
    ...[...submissions].filter(([id]) => !known.has(id)).map(([, one]) => submittedAsset(one, chainId)),
  ]
}

const marketRows = (
  { markets }: Snapshot,
  submissions: ByKey,
  hidden: ReadonlySet<string>,
): Snapshot['markets'] =>
  markets.map((market) => ({
    ...market,
    loanAsset: profile(market.loanAsset, submissions),
    collateralAsset: profile(market.collateralAsset, submissions),
    allocators: market.allocators?.map((one) => ({
      ...one,
      listed: one.listed === true && !hidden.has(`${one.vaultId}:${one.marketId}`),
    })),
  }))

function vaultRows(
  { vaults }: Snapshot,
  submissions: ByKey,
  hidden: ReadonlySet<string>,
  records: Lists,
): Snapshot['vaults'] {
  const settings = byKey(records.list('management_settings'))
  const classes = byKey(records.list('owner_settings'))
  return vaults.map((vault) => ({
    ...narrowed(vault, hidden),
    ...managed(vault, settings.get(vault.id)),
    ...classed(classes.get(vault.id)),
    baseAsset: profile(vault.baseAsset, submissions),
  }))
}

const byKey = (records: readonly ServiceRecord[]) => new Map(records.map((record) => [record.key, record]))

/** Name what curators hide, as `vault:market`. */
const hiddenMarkets = (records: Lists): ReadonlySet<string> =>
  new Set(
    records
      .list('market_listing')
      .filter(({ body }) => body.listed === false)
      .map(({ key }) => key),
  )

function narrowed(vault: VaultResource, hidden: ReadonlySet<string>): VaultResource {
  const isShown = (market: string) => !hidden.has(`${vault.id}:${market.toLowerCase()}`)
  return {
    ...vault,
    listedMarketAddresses: vault.listedMarketAddresses?.filter(isShown),
    allocations: vault.allocations?.map((one) => ({
      ...one,
      listed: one.listed === true && isShown(one.marketId),
    })),
  }
}

/** Who manages a vault is the chain's to say; how it is shown is the owner's. */
function managed(
  vault: VaultResource,
  settings: ServiceRecord | undefined,
): Pick<VaultResource, 'assetManager'> {
  if (settings === undefined) return {}
  const { managerName, website, logoUrl } = settings.body
  return {
    assetManager: {
      ...vault.assetManager,
      name: textOf(managerName),
      website: textOf(website),
      logoUrl: textOf(logoUrl),
    },
  }
}

/** Name the entity that manages a fund. */
function managerOf(
  { managerAddress }: FundResource,
  entities: readonly EntityResource[],
): Pick<FundResource, 'managerName' | 'assetManagerEntityId'> {
  const entity = entities.find(({ walletAddress }) => same(walletAddress ?? '', managerAddress ?? ''))
  return entity === undefined ? {} : { managerName: entity.name, assetManagerEntityId: entity.id }
}

const classed = (record: ServiceRecord | undefined): Pick<VaultResource, 'shareClass' | 'riskScore'> =>
  record === undefined
    ? {}
    : { shareClass: textOf(record.body.shareClass), riskScore: Number(record.body.riskScore) }

/** What an approved submission says of an asset beside what its contract says. */
function issued(submission: ServiceRecord | undefined) {
  if (submission === undefined) return {}
  const { topCategory, issuerName, website } = submission.body
  return {
    topCategory: textOf(topCategory),
    issuer: { configured: true, name: textOf(issuerName), website: textOf(website) },
  }
}

const profile = <T extends { readonly id?: string | null | undefined }>(
  asset: T | null | undefined,
  submissions: ByKey,
) => (asset == null ? asset : { ...asset, ...issued(submissions.get(asset.id ?? '')) })

/** An asset that no market has yet: what was reviewed is all that is known of it. */
function submittedAsset(submission: ServiceRecord, chainId: number): AssetResource {
  const { symbol, name, decimals } = submission.body
  const token = {
    token: addr.parse(submission.key),
    symbol: textOf(symbol),
    name: textOf(name),
    decimals: Number(decimals),
  }
  return { ...unusedAssetRow(token, chainId), ...issued(submission) }
}

const textOf = (value: string | number | boolean | undefined): string => String(value ?? '')
