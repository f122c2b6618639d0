import type { Address } from 'viem'
import type { Snapshot } from './canonical.ts'
import { lower } from './logs.ts'

/** Somebody whom the chain shows to take part, and as what. */
export type Participant = {
  readonly kind: 'partner' | 'vault_owner' | 'curator' | 'asset_manager' | 'allocator' | 'investor'
  readonly walletAddress: Address
}

/** Say whether a channel makes its reseller a partner, and its curator a curator: by vault and reseller. */
type IsApproved = (vault: Address, reseller: Address) => boolean

/**
 * List who owns, curates, manages or holds the vaults, their channels and the funds, each wallet once, as the first that it is in the order
 * of the kinds. The contracts that hold shares for others are nobody. Of a channel whose deployer might not deploy it, or whose reseller is not
 * approved, only the holders count: it names whom it likes. Pure.
 */
export function participantsOf(
  { vaultReads, channels, funds }: Snapshot,
  isApproved: IsApproved = () => true,
): readonly Participant[] {
  const as = (kind: Participant['kind'], wallets: Iterable<string>): readonly Participant[] =>
    [...wallets].map((wallet) => ({ kind, walletAddress: lower(wallet as Address) }))
  const holders = [...vaultReads, ...channels].flatMap(({ entry }) => [...entry.shares.keys()])
  const contracts = new Set<string>([...vaultReads, ...channels].map(({ address }) => address))
  const vouched = channels.filter(
    ({ state, entry }) => entry.isEntitled && isApproved(entry.vault, lower(state.reseller)),
  )
  const all = [
    ...vouched.flatMap(({ state }) => as('partner', [state.reseller])),
    ...vaultReads.flatMap(({ state }) => as('vault_owner', [state.owner])),
    ...[...vaultReads.map(({ entry }) => entry.curators), vouched.map(({ state }) => state.curator)].flatMap(
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
