import type { Snapshot } from '../../indexer/canonical.ts'
import type { VaultState } from '../../indexer/chain-reader.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'

/** Find a vault that the chain knows. Pure. */
export const vaultIn = ({ vaultReads }: Snapshot, address: string): VaultRead | undefined =>
  vaultReads.find((vault) => same(vault.address, address))

/** Return the shares that a wallet holds, without those in the queue. Pure. */
export const sharesOf = ({ entry }: VaultRead, wallet: string): bigint =>
  entry.shares.get(wallet.toLowerCase()) ?? 0n

/** What the price of a share follows from, in a vault and in a wrapper of one. */
type Priced = Pick<VaultState, 'decimals' | 'asset' | 'totalAssets' | 'totalSupply'>

/** The virtual shares and asset of the contract's decimals offset. */
const virtualShares = (state: Priced) => 10n ** BigInt(state.decimals - state.asset.decimals)

/** Return the shares that a deposit of so many assets would give now, rounded down as the contract does. Pure. */
export const depositShares = (state: Priced, assets: bigint): bigint =>
  (assets * (state.totalSupply + virtualShares(state))) / (state.totalAssets + 1n)

/** Return the shares that a withdrawal of so many assets would cost now, rounded up as the contract does. Pure. */
export function withdrawalShares(state: Priced, assets: bigint): bigint {
  const product = assets * (state.totalSupply + virtualShares(state))
  return (product + state.totalAssets) / (state.totalAssets + 1n)
}

/** Return what so many shares are worth now, rounded down as the contract does. Pure. */
export const assetsOf = (state: Priced, shares: bigint): bigint =>
  (shares * (state.totalAssets + 1n)) / (state.totalSupply + virtualShares(state))
