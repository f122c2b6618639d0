import type { Address } from 'viem'

/** A liquidation by somebody else, by its market's log and its receipt. */
export type Rival = {
  readonly marketAddress: Address
  /** Base units of the loan asset. */
  readonly repayAssets: bigint
  /** Above the base fee, wei for one unit of gas. */
  readonly tipWei: bigint
  readonly atMs: number
}
