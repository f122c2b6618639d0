import { encodeFunctionData } from 'viem'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { become, type OwnersCall, ownersAct } from './owner-act.ts'
import { type Family, preparer } from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

type ListingInput = WorkflowInput<'role.vault_owner.attachMarketToVault'>

const BPS = 10_000n
/** Markets of a vault at most, as its contract has it: what it holds is a sum over them all. */
const MARKETS_MAX = 16

/** The markets that a vault's owner attaches, and their caps. */
export const ownerListing: Family = {
  preparers: [
    preparer('role.vault_owner.attachMarketToVault', ownersAct({ judge: judgeAttachment, call: list })),
    preparer('role.vault_owner.vaultCuratorCapsSettingsSave', ownersAct({ judge: judgeCaps, call: list })),
  ],
  fields: {
    vault_listing: (snapshot, entityId, field) => {
      const [vaultAddress = '', marketAddress = ''] = entityId.split(':')
      const vault = vaultIn(snapshot, vaultAddress)
      const listing = vault === undefined ? undefined : listingIn(vault, marketAddress)
      return listing === undefined ? undefined : fieldsOf(listing)[field]
    },
  },
}

type Listing = VaultRead['state']['allocations'][number]['listing']

/** A market that is not approved any more stands here while the vault has assets in it. */
const listingIn = ({ state }: VaultRead, market: string): Listing | undefined =>
  state.allocations.find((one) => same(one.market, market))?.listing

const isAttached = (vault: VaultRead, market: string): boolean => listingIn(vault, market)?.approved === true

const fieldsOf = ({ approved, allocationEnabled, absoluteCapAssets, relativeCapBps }: Listing) => {
  const fields: Readonly<Record<string, string | boolean>> = {
    approved,
    allocationEnabled,
    absoluteCapAssets: String(absoluteCapAssets),
    relativeCapBps: String(relativeCapBps),
  }
  return fields
}

const listingOf = (input: ListingInput): Listing => ({
  approved: true,
  allocationEnabled: input.allocationEnabled,
  relativeCapBps: input.relativeCapBps,
  absoluteCapAssets: BigInt(input.absoluteCapAssets),
})

function judgeAttachment(input: ListingInput, vault: VaultRead, { markets }: Snapshot): readonly string[] {
  const { marketAddress } = input
  const market = markets.find(({ address }) => same(address, marketAddress))
  if (market === undefined) return ['market_not_found']
  if (!same(market.loanAssetAddress ?? '', vault.state.asset.token)) return ['market_asset_mismatch']
  if (isAttached(vault, marketAddress)) return ['market_already_attached']
  const reasons: string[] = []
  // The market's owner says which vaults may lend to it: a row stands for each, whatever the vault's own listing is.
  if (!market.allocators?.some((row) => same(row.vaultAddress, vault.address))) {
    reasons.push('vault_not_listed_at_market')
  }
  reasons.push(...judgeLent(input, vault))
  if (listingIn(vault, marketAddress) === undefined && vault.state.allocations.length >= MARKETS_MAX) {
    reasons.push('markets_full')
  }
  return reasons
}

function judgeCaps(input: ListingInput, vault: VaultRead, { markets }: Snapshot): readonly string[] {
  if (!markets.some(({ address }) => same(address, input.marketAddress))) return ['market_not_found']
  const listing = listingIn(vault, input.marketAddress)
  if (listing?.approved !== true) return ['market_not_attached']
  const [now, next] = [fieldsOf(listing), fieldsOf(listingOf(input))]
  if (Object.entries(next).every(([field, value]) => now[field] === value)) return ['listing_unchanged']
  return judgeLent(input, vault)
}

/** An open market has caps that cover what is lent there: below that it is closed, which is possible at any moment. */
function judgeLent(input: ListingInput, { state }: VaultRead): readonly string[] {
  const lent =
    state.allocations.find(({ market }) => same(market, input.marketAddress))?.allocatedAssets ?? 0n
  const relativeCap = (state.totalAssets * BigInt(input.relativeCapBps)) / BPS
  const isBelow = lent > BigInt(input.absoluteCapAssets) || lent > relativeCap
  return input.allocationEnabled && isBelow ? ['cap_below_lent'] : []
}

/** Attaching and capping are the same call: the vault writes the listing whole. */
function list(input: ListingInput, { address }: VaultRead): OwnersCall {
  const { marketAddress, absoluteCapAssets, relativeCapBps } = input
  const listing = listingOf(input)
  return {
    calldata: encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: 'setListing',
      args: [marketAddress, listing],
    }),
    label: `List the market up to ${absoluteCapAssets} base units and ${relativeCapBps} bps`,
    postconditions: become('vault_listing', entityIdOf(address, marketAddress), fieldsOf(listing)),
  }
}
