import { formatUnits } from 'viem'
import type { VaultAllocationResource, VaultResource } from '../../src/service/contract/vault-resources.ts'
import type { VaultState } from './chain-reader.ts'
import { feesOf } from './channel-rows.ts'
import { lower } from './logs.ts'
import { aprBps, apyBps, assetRows, isoOrNull, type RowContext } from './rows.ts'
import type { ChannelRead, MarketRead, VaultRead } from './state.ts'
import { diluted } from './vault-book.ts'
import { exitTermsOf, liquidityRow, metricsRow, mobilityRow } from './vault-terms-rows.ts'

const WAD = 10n ** 18n
const SECONDS_A_YEAR = 31_536_000
/** Over less than this, a yearly rate says nothing. */
const YIELD_AGE_S_MIN = 60
/** A thousandfold a year: more is a donation, not a yield. */
const YIELD_BPS_MAX = 10_000_000

/**
 * Describe a vault. Its id is its address in lower case; `sharePrice` is whole assets for one whole share, as a decimal.
 * A net yield is what the shares' price gained, which is after fees; the gross one is what it had gained if no share had been
 * minted for fees. Pure.
 * Source: service API, "Vault (VaultResource)".
 */
export function vaultRow(
  vault: VaultRead,
  markets: readonly MarketRead[],
  channels: readonly ChannelRead[],
  context: RowContext,
): VaultResource {
  const { address, state, entry } = vault
  const assetDecimals = state.asset.decimals
  const assetAddress = lower(state.asset.token)
  const loanAssets = markets.map((one) => assetRows(one.state, context.chainId).loan)
  const baseAsset = loanAssets.find((one) => one.id === assetAddress) ?? null
  const manager = [...entry.managers][0] ?? null
  const priceWad = sharePriceWad(state)
  const ageS = Number(state.blockTimestamp) - entry.createdAtS
  const grossPriceWad = (priceWad * diluted(entry, state.totalSupply)) / WAD
  return {
    id: address,
    chainId: context.chainId,
    address,
    symbol: state.symbol,
    name: state.name,
    baseAssetAddress: assetAddress,
    baseAsset,
    assetSymbol: state.asset.symbol,
    assetDecimals,
    inceptionAt: isoOrNull(entry.createdAtS),
    assetManager: manager === null ? null : { id: manager, address: manager, name: null },
    totalAssets: String(state.totalAssets),
    totalSupply: String(state.totalSupply),
    totalAllocatedAssets: String(state.totalAssets - state.idleAssets),
    idleAssets: String(state.idleAssets),
    // A loan asset of the sandbox is worth one dollar.
    tvlUsd: baseAsset === null ? null : formatUnits(state.totalAssets, assetDecimals),
    sharePrice: formatUnits(priceWad, 18),
    grossApyBps: yieldBpsOf(grossPriceWad, ageS),
    netApyBps: yieldBpsOf(priceWad, ageS),
    riskScore: null,
    status: state.mobility.paused ? 'paused' : 'active',
    depositPolicy: state.mobility.paused ? 'closed' : 'open',
    kycVendorKycRequired: false,
    minDepositAssets: String(state.minDepositAssets),
    maxDepositAssets: maxDepositAssets(state),
    listedMarketAddresses: state.allocations.map((one) => lower(one.market)),
    allocations: state.allocations.map((one) => allocationRow(vault, one, markets, context)),
    portfolioLiquidity: liquidityRow(vault, markets),
    exitTerms: exitTermsOf(state),
    shareMobility: mobilityRow(vault),
    publicMetrics: metricsRow(vault),
    feeAccruals: feesOf(vault, channels),
  }
}

/** Nothing while its shares do not move; null where one deposit may be any amount. */
function maxDepositAssets({ mobility, maxDepositAssets: most }: VaultState): string | null {
  if (mobility.paused) return '0'
  return most === 0n ? null : String(most)
}

/** As ERC-4626 converts, with the virtual shares of the contract's decimals offset. */
function sharePriceWad(state: VaultState): bigint {
  const offset = 10n ** BigInt(state.decimals - state.asset.decimals)
  return ((state.totalAssets + 1n) * offset * WAD) / (state.totalSupply + offset)
}

/** What a share gained since the vault began, when it was worth one asset, as compounded basis points a year. */
function yieldBpsOf(priceWad: bigint, ageS: number): number | null {
  if (ageS < YIELD_AGE_S_MIN) return null
  const bps = Math.round((Number(formatUnits(priceWad, 18)) ** (SECONDS_A_YEAR / ageS) - 1) * 10_000)
  return bps > YIELD_BPS_MAX ? null : bps
}

function allocationRow(
  { address: vault, state }: VaultRead,
  { market, listing, allocatedAssets, cashAssets }: VaultState['allocations'][number],
  markets: readonly MarketRead[],
  context: RowContext,
): VaultAllocationResource {
  const marketAddress = lower(market)
  const terms = markets.find((one) => one.address === marketAddress)?.state
  const { totalAssets } = state
  return {
    vaultId: vault,
    vaultAddress: vault,
    marketId: marketAddress,
    marketAddress,
    listed: true,
    approved: listing.approved,
    allocationEnabled: listing.allocationEnabled,
    capAssets: String(listing.absoluteCapAssets),
    allocatedAssets: String(allocatedAssets),
    allocationBps: totalAssets === 0n ? null : Number((allocatedAssets * 10_000n) / totalAssets),
    availableMarketLiquidity: terms === undefined ? null : String(terms.totalCash),
    marketUtilizationWad: terms === undefined ? null : String(terms.utilizationWad),
    marketBorrowRateAprBps: terms === undefined ? null : aprBps(terms.borrowRatePerSecond),
    marketLendingApyBps: terms === undefined ? null : apyBps(terms.supplyRatePerSecond),
    liquidityProfile: liquidityProfile(allocatedAssets, cashAssets),
    blockNumber: context.blockNumber,
  }
}

/** How much of what a market holds for a vault it could pay back at once. */
function liquidityProfile(allocatedAssets: bigint, cashAssets: bigint): string {
  if (cashAssets >= allocatedAssets) return 'idle'
  return cashAssets === 0n ? 'fully_lent' : 'partly_lent'
}
