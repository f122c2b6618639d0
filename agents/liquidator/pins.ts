import type { Address } from 'viem'
import type { PinnedDeployment } from '../../src/service/contract/deployment.ts'
import type { MarketResource } from '../../src/service/contract/resources.ts'

/** What of the deployment a market is held against. */
export type Pins = Pick<PinnedDeployment, 'assets' | 'markets'>

/**
 * Say where the service's description of a market differs from the pinned one, or null where it does not. Pure.
 * A figure that the service leaves out is no difference: what needs it finds it missing.
 */
export function pinDisagreement(market: MarketResource, pins: Pins): string | null {
  const pinned = pins.markets.find(({ address }) => address === market.address)
  if (pinned === undefined) {
    return `Market ${market.address} is not pinned. Fix: add it to deployment.markets after checking its code.`
  }
  const decimalsOf = (token: Address) =>
    pins.assets.find(({ address }) => address === token)?.decimals ?? null
  const facts = [
    ['loan asset', market.loanAssetAddress, pinned.loanAsset],
    ['collateral asset', market.collateralAssetAddress, pinned.collateralAsset],
    ['oracle', market.oracleAddress, pinned.oracle],
    ['loan decimals', market.loanDecimals, decimalsOf(pinned.loanAsset)],
    ['collateral decimals', market.collateralDecimals, decimalsOf(pinned.collateralAsset)],
  ] as const
  const wrong = facts.find(([, claim, pin]) => claim !== undefined && claim !== null && claim !== pin)
  if (wrong === undefined) return null
  const [name, claim, pin] = wrong
  return `The service says that the ${name} of market ${market.address} is ${claim}; the deployment pins ${pin}. Fix: find out which is right before acting here.`
}
