import type { Address } from 'viem'
import type { ExpectedGain, Reason } from '../../src/workflow/proposal.ts'
import type { Moment } from '../agent.ts'
import { type Expectation, expectError } from '../protocol/experience.ts'
import { collateralValue } from '../protocol/health.ts'
import type { OpenMarket } from './market.ts'
import type { LiquidatorPolicy } from './policy.ts'
import { type Quote, usdMicros } from './size-search.ts'

const BPS = 10_000
const USD_MILLION_MICROS = 1e12

/** What is learned of a collateral in a market, the broadest name first: of what was seized, and of what was sold. */
const seizedOf = ({ collateralSymbol }: OpenMarket, marketAddress: Address) => [
  'liquidation',
  `collateral:${collateralSymbol}`,
  `market:${marketAddress}`,
]
const soldOf = ({ collateralSymbol, loanSymbol }: OpenMarket) => [
  'sale',
  `sale:${collateralSymbol}/${loanSymbol}`,
]

/** What is said of a liquidation: that what it seizes is still worth the same once it is there. Pure. */
export function seizureGain(
  market: OpenMarket,
  marketAddress: Address,
  { seizeAssets, seizeValueAssets }: Quote,
): ExpectedGain {
  const worthUsdMicros = usdMicros(seizeValueAssets, market)
  const brings = { token: market.collateralAsset, assets: seizeAssets }
  return { of: seizedOf(market, marketAddress), worthUsdMicros, markUsdMicros: worthUsdMicros, brings }
}

/** What is said of a sale: what the policy's haircut leaves, which liquidations were counted on. Pure. */
export function saleGain(
  market: OpenMarket,
  sold: { readonly assets: bigint; readonly quoted: bigint },
  { collaterals }: LiquidatorPolicy,
): ExpectedGain | undefined {
  const terms = collaterals[market.collateralSymbol]
  if (terms === undefined) return undefined
  const markUsdMicros = usdMicros(collateralValue(sold.assets, market.price), market)
  const perMillion = (terms.exitHaircutPerMillionUsdBps * Number(markUsdMicros)) / USD_MILLION_MICROS
  const kept = Math.max(0, BPS - terms.exitHaircutBaseBps - Math.round(perMillion))
  const brings = { token: market.loanAsset, assets: sold.quoted }
  return {
    of: soldOf(market),
    worthUsdMicros: (markUsdMicros * BigInt(kept)) / BigInt(BPS),
    markUsdMicros,
    brings,
  }
}

type Collateral = LiquidatorPolicy['collaterals'][string]

/** What experience takes off what a collateral is expected to be sold for, and what is behind it. */
export type Learned = { readonly bps: number; readonly seized: Expectation; readonly sold: Expectation }

/**
 * Lower what a collateral is expected to be sold for by what came of others: by how much less it was worth
 * once it was there, and by how much less sales paid. At most by the discount that the policy lets a sale have; that things
 * went well raises nothing. Pure.
 */
export function withExperience(
  collateral: Collateral,
  market: OpenMarket,
  marketAddress: Address,
  experience: Moment['experience'],
  { exitDiscountBpsMax }: LiquidatorPolicy,
): { readonly collateral: Collateral; readonly learned: Learned } {
  const prior = { mean: 0, noise: 0, most: exitDiscountBpsMax / BPS }
  const seized = expectError(experience, seizedOf(market, marketAddress), prior)
  const sold = expectError(experience, soldOf(market), prior)
  const missing = Math.round(-(seized.mean + sold.mean) * BPS)
  const bps = Math.min(exitDiscountBpsMax, Math.max(0, missing))
  return {
    collateral: { ...collateral, exitHaircutBaseBps: collateral.exitHaircutBaseBps + bps },
    learned: { bps, seized, sold },
  }
}

/** How that is shown. Pure. */
export const reasonOf = ({ bps, seized, sold }: Learned): Reason => ({
  learnedBps: bps,
  seizedExpectedBps: Math.round(seized.mean * BPS),
  seizedExpectedBy: seized.basis,
  seizedCases: Math.round(seized.won),
  soldExpectedBps: Math.round(sold.mean * BPS),
  soldExpectedBy: sold.basis,
  soldCases: Math.round(sold.won),
})
