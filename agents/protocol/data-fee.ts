/** The head, where its chain charges for the bytes of a transaction beside its gas. */
type Charging = { readonly chain: { readonly dataFeeWei?: bigint } }

/** What so many transactions pay for their bytes, wei. Pure. */
export const dataFeesWei = ({ chain }: Charging, transactions: bigint): bigint =>
  transactions * (chain.dataFeeWei ?? 0n)
