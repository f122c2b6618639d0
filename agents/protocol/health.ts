/** One, as a wad. */
export const WAD = 10n ** 18n
/** One hundred per cent, in basis points. */
export const BPS = 10_000n
/** One, as a ray. */
export const RAY = 10n ** 27n
/** The health factor of a borrower who owes nothing. */
export const HEALTH_WITHOUT_DEBT_WAD = 2n ** 256n - 1n

/** A price and the decimals that turn it into base units: whole loan tokens for one whole collateral token × 10^18. */
export type Price = {
  readonly priceWad: bigint
  readonly loanDecimals: number
  readonly collateralDecimals: number
}

/** What turns a market's debt shares and collateral into health; `indexRay` is loan base units a share × 10^27. */
export type HealthTerms = {
  readonly price: Price
  readonly liquidationThresholdBps: number
  readonly indexRay: bigint
}

/** Divide, rounded up. Pure; both are unsigned and the divisor is not zero. */
export const ceilDiv = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

/** One whole token of the usual decimals: it is asked for a thousand times in each decision. */
const UNITS = Array.from({ length: 37 }, (_, decimals) => 10n ** BigInt(decimals))

/** Return one whole token in base units. Pure. */
export const tokenUnit = (decimals: number): bigint => UNITS[decimals] ?? 10n ** BigInt(decimals)

/** Value collateral (base units) in base units of the loan asset, rounded down. Pure. */
export const collateralValue = (collateralAssets: bigint, price: Price): bigint =>
  (collateralAssets * price.priceWad * tokenUnit(price.loanDecimals)) /
  (tokenUnit(price.collateralDecimals) * WAD)

/** Return the least collateral (base units) that is worth so many base units of the loan asset. Pure. */
export const collateralWorth = (loanAssets: bigint, price: Price): bigint =>
  ceilDiv(
    loanAssets * tokenUnit(price.collateralDecimals) * WAD,
    price.priceWad * tokenUnit(price.loanDecimals),
  )

/** What a borrower's health is judged on: its collateral, and its debt to all vaults of the market, base units. */
type Position = {
  readonly collateralAssets: bigint
  readonly debtAssets: bigint
  readonly liquidationThresholdBps: number
}

/**
 * Return the health factor as a wad, rounded down as the market does: below 10^18 it may be liquidated. Pure.
 * Without debt it is {@link HEALTH_WITHOUT_DEBT_WAD}.
 */
export const healthFactorWad = (position: Position, price: Price): bigint =>
  position.debtAssets === 0n
    ? HEALTH_WITHOUT_DEBT_WAD
    : (collateralValue(position.collateralAssets, price) * BigInt(position.liquidationThresholdBps) * WAD) /
      (position.debtAssets * BPS)
