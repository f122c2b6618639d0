/** The tokens that the shipped policies speak of, as the sandbox deploys them. */
export const TOKENS = [
  { symbol: 'sUSD', decimals: 6 },
  { symbol: 'sBTC', decimals: 8 },
  { symbol: 'sETH', decimals: 18 },
] as const
