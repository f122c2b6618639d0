import { bestOf } from '../protocol/best-of.ts'
import { type Expectation, type Experience, expectError } from '../protocol/experience.ts'
import { BPS, ceilDiv, tokenUnit, WAD } from '../protocol/health.ts'
import { shadeAmong } from '../protocol/winners-curse.ts'
import type { Bidding, Lane } from './policy.ts'

const YEAR_S = 31_536_000n

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
  /** What comes back by the lane's averages alone: what came is compared with it. */
  readonly proceedsAssets: bigint
  /** What the money would earn elsewhere until it is back. */
  readonly capitalCostAssets: bigint
  readonly fixedCostAssets: bigint
  /** Worth less all of these; 0 where they eat it up. */
  readonly fairAssets: bigint
  /** What error is expected of `proceedsAssets`, a part of them, once it is won. */
  readonly expected: Expectation
  /** Fair, once it is won: what came of others counts. This is what is said of it. */
  readonly wonAssets: bigint
  /** Fair, when the next best is level with us, which is when a bid decides: what is bid rests on it. */
  readonly valueAssets: bigint
  /** The most to bid, so that the fee and the margin fit below that value too. */
  readonly limitAssets: bigint
}

/**
 * Value a position, and say the most to bid for it. Pure; every step rounds against us.
 * @param worthAssets at the market's price, base units of the quote asset.
 * @param rivals seen at the lot.
 * @param experience what became of positions by `names`, from the broadest to the narrowest.
 */
export function valuate(
  worthAssets: bigint,
  on: {
    readonly rivals: number
    readonly experience: readonly Experience[]
    readonly names: readonly string[]
  },
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
  const { expected, level } = learned(on, lane, policy)
  const corrected = (part: number) => atLeastZero((present * wadOf(1 + part)) / WAD - fixedCostAssets)
  const valueAssets = corrected(level)
  const paid = (BPS + BigInt(policy.purchaseFeeBps)) * (BPS + BigInt(policy.marginBps))
  return {
    worthAssets,
    haircutAssets: worthAssets - sold,
    unrecoveredAssets: sold - recovered,
    saleFeeAssets: recovered - proceeds,
    proceedsAssets: proceeds,
    capitalCostAssets: proceeds - present,
    fixedCostAssets,
    fairAssets: corrected(0),
    expected,
    wonAssets: corrected(expected.mean),
    valueAssets,
    limitAssets: (valueAssets * BPS * BPS) / paid,
  }
}

/**
 * What is expected of a position that is won among so many: by the uncertainty that the policy states the best of so many
 * guesses is too high; recoveries that came in correct that, and with it the lane's averages. `level` is the same for one
 * that is won against a guess as high as ours, which is less too high. Luck makes recoveries uncertain as well, and is no
 * reason to guess lower: of the noise measured and stated, the lower counts.
 */
function learned(
  { rivals, experience, names }: Parameters<typeof valuate>[1],
  { uncertaintyBps }: Lane,
  { rivalsExpected, experienceBpsMax }: Bidding,
) {
  const bidders = Math.max(rivals, rivalsExpected) + 1
  const best = bestOf(bidders)
  const stated = uncertaintyBps / 10_000
  const prior = { mean: -best.mean * stated, noise: best.noise * stated, most: experienceBpsMax / 10_000 }
  const expected = expectError(experience, names, prior)
  const noise = Math.min(stated, expected.noise / best.noise)
  const curse = Number(shadeAmong(bidders).curse) / 10_000
  return { expected, level: expected.mean + (best.mean - curse) * noise }
}

/** A part as a wad, at least zero; what a float rounds of it is far below a base unit of any bid. */
const wadOf = (part: number) => BigInt(Math.round(Math.max(0, part) * 1e12)) * 1_000_000n

const atLeastZero = (value: bigint) => (value > 0n ? value : 0n)

const less = (assets: bigint, bps: number) => (assets * (BPS - BigInt(bps))) / BPS
