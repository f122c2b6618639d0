import type { Address } from 'viem'
import type { Armed } from '../agent.ts'
import type { PriceRead } from '../protocol/price.ts'

/** A market as the service shows it, beside our own reading of its oracle. Null means the service did not say. */
export type MarketSeen = {
  readonly id: string
  readonly address: Address
  readonly symbol: string | null
  readonly loanAsset: Address | null
  readonly loanDecimals: number | null
  readonly loanSymbol: string | null
  /** US dollars for one whole loan token, times 10^6. */
  readonly loanPriceUsdMicros: bigint | null
  readonly collateralAsset: Address | null
  readonly collateralDecimals: number | null
  readonly collateralSymbol: string | null
  readonly oracleState: string | null
  readonly marketRegimeState: string | null
  readonly marketLive: boolean | null
  readonly paused: boolean | null
  readonly collateralGateEnabled: boolean | null
  readonly liquidationThresholdBps: number | null
  readonly closeFactorBps: number | null
  readonly liquidationBonusBps: number | null
  /** The service's price: whole loan tokens for one whole collateral token, times 10^18. */
  readonly priceWad: bigint | null
  /** Our own reading of the market's oracle at `chain.blockNumber`; null when the read failed. */
  readonly oracle: PriceRead | null
  /** Whether our arithmetic agreed with the service and the chain on a sample of this market. */
  readonly armed: Armed
  /** Whether our signer is authorised here; null when no gate applies or it is not known. */
  readonly eligible: boolean | null
  /** Why the list behind `eligible` is too old to act on; null when it is fresh, or was not read. */
  readonly eligibilityStale: string | null
}

/** A borrower's debt to one vault in one market. */
export type FacilitySeen = {
  readonly marketId: string
  readonly marketAddress: Address
  readonly vaultAddress: Address
  readonly borrower: Address
  /** Debt to this vault now, base units of the loan asset. */
  readonly debtAssets: bigint | null
  /** Debt to all vaults of the market: health is judged on it. */
  readonly positionDebtAssets: bigint | null
  /** Collateral of the borrower in the market, shared by its debts to all vaults. */
  readonly collateralAssets: bigint | null
  readonly debtShares: bigint | null
  readonly serviceHealthFactorWad: bigint | null
  readonly monitorState: string | null
  /** The service's opinion; null when it lists no recovery item. */
  readonly recovery: {
    readonly liquidatable: boolean | null
    readonly executable: boolean | null
    readonly blockedReason: string | null
  } | null
}

/** A liquidation claim of ours that is not settled. `settleableAtS` is chain time in seconds. */
export type ClaimSeen = {
  readonly marketAddress: Address
  readonly claimId: bigint
  readonly collateralAsset: Address | null
  readonly collateralAssets: bigint
  readonly settleableAtS: number
}

/** Where a collateral can be sold, by the policy. */
export type ExitSeen = {
  /** Symbols, collateral first. */
  readonly pair: string
  /** Its name in the deployment, and its address; null where it is not pinned. */
  readonly contract: string
  readonly venue: Address | null
  /** The market whose oracle prices it. */
  readonly marketAddress: Address
  /** What we hold of the collateral, base units. */
  readonly held: bigint
  /** What the venue says that it pays, the largest part first; null when the read failed. */
  readonly quotes: readonly { readonly assets: bigint; readonly loanAssets: bigint | null }[]
}

/** What the liquidator sees. */
export type LiquidatorSeen = {
  readonly markets: readonly MarketSeen[]
  /** Those at risk at our reading of the price, listed for recovery or not fully known, and the nearest of the others. */
  readonly facilities: readonly FacilitySeen[]
  readonly claims: readonly ClaimSeen[]
  readonly exits: readonly ExitSeen[]
  /** Second prices and native coin's, by the name of the contract that was asked; null when the read failed. */
  readonly references: Readonly<Record<string, PriceRead | null>>
}
