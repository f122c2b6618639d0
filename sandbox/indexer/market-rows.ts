import { type Address, formatUnits } from 'viem'
import { NORMAL_MARKET_REGIME } from '../../src/service/contract/assumptions.ts'
import type { MarketResource } from '../../src/service/contract/resources.ts'
import type { MarketState } from './chain-reader.ts'
import { lower } from './logs.ts'
import { aprBps, apyBps, assetRows, isoOrNull, oracleRow, type RowContext } from './rows.ts'
import type { ChainState, MarketRead } from './state.ts'

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)

type Partition = MarketState['partitions'][number]
const allocatedTo = (partition: Partition): bigint => partition.cash + partition.debtAssets

/**
 * Describe a market. Its id is its address in lower case; its contract has no name, so it is named for its assets. Pure.
 * Source: service API, "Market (MarketResource)".
 */
export function marketRow(
  market: MarketRead,
  vaults: ChainState['vaults'],
  context: RowContext,
): MarketResource {
  const { address, state } = market
  const assets = assetRows(state, context.chainId)
  const oracle = oracleRow(address, state)
  return {
    id: address,
    chainId: context.chainId,
    address,
    symbol: `${assets.collateral.symbol}/${assets.loan.symbol}`,
    name: `${assets.collateral.name} / ${assets.loan.name}`,
    loanAssetAddress: assets.loan.address,
    collateralAssetAddress: assets.collateral.address,
    loanSymbol: assets.loan.symbol,
    collateralSymbol: assets.collateral.symbol,
    loanDecimals: assets.loan.decimals,
    collateralDecimals: assets.collateral.decimals,
    oracleAddress: oracle.address,
    interestRateModelAddress: lower(state.rateModel.rateModel),
    loanAsset: assets.loan,
    collateralAsset: assets.collateral,
    ...amountsAndRates(state),
    ...termsAndFlags(state),
    oracleState: oracle.state,
    oracle: {
      address: oracle.address,
      priceWad: String(oracle.priceWad),
      state: oracle.state,
      sourceAsOf: isoOrNull(oracle.sourceAsOfS),
      lastUpdated: isoOrNull(oracle.updatedAtS),
    },
    funding: fundingOf(state.partitions),
    allocators: state.partitions.map((partition) => allocatorRow(address, partition, vaults, context)),
  }
}

function amountsAndRates(state: MarketState) {
  return {
    totalSupplied: String(state.totalCash + state.totalDebt),
    totalDebt: String(state.totalDebt),
    totalBadDebt: String(state.totalBadDebt),
    availableLiquidity: String(state.totalCash),
    utilizationWad: String(state.utilizationWad),
    currentBorrowRatePerSecond: String(state.borrowRatePerSecond),
    currentSupplyRatePerSecond: String(state.supplyRatePerSecond),
    targetUtilizationPct: Number(formatUnits(state.rateModel.kinkWad, 16)),
    borrowRateAprBps: aprBps(state.borrowRatePerSecond),
    lendingApyBps: apyBps(state.supplyRatePerSecond),
    // The contract keeps nothing back from the interest.
    reserveFactorBps: 0,
  } satisfies Partial<MarketResource>
}

function termsAndFlags(state: MarketState) {
  return {
    lltvBps: state.lltvBps,
    displayLtvBps: state.lltvBps,
    liquidationThresholdBps: state.liquidationThresholdBps,
    closeFactorBps: state.closeFactorBps,
    liquidationBonusBps: state.liquidationBonusBps,
    marketRegimeState: state.paused ? 'paused' : NORMAL_MARKET_REGIME,
    // Live means funded: without a vault there is nothing to borrow.
    marketLive: state.partitions.length > 0,
    paused: state.paused,
    vaultOnlySupply: true,
    borrowGateEnabled: false,
    collateralGateEnabled: state.liquidatorGate,
    // Whoever has collateral may borrow: nobody vouches for a borrower here.
    kycVendorKycRequired: false,
    borrowPolicy: state.paused ? 'closed' : 'open',
  } satisfies Partial<MarketResource>
}

function fundingOf(partitions: readonly Partition[]) {
  const largest = partitions.reduce<Partition | undefined>(
    (most, one) => (most === undefined || allocatedTo(one) > allocatedTo(most) ? one : most),
    undefined,
  )
  const source = largest === undefined ? null : lower(largest.vault)
  return {
    partitionCount: partitions.length,
    totalAllocatedAssets: String(sum(partitions.map(allocatedTo))),
    largestSourceAssets: largest === undefined ? null : String(allocatedTo(largest)),
    largestSourceVaultId: source,
    largestSourceVaultAddress: source,
  } satisfies MarketResource['funding']
}

const NOT_ATTACHED = { approved: false, allocationEnabled: false, relativeCapBps: 0, absoluteCapAssets: 0n }

function allocatorRow(
  market: Address,
  partition: Partition,
  vaults: ChainState['vaults'],
  context: RowContext,
): NonNullable<MarketResource['allocators']>[number] {
  const vaultAddress = lower(partition.vault)
  const vault = vaults.find((one) => one.address === vaultAddress)?.state
  const attached = vault?.allocations.find((one) => lower(one.market) === market)?.listing
  // A vault of ours that has not attached the market lets nothing be lent there; another's terms are not known.
  const listing = attached ?? (vault === undefined ? undefined : NOT_ATTACHED)
  return {
    marketId: market,
    marketAddress: market,
    vaultId: vaultAddress,
    vaultAddress,
    vaultName: vault?.name ?? null,
    vaultSymbol: vault?.symbol ?? null,
    listed: attached !== undefined,
    approved: listing?.approved ?? null,
    allocationEnabled: listing?.allocationEnabled ?? null,
    allocatedAssets: String(allocatedTo(partition)),
    availableLiquidity: String(partition.cash),
    absoluteCapAssets: listing === undefined ? null : String(listing.absoluteCapAssets),
    relativeCapBps: listing?.relativeCapBps ?? null,
    blockNumber: context.blockNumber,
  }
}
