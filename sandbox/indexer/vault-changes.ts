import type { FeeResource } from '../../src/service/contract/directory-resources.ts'
import type { MarketResource } from '../../src/service/contract/resources.ts'
import type { Snapshot } from './canonical.ts'
import { type ChangeRow, print } from './change-row.ts'
import { lower } from './logs.ts'
import type { Participant } from './participants.ts'
import type { ChannelRead, VaultRead } from './state.ts'
import { sharesOf } from './vault-book.ts'

/** Announce a vault in both collections that list it. Its shares' price moves by the second, and is no change. Pure. */
export function vaultChanges(
  { address, state, entry }: VaultRead,
  { markets }: { readonly markets: readonly MarketResource[] },
): readonly ChangeRow[] {
  const listed = state.allocations.map((one) => lower(one.market))
  const { exitTerms, mobility, feeConfig } = state
  const shown = print(
    // Not the supply, to which fees add by the second.
    sharesOf(entry),
    state.idleAssets,
    state.queueHead,
    state.queueEnd,
    state.liquidityBufferBps,
    state.minDepositAssets,
    state.maxDepositAssets,
    state.tighteningLocked,
    ...Object.values(exitTerms),
    ...Object.values(feeConfig),
    mobility.epoch,
    state.owner,
    state.pendingOwner,
    ...entry.allocators,
    ...entry.managers,
    'curated by',
    ...entry.curators,
    'routed to',
    ...state.routing,
    ...state.allocations.flatMap((one) => [one.market, ...Object.values(one.listing)]),
    // A market's bad debt may have fallen on this vault; saying so needlessly costs one re-read.
    ...markets.filter((market) => listed.includes(market.address)).map((market) => market.totalBadDebt),
  )
  return ['vaults.updated', 'tranches.updated'].map((eventType) => ({
    eventType,
    subject: address,
    data: { vaultAddress: address },
    print: shown,
  }))
}

/** Announce what a vault charges when a rate changes, when shares are minted for it, and when a reseller claims. Pure. */
export function feeChange(fees: FeeResource, { vaultReads, channels }: Snapshot): ChangeRow {
  const vault = vaultReads.find(({ address }) => address === fees.vaultId)
  const own = channels.filter(({ entry }) => entry.vault === fees.vaultId)
  return {
    eventType: 'fees.updated',
    subject: fees.id,
    data: { vaultAddress: fees.vaultAddress },
    print: print(
      ...Object.values(vault?.state.feeConfig ?? {}),
      vault?.entry.dilution,
      ...own.flatMap(({ address, state }) => [address, state.feeSharesClaimed, state.borrowerFeeClaimed]),
    ),
  }
}

/** Announce a partner's program when its first channel is there. Pure. */
export function programChange({ state, entry }: ChannelRead): ChangeRow {
  const partnerAddress = lower(state.reseller)
  return {
    eventType: 'partner.programs.updated',
    subject: `${entry.vault}:${partnerAddress}`,
    data: { vaultAddress: entry.vault, partnerAddress },
    print: '',
  }
}

/** Announce who begins to take part, ends it, or does it as another. Pure. */
export const participantChange = ({ kind, walletAddress }: Participant): ChangeRow => ({
  eventType: 'entities.updated',
  subject: walletAddress,
  data: { walletAddress },
  print: kind,
})
