import { WAD } from './health.ts'

/**
 * Return a debt (base units) some seconds later, by simple interest at one rate, rounded down. Pure.
 * The market compounds at each accrual and rounds up; over the seconds that a read lags, this is its lower bound.
 */
export const accruedDebt = (debtAssets: bigint, ratePerSecondWad: bigint, elapsedS: number): bigint =>
  debtAssets + (debtAssets * ratePerSecondWad * BigInt(elapsedS)) / WAD
