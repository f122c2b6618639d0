import { BPS, ceilDiv, type Price, tokenUnit, WAD } from './health.ts'

/** What turns a repayment into seized collateral. */
export type SeizureTerms = { readonly price: Price; readonly liquidationBonusBps: number }

const loanSide = (terms: SeizureTerms) => terms.price.priceWad * tokenUnit(terms.price.loanDecimals) * BPS
const collateralSide = (terms: SeizureTerms) =>
  (BPS + BigInt(terms.liquidationBonusBps)) * tokenUnit(terms.price.collateralDecimals) * WAD

/**
 * Return the most that one liquidation may repay of a debt to one vault, base units, rounded up as the market does.
 * Pure. A market also lets a debt of a single share be repaid whole; that dust is never worth its gas.
 */
export const repayLimit = (debtAssets: bigint, closeFactorBps: number): bigint =>
  ceilDiv(debtAssets * BigInt(closeFactorBps), BPS)

/** Return the collateral (base units) that a repayment seizes, bonus included, rounded down and capped. Pure. */
export function seizedCollateral(repayAssets: bigint, collateralAssets: bigint, terms: SeizureTerms): bigint {
  const uncapped = (repayAssets * collateralSide(terms)) / loanSide(terms)
  return uncapped < collateralAssets ? uncapped : collateralAssets
}

/** Return the least repayment that seizes all of the collateral: above it one pays for nothing. Pure. */
export const repayThatExhausts = (collateralAssets: bigint, terms: SeizureTerms): bigint =>
  ceilDiv(collateralAssets * loanSide(terms), collateralSide(terms))

/** Return the part of a debt to all vaults that the collateral cannot pay for, bonus included, base units. Pure. */
export function unpaidDebt(debtAssets: bigint, collateralAssets: bigint, terms: SeizureTerms): bigint {
  const payable = repayThatExhausts(collateralAssets, terms)
  return payable < debtAssets ? debtAssets - payable : 0n
}

/** Return a repayment that seizes at most this much collateral. Pure. */
export const repayThatFits = (collateralRoomAssets: bigint, terms: SeizureTerms): bigint =>
  (collateralRoomAssets * loanSide(terms)) / collateralSide(terms)

/** Return what the vault has to write off: the rest of the debt to it, once no collateral is left. Pure. */
export const badDebtAfter = (
  debtAssets: bigint,
  repayAssets: bigint,
  collateralLeftAssets: bigint,
): bigint => (collateralLeftAssets > 0n || repayAssets >= debtAssets ? 0n : debtAssets - repayAssets)
