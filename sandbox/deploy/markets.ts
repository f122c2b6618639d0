import type { Deployment } from './deploy.ts'

/** The markets of the sandbox, by the asset that is pledged in them. */
export const MARKET_NAMES = ['btc', 'eth'] as const
export type MarketName = (typeof MARKET_NAMES)[number]

/** Find a market's contracts and how its collateral counts. Pure. */
export function marketContracts({ contracts }: Deployment, market: MarketName) {
  return market === 'btc'
    ? {
        market: contracts.btcMarket.address,
        oracle: contracts.btcOracle.address,
        exit: contracts.btcExit.address,
        reference: contracts.btcReferenceOracle.address,
        collateral: contracts.sBTC.address,
        collateralDecimals: 8,
        lltvBps: 7_500n,
      }
    : {
        market: contracts.ethMarket.address,
        oracle: contracts.ethOracle.address,
        exit: contracts.ethExit.address,
        reference: contracts.ethReferenceOracle.address,
        collateral: contracts.sETH.address,
        collateralDecimals: 18,
        lltvBps: 7_000n,
      }
}
