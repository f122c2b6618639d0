import type { FeeResource, WrapperResource } from '../../src/service/contract/directory-resources.ts'
import type { VaultResource } from '../../src/service/contract/vault-resources.ts'
import { lower } from './logs.ts'
import type { RowContext } from './rows.ts'
import type { ChannelRead, VaultRead } from './state.ts'

/** Describe a partner channel as the wrapper that it is; its manager is its vault's, if one entitled to deployed it. Pure. Source: service API, "Wrapper". */
export function wrapperRow(
  { address, state, entry }: ChannelRead,
  vaults: readonly VaultRead[],
  { chainId }: RowContext,
): WrapperResource {
  const its = vaults.find((vault) => vault.address === entry.vault)
  const managers = entry.isEntitled ? (its?.entry.managers ?? []) : []
  return {
    id: address,
    chainId,
    address,
    managerId: [...managers][0] ?? null,
    vaultId: entry.vault,
    resellerAddress: lower(state.reseller),
    shareClass: state.shareClass,
    name: state.name,
    symbol: state.symbol,
    totalAssets: String(state.totalAssets),
    totalSupply: String(state.totalSupply),
  }
}

/**
 * Describe what a vault charges, and what its channels charge on top. What the vault ever charged is in assets at their
 * moment; what resellers ever earned by their yearly fee is their shares at today's price. Rates of channels are weighed by
 * what their holders have there: anybody can deploy one, which nobody holds and which charges nothing. Pure.
 * Source: service API, "feeAccruals members".
 */
export function feesOf(
  { address, state }: VaultRead,
  channels: readonly ChannelRead[],
): NonNullable<VaultResource['feeAccruals']> {
  const own = channels.filter(({ entry }) => entry.vault === address)
  const { feeConfig, accruedFees } = state
  return {
    managementFeeRateBps: feeConfig.managementFeeBps,
    performanceFeeRateBps: feeConfig.performanceFeeBps,
    borrowerManagerFeeRateBps: feeConfig.borrowerManagerFeeBps,
    resellerFeeRateBps: resellerRateBps(own),
    accruedManagementFeeAssets: String(accruedFees.managementAssets),
    accruedPerformanceFeeAssets: String(accruedFees.performanceAssets),
    accruedBorrowerManagerFeeAssets: String(accruedFees.borrowerManagerAssets),
    accruedResellerFeeAssets: String(sum(own.map(resellerFeeAssets))),
  }
}

/** Describe a vault's fees as a row of their own; its id is the vault's. Pure. */
export const feeRow = (
  vault: VaultRead,
  channels: readonly ChannelRead[],
  { chainId }: RowContext,
): FeeResource => ({
  id: vault.address,
  chainId,
  vaultId: vault.address,
  vaultAddress: vault.address,
  ...feesOf(vault, channels),
})

function resellerRateBps(channels: readonly ChannelRead[]): number {
  const charging = channels.filter(({ state }) => state.totalSupply > 0n)
  const held = sum(charging.map(({ state }) => state.totalAssets))
  if (held === 0n) return 0
  return Number(sum(charging.map(({ state }) => BigInt(state.resellerFeeBps) * state.totalAssets)) / held)
}

function resellerFeeAssets({ state }: ChannelRead): bigint {
  const shares = state.feeShares + state.feeSharesClaimed
  return state.totalSupply === 0n ? 0n : (shares * state.totalAssets) / state.totalSupply
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)
