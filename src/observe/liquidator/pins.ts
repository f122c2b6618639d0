import type { Address } from 'viem'
import type { MarketResource } from '../../service/contract/resources.ts'

/** The contracts of the deployment that we know by address, lower case, as the run configuration pins them. */
export type Pins = {
  readonly assets: readonly {
    readonly address: Address
    readonly symbol: string
    readonly decimals: number
  }[]
  readonly markets: readonly PinnedMarket[]
  readonly vaults: readonly { readonly address: Address }[]
}

/** A pinned market with the contracts it was built from. */
export type PinnedMarket = {
  readonly address: Address
  readonly loanAsset: Address
  readonly collateralAsset: Address
  readonly oracle: Address
}

/**
 * Say where the service's description of a market differs from the pinned one, or null where it does not. Pure.
 * A figure that the service leaves out is no difference: whoever needs it finds it missing.
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
  const wrong = facts.find(([, said, pin]) => said !== undefined && said !== null && said !== pin)
  if (wrong === undefined) return null
  const [name, said, pin] = wrong
  return `The service says that the ${name} of market ${market.address} is ${said}; the deployment pins ${pin}. Fix: find out which is right before acting here.`
}
