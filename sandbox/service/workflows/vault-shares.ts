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

/** The virtual shares and asset of the contract's decimals offset. */
const virtualShares = (state: VaultState) => 10n ** BigInt(state.decimals - state.asset.decimals)

/** Return the shares that a deposit of so many assets would give now, rounded down as the contract does. Pure. */
export const depositShares = (state: VaultState, assets: bigint): bigint =>
  (assets * (state.totalSupply + virtualShares(state))) / (state.totalAssets + 1n)

/** Return the shares that a withdrawal of so many assets would cost now, rounded up as the contract does. Pure. */
export function withdrawalShares(state: VaultState, assets: bigint): bigint {
  const product = assets * (state.totalSupply + virtualShares(state))
  return (product + state.totalAssets) / (state.totalAssets + 1n)
}

/** Return what so many shares are worth now, rounded down as the contract does. Pure. */
export const assetsOf = (state: VaultState, shares: bigint): bigint =>
  (shares * (state.totalAssets + 1n)) / (state.totalSupply + virtualShares(state))
