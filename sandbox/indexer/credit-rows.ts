import { maxUint256 } from 'viem'
import type {
  CreditFacilityResource,
  LiquidationRecoveryResource,
  PositionResource,
} from '../../src/service/contract/resources.ts'
import type { CanonicalFacility } from './canonical.ts'
import type { FacilityState } from './chain-reader.ts'
import { lower } from './logs.ts'
import { recoveryOf } from './recovery.ts'
import type { MarketRead } from './state.ts'

const WAD = 10n ** 18n
/** Below this health factor a position is watched. */
const WATCH_BELOW_WAD = (WAD * 105n) / 100n
const ORACLE_HEALTHY = 1

/** How a position stands, at the last price whatever the oracle's state. */
type MonitorState = 'healthy' | 'watch' | 'liquidatable' | 'bad_debt'

function monitorStateOf(row: FacilityState): MonitorState {
  if (row.totalDebtAssets > 0n && row.collateralAssets === 0n) return 'bad_debt'
  if (row.healthFactorWad < WAD) return 'liquidatable'
  return row.healthFactorWad < WATCH_BELOW_WAD ? 'watch' : 'healthy'
}

/** The contract says the largest integer where there is no debt; a health factor is not defined there. */
const healthOf = (row: FacilityState): string | null =>
  row.healthFactorWad === maxUint256 ? null : String(row.healthFactorWad)

const debtsOf = (market: MarketRead): readonly FacilityState[] =>
  market.facilities.filter((row) => row.debtShares > 0n)

const keyOf = (market: MarketRead, row: FacilityState, chainId: number) => {
  const vault = lower(row.vault)
  return {
    marketId: market.address,
    vaultId: vault,
    chainId,
    marketAddress: market.address,
    vaultAddress: vault,
    borrowerAddress: lower(row.borrower),
  }
}

/** Describe the debts of a market, one row for each vault and borrower. Pure. Source: service API, "Credit facility". */
export function facilityRows(market: MarketRead, chainId: number): readonly CanonicalFacility[] {
  return debtsOf(market).map((row) => {
    const resource: CreditFacilityResource = {
      ...keyOf(market, row, chainId),
      principalAssets: String(row.principalAssets),
      debtAssets: String(row.debtAssets),
      maxBorrowableAssets: String(row.maxBorrowableAssets),
      healthFactorWad: healthOf(row),
      monitorState: monitorStateOf(row),
    }
    const { debtShares, debtAssets, collateralAssets, healthFactorWad, liquidatable } = row
    return { resource, debtShares, debtAssets, collateralAssets, healthFactorWad, liquidatable }
  })
}

/** Describe the borrowers of a market, one row each, over all its vaults. Pure. Source: service API, "Position". */
export function positionRows(market: MarketRead, chainId: number): readonly PositionResource[] {
  const byBorrower = Map.groupBy(market.facilities, (row) => lower(row.borrower))
  return [...byBorrower].flatMap(([walletAddress, rows]) => {
    const row = rows[0]
    if (row === undefined) return []
    return {
      marketId: market.address,
      chainId,
      marketAddress: market.address,
      walletAddress,
      collateralAssets: String(row.collateralAssets),
      debtAssets: String(row.totalDebtAssets),
      debtShares: String(rows.reduce((shares, one) => shares + one.debtShares, 0n)),
      maxBorrowableAssets: String(row.maxBorrowableAssets),
      healthFactorWad: healthOf(row),
      liquidatable: row.liquidatable,
      monitorState: monitorStateOf(row),
    }
  })
}

/**
 * Describe the debts of a market whose health factor is below one, with what a liquidation at the most would do now.
 * Whether one certain wallet may do it on a gated market is the eligibility rows' matter. Pure.
 * Source: service API, "Liquidation recovery item".
 */
export function recoveryRows(market: MarketRead, chainId: number): readonly LiquidationRecoveryResource[] {
  return debtsOf(market)
    .filter((row) => row.healthFactorWad < WAD)
    .map((row) => {
      const blockedReason = blockedReasonOf(market, row)
      return {
        ...keyOf(market, row, chainId),
        healthFactorWad: healthOf(row),
        liquidatable: row.liquidatable,
        executable: blockedReason === null,
        blockedReason,
        ...recoveryAmounts(market, row),
      }
    })
}

function blockedReasonOf({ state }: MarketRead, row: FacilityState): string | null {
  if (state.paused) return 'market_paused'
  if (state.oracle.state !== ORACLE_HEALTHY) return 'oracle_not_healthy'
  return row.collateralAssets === 0n ? 'no_collateral' : null
}

function recoveryAmounts({ state }: MarketRead, row: FacilityState) {
  // Without a price nothing can be said about what a repayment seizes.
  if (state.oracle.priceWad === 0n) {
    return { repayAssets: null, collateralSeizedAssets: null, residualBadDebtAssets: null }
  }
  const recovery = recoveryOf({
    ...row,
    borrowIndexRay: state.borrowIndexRay,
    priceWad: state.oracle.priceWad,
    loanDecimals: state.loanAsset.decimals,
    collateralDecimals: state.collateralAsset.decimals,
    closeFactorBps: state.closeFactorBps,
    liquidationBonusBps: state.liquidationBonusBps,
  })
  return {
    repayAssets: String(recovery.repayAssets),
    collateralSeizedAssets: String(recovery.collateralSeizedAssets),
    residualBadDebtAssets: String(recovery.residualBadDebtAssets),
  }
}
