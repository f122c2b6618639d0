import type { Address } from 'viem'
import type { Deployment, PinnedMarket } from '../../service/contract/deployment.ts'
import { exactTokens } from '../../units.ts'

/** One, as a fraction of 10^18. */
export const WAD = 10n ** 18n
/** One, in basis points. */
export const BPS = 10_000n

/** Count the base units of one whole token; null when the deployment does not pin it. Pure. */
export function unitOf(token: Address, { assets }: Pick<Deployment, 'assets'>): bigint | null {
  const decimals = assets.find(({ address }) => address === token)?.decimals
  return decimals === undefined ? null : 10n ** BigInt(decimals)
}

/** Write a market's price, a wad, for people: `60,000 sUSD per sBTC`. Pure. */
export function priceText(
  priceWad: bigint,
  { loanAsset, collateralAsset }: Pick<PinnedMarket, 'loanAsset' | 'collateralAsset'>,
  { assets }: Pick<Deployment, 'assets'>,
): string {
  const name = (token: Address) => assets.find(({ address }) => address === token)?.symbol ?? token
  return exactTokens(priceWad, { symbol: `${name(loanAsset)} per ${name(collateralAsset)}`, decimals: 18 })
}
