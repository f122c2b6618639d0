import { BPS, ceilDiv, tokenUnit } from '../protocol/health.ts'
import type { Bidding, Lane } from './policy.ts'

const YEAR_S = 31_536_000n

/**
 * How far the two highest of n equally uncertain guesses lie above the truth on average, in thousandths of their
 * standard deviation, from one guess on: half the sum of the two largest of n standard normals, rounded up. In an
 * ascending sale our limit is what we pay when the last rival stops right below it: then both guess alike.
 */
const LEADERS_ABOVE_TRUTH = [
  0, 0, 424, 664, 829, 955, 1_055, 1_138, 1_209, 1_271, 1_325, 1_373, 1_417, 1_456, 1_492, 1_526, 1_557,
  1_586, 1_613, 1_638, 1_662,
] as const

/** The asset that a fund pays in; `priceUsdMicros` is what a whole one counts as. */
export type Quote = {
  readonly address: `0x${string}`
  readonly symbol: string
  readonly decimals: number
  readonly priceUsdMicros: bigint
}

/** What a position is worth to us, step by step; base units of the quote asset. */
export type Valuation = {
  /** At the market's price. */
  readonly worthAssets: bigint
  readonly haircutAssets: bigint
  readonly unrecoveredAssets: bigint
  readonly saleFeeAssets: bigint
  /** What the money would earn elsewhere until it is back. */
  readonly capitalCostAssets: bigint
  readonly fixedCostAssets: bigint
  /** Worth less all of these; 0 where they eat it up. */
  readonly fairAssets: bigint
  /** Off the fair value, because the bidder that leads has likely guessed too high. */
  readonly shadeBps: bigint
  /** The most to bid, so that the fee and the margin fit below the shaded value too. */
  readonly limitAssets: bigint
}

/**
 * Value a position, and say the most to bid for it. Pure; every step rounds against us.
 * @param worthAssets at the market's price, base units of the quote asset.
 * @param rivals seen at the lot.
 */
export function valuate(
  worthAssets: bigint,
  rivals: number,
  lane: Lane,
  quote: Quote,
  policy: Bidding,
): Valuation {
  const sold = less(worthAssets, lane.haircutBps)
  const recovered = (sold * BigInt(lane.recoveryBps)) / BPS
  const proceeds = less(recovered, policy.saleFeeBps)
  const growth = BPS * YEAR_S
  const dearness = BigInt(policy.capitalCostBpsPerYear) * BigInt(lane.recoveryS)
  const present = (proceeds * growth) / (growth + dearness)
  const fixedCostAssets = ceilDiv(policy.costUsdMicros * tokenUnit(quote.decimals), quote.priceUsdMicros)
  const fairAssets = present > fixedCostAssets ? present - fixedCostAssets : 0n
  const shadeBps = shadeOf(lane, rivals, policy)
  const paid = (BPS + BigInt(policy.purchaseFeeBps)) * (BPS + BigInt(policy.marginBps))
  return {
    worthAssets,
    haircutAssets: worthAssets - sold,
    unrecoveredAssets: sold - recovered,
    saleFeeAssets: recovered - proceeds,
    capitalCostAssets: proceeds - present,
    fixedCostAssets,
    fairAssets,
    shadeBps,
    limitAssets: (fairAssets * (BPS - shadeBps) * BPS) / paid,
  }
}

/** For as many rivals as are seen, or expected where fewer are; at most everything. */
function shadeOf({ uncertaintyBps }: Lane, rivals: number, { rivalsExpected }: Bidding): bigint {
  const bidders = Math.min(Math.max(rivals, rivalsExpected), LEADERS_ABOVE_TRUTH.length - 1)
  const above = BigInt(LEADERS_ABOVE_TRUTH[bidders] ?? 0)
  const shade = ceilDiv(BigInt(uncertaintyBps) * above, 1_000n)
  return shade < BPS ? shade : BPS
}

const less = (assets: bigint, bps: number) => (assets * (BPS - BigInt(bps))) / BPS
