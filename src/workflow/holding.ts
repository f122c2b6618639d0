import type { Address } from 'viem'

/** A sum that a limit holds over all keys that share it, as the chain shows it once a bundle ran; base units. */
export type Holding = {
  /** The check that refuses more than `assetsMax`. */
  readonly check: string
  /** Tells the sums of one check apart: `in escrow for sBTC`. */
  readonly of: string
  readonly token: Address
  readonly assetsMax: bigint
  readonly byKey: readonly { readonly signer: Address; readonly assets: bigint }[]
}
