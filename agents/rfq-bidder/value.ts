import { bestOf } from '../protocol/best-of.ts'
import { type Expectation, type Experience, expectError } from '../protocol/experience.ts'
import { BPS, ceilDiv, collateralValue, tokenUnit, WAD } from '../protocol/health.ts'
import { shadeAmong } from '../protocol/winners-curse.ts'
import type { RfqBidderPolicy } from './policy.ts'
import type { Priced } from './price.ts'

const YEAR_S = 31_536_000n
/** One basis point, as a wad. */
const BPS_WAD = WAD / BPS

/** What a lot is worth to us, base units of the quote asset; each from the one before. */
export type Worth = {
  /** At the oracle's price. */
  readonly markAssets: bigint
  /** Less exit haircut, inventory skew, and the cost of capital until it is sold. */
  readonly worthAssets: bigint
  /** What it is worth once we have won it: what came of others counts. This is what is said of it. */
  readonly wonAssets: bigint
  /** What it is worth when the next best is level with us, which is when a bid decides: what is bid rests on it. */
  readonly valueAssets: bigint
  /** Less spread, gas and the least gain: the most to bid. At least zero. */
  readonly limitAssets: bigint
  /** What is bid where nobody sees the others' bids: further below by the margin that first price asks. */
  readonly sealedAssets: bigint
  readonly haircutBps: number
  readonly skewBps: number
  readonly carryBps: number
  readonly bidders: number
  /** What is expected of `worthAssets`, a part of `markAssets`, once it is won. */
  readonly expected: Expectation
  /** Of the bid, and of what ends it. */
  readonly gasAssets: bigint
}

/**
 * Value a lot. Pure. It rises with the price and falls with what we hold, with time, and with gas.
 * @param heldAssets what we hold of the asset, and may win elsewhere, without this lot; base units.
 * @param waitS from now until the lot is closed.
 * @param rivals that are seen.
 * @param experience what became of lots by `names`.
 * @param gasUsdMicros of the bid, and of what ends it.
 */
export function worthOf(
  amount: bigint,
  { priceWad, asset, quote, terms }: Priced,
  on: {
    readonly heldAssets: bigint
    readonly waitS: number
    readonly rivals: number
    readonly gasUsdMicros: bigint
    readonly experience: readonly Experience[]
    readonly names: readonly string[]
  },
  policy: RfqBidderPolicy,
): Worth {
  const price = { priceWad, loanDecimals: quote.decimals, collateralDecimals: asset.decimals }
  const markAssets = collateralValue(amount, price)
  const after = on.heldAssets + amount
  const fullness = after < terms.inventoryAssetsMax ? after : terms.inventoryAssetsMax
  const skewWad = (BigInt(terms.inventorySkewBps) * BPS_WAD * fullness) / terms.inventoryAssetsMax
  const heldS = BigInt(on.waitS + policy.exitS)
  const carryWad = (BigInt(policy.capitalCostBpsPerYear) * BPS_WAD * heldS) / YEAR_S
  const haircutWad = BigInt(terms.exitHaircutBps) * BPS_WAD
  const worthAssets = without(markAssets, haircutWad + skewWad + carryWad)

  const bidders = Math.max(on.rivals, policy.rivalsMin) + 1
  const { curse, margin } = shadeAmong(bidders)
  const { expected, noise, beyond } = learned(bidders, on, terms, policy)
  const noiseWad = wadOf(noise)
  const beyondAssets = (markAssets * wadOf(beyond)) / WAD
  const shaded = (parts: bigint) => without(worthAssets, (parts * noiseWad) / BPS) + beyondAssets
  const valueAssets = atLeastZero(shaded(curse))
  const inQuote = (usdMicros: bigint) => ceilDiv(usdMicros * tokenUnit(quote.decimals), quote.priceUsdMicros)
  const gasAssets = inQuote(on.gasUsdMicros)
  const costAssets = gasAssets + inQuote(policy.gainUsdMicrosMin)
  const kept = without(valueAssets, BigInt(policy.spreadBps) * BPS_WAD)
  const wonAssets = atLeastZero(worthAssets + (markAssets * wadOf(expected.mean)) / WAD)
  const limitAssets = atLeastZero(kept - costAssets)
  // Where nobody else is expected, the reserve is the price.
  const shadedAssets = bidders === 1 ? 0n : atLeastZero(shaded(curse + margin) - costAssets)
  return {
    markAssets,
    worthAssets,
    wonAssets,
    valueAssets,
    limitAssets,
    sealedAssets: shadedAssets < limitAssets ? shadedAssets : limitAssets,
    haircutBps: terms.exitHaircutBps,
    skewBps: Number(skewWad / BPS_WAD),
    carryBps: Number(carryWad / BPS_WAD),
    bidders,
    expected,
    gasAssets,
  }
}

/**
 * What is expected of a lot that is won among so many: by the noise that the policy states the best of so many guesses is
 * too high; what came of others corrects both. `beyond` is what having won does not explain: rivals who know more than
 * we, sellers who choose what they sell. It lowers what is bid; that things went well raises what is said alone.
 */
function learned(
  bidders: number,
  { experience, names }: { readonly experience: readonly Experience[]; readonly names: readonly string[] },
  { signalNoiseBps }: Priced['terms'],
  { shadeBpsMax }: RfqBidderPolicy,
) {
  const best = bestOf(bidders)
  const stated = signalNoiseBps / 10_000
  const prior = { mean: -best.mean * stated, noise: best.noise * stated, most: shadeBpsMax / 10_000 }
  const expected = expectError(experience, names, prior)
  const noise = expected.noise / best.noise
  return { expected, noise, beyond: Math.min(0, expected.mean + best.mean * noise) }
}

/** A part as a wad; what a float rounds of it is far below a base unit of any bid. */
const wadOf = (part: number) => BigInt(Math.round(part * 1e12)) * 1_000_000n

const atLeastZero = (value: bigint) => (value > 0n ? value : 0n)

/** Less a part, given as a wad; rounded down. */
const without = (assets: bigint, partWad: bigint) => (assets * atLeastZero(WAD - partWad)) / WAD

/** Convert base units of a quote asset to millionths of a US dollar, rounded up. Pure. */
export const usdMicrosOf = (assets: bigint, quote: Priced['quote']): bigint =>
  ceilDiv(assets * quote.priceUsdMicros, tokenUnit(quote.decimals))

/** The most base units of a quote asset that so many millionths of a US dollar pay for. Pure. */
export const assetsFor = (usdMicros: bigint, quote: Priced['quote']): bigint =>
  (atLeastZero(usdMicros) * tokenUnit(quote.decimals)) / quote.priceUsdMicros
