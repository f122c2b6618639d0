import type { Address } from 'viem'
import { ELIGIBILITY } from '../../src/service/contract/assumptions.ts'
import type { EligibilityResource, MarketResource } from '../../src/service/contract/resources.ts'
import type { Armed } from '../agent.ts'
import { type Pins, pinDisagreement } from './pins.ts'
import type { MarketSeen } from './seen.ts'

/** What was read beside the service's row of a market. */
type MarketReadings = {
  readonly pins: Pins
  readonly signer: Address
  readonly oracle: MarketSeen['oracle']
  /** What arming said; undefined while it has not looked yet. */
  readonly armed: Armed | undefined
  /** Our wallet's rows, or null when they are not known. */
  readonly eligibility: readonly EligibilityResource[] | null
  readonly eligibilityStale: MarketSeen['eligibilityStale']
}

/** Whether a market asks who liquidates. Pure. */
export const isGated = (market: Pick<MarketResource, 'collateralGateEnabled'>): boolean =>
  market.collateralGateEnabled === true

/**
 * Describe a market to the agent. Pure. Symbols are the pinned deployment's own: policies name tokens by them, and the
 * service could call any token by any name. A market that differs from its pin is not armed.
 */
export function marketSeen(market: MarketResource, readings: MarketReadings): MarketSeen {
  const { pins } = readings
  const symbolOf = (token: Address | null | undefined) =>
    pins.assets.find(({ address }) => address === token)?.symbol ?? null
  const disagreement = pinDisagreement(market, pins)
  return {
    id: market.id,
    address: market.address,
    symbol: market.symbol ?? null,
    loanAsset: market.loanAssetAddress ?? null,
    loanDecimals: market.loanDecimals ?? null,
    loanSymbol: symbolOf(market.loanAssetAddress),
    loanPriceUsdMicros: usdMicros(market.loanAsset?.priceUsd),
    collateralAsset: market.collateralAssetAddress ?? null,
    collateralDecimals: market.collateralDecimals ?? null,
    collateralSymbol: symbolOf(market.collateralAssetAddress),
    oracleState: market.oracleState ?? null,
    marketRegimeState: market.marketRegimeState ?? null,
    marketLive: market.marketLive ?? null,
    paused: market.paused ?? null,
    collateralGateEnabled: market.collateralGateEnabled ?? null,
    liquidationThresholdBps: market.liquidationThresholdBps ?? null,
    closeFactorBps: market.closeFactorBps ?? null,
    liquidationBonusBps: market.liquidationBonusBps ?? null,
    priceWad:
      market.oracle?.priceWad === undefined || market.oracle.priceWad === null
        ? null
        : BigInt(market.oracle.priceWad),
    oracle: readings.oracle,
    armed:
      disagreement !== null
        ? { ok: false, message: disagreement }
        : (readings.armed ?? { ok: false, message: `Market ${market.address} is not checked yet.` }),
    eligible: eligibleIn(market, readings),
    eligibilityStale: readings.eligibilityStale,
  }
}

function eligibleIn(market: MarketResource, { eligibility, signer }: MarketReadings): boolean | null {
  if (!isGated(market) || eligibility === null) return null
  return eligibility.some(
    (row) =>
      row.chainId === market.chainId &&
      row.walletAddress === signer.toLowerCase() &&
      row.scopeAddress === market.address &&
      row.actionType === ELIGIBILITY.liquidate &&
      row.authorizationStatus === ELIGIBILITY.authorized,
  )
}

/** Parse a dollar price in plain decimals, as 10^-6 dollars, cut off; null when it is absent or anything else. */
function usdMicros(priceUsd: string | null | undefined): bigint | null {
  const [, whole, fraction = ''] = /^([0-9]{1,30})(?:\.([0-9]{1,30}))?$/.exec(priceUsd ?? '') ?? []
  return whole === undefined ? null : BigInt(whole + fraction.padEnd(6, '0').slice(0, 6))
}
