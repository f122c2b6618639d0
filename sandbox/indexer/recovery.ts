/** A debt to one vault that may be liquidated, as the chain holds it; amounts in base units. */
export type Distressed = {
  readonly debtAssets: bigint
  readonly debtShares: bigint
  readonly collateralAssets: bigint
  readonly borrowIndexRay: bigint
  readonly priceWad: bigint
  readonly loanDecimals: number
  readonly collateralDecimals: number
  readonly closeFactorBps: number
  readonly liquidationBonusBps: number
}

/** What one liquidation at the most would do, in base units. */
type Recovery = {
  readonly repayAssets: bigint
  readonly collateralSeizedAssets: bigint
  readonly residualBadDebtAssets: bigint
}

const WAD = 10n ** 18n
const RAY = 10n ** 27n
const BPS = 10_000n

const ceilDiv = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor
const min = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/**
 * Work out the largest sensible liquidation as the market would: up to the close factor, and no more than what the
 * collateral covers. Pure. Written from the contract, apart from the keeper's own arithmetic, so that the keeper
 * comparing the two means something. Needs a price above zero.
 */
export function recoveryOf(debt: Distressed): Recovery {
  const { debtAssets, debtShares, collateralAssets: held, borrowIndexRay: indexRay } = debt
  if (held === 0n) return { repayAssets: 0n, collateralSeizedAssets: 0n, residualBadDebtAssets: debtAssets }

  // Collateral for a repayment is repay * gain / cost, rounded down.
  const gain = (BPS + BigInt(debt.liquidationBonusBps)) * 10n ** BigInt(debt.collateralDecimals) * WAD
  const cost = debt.priceWad * 10n ** BigInt(debt.loanDecimals) * BPS
  const oneShare = ceilDiv(indexRay, RAY)
  const exhausting = ceilDiv(held * cost, gain)
  const part = ceilDiv(debtAssets * BigInt(debt.closeFactorBps), BPS)
  // The market takes the whole of a debt whose part would burn no share.
  const limit = part * RAY < indexRay ? debtAssets : part
  const repayAssets = min(limit, exhausting > oneShare ? exhausting : oneShare)

  const collateralSeizedAssets = min(held, (repayAssets * gain) / cost)
  const burnt = repayAssets === debtAssets ? debtShares : (repayAssets * RAY) / indexRay
  const left = ceilDiv((debtShares - burnt) * indexRay, RAY)
  return {
    repayAssets,
    collateralSeizedAssets,
    residualBadDebtAssets: collateralSeizedAssets === held ? left : 0n,
  }
}
