import type { Address } from 'viem'
import type { Snapshot } from './canonical.ts'
import { lower } from './logs.ts'

/** Somebody whom the chain shows to take part, and as what. */
export type Participant = {
  readonly kind: 'partner' | 'vault_owner' | 'curator' | 'asset_manager' | 'allocator' | 'investor'
  readonly walletAddress: Address
}

/**
 * List who owns, curates, manages or holds the vaults, their channels and the funds, each wallet once, as the first that it is in the order
 * of the kinds. The contracts that hold shares for others are nobody. Pure.
 */
export function participantsOf({ vaultReads, channels, funds }: Snapshot): readonly Participant[] {
  const as = (kind: Participant['kind'], wallets: Iterable<string>): readonly Participant[] =>
    [...wallets].map((wallet) => ({ kind, walletAddress: lower(wallet as Address) }))
  const holders = [...vaultReads, ...channels].flatMap(({ entry }) => [...entry.shares.keys()])
  const contracts = new Set<string>([...vaultReads, ...channels].map(({ address }) => address))
  const all = [
    ...channels.flatMap(({ state }) => as('partner', [state.reseller])),
    ...vaultReads.flatMap(({ state }) => as('vault_owner', [state.owner])),
    ...[...vaultReads.map(({ entry }) => entry.curators), channels.map(({ state }) => state.curator)].flatMap(
      (wallets) => as('curator', wallets),
    ),
    ...vaultReads.flatMap(({ entry }) => as('asset_manager', entry.managers)),
    ...funds.flatMap(({ managerAddress }) =>
      as('asset_manager', managerAddress == null ? [] : [managerAddress]),
    ),
    ...vaultReads.flatMap(({ entry }) => as('allocator', entry.allocators)),
    ...as('investor', holders).filter(({ walletAddress }) => !contracts.has(walletAddress)),
  ]
  // The first of a wallet is what stays.
  return [...new Map(all.toReversed().map((one) => [one.walletAddress, one])).values()].toReversed()
}
