import { BPS, ceilDiv, collateralValue, tokenUnit, WAD } from '../protocol/health.ts'
import type { RfqBidderPolicy } from './policy.ts'
import type { Priced } from './price.ts'
import { shadeAmong } from './winners-curse.ts'

const YEAR_S = 31_536_000n
/** One basis point, as a wad. */
const BPS_WAD = WAD / BPS

/** What a lot is worth to us, base units of the quote asset; each from the one before. */
export type Worth = {
  /** At the oracle's price. */
  readonly markAssets: bigint
  /** Less exit haircut, inventory skew, and the cost of capital until it is sold. */
  readonly worthAssets: bigint
  /** Less the winner's curse among so many bidders. */
  readonly valueAssets: bigint
  /** Less spread, gas and the least gain: the most to bid. At least zero. */
  readonly limitAssets: bigint
  /** What is bid where nobody sees the others' bids: further below by the margin that first price asks. */
  readonly sealedAssets: bigint
  readonly haircutBps: number
  readonly skewBps: number
  readonly carryBps: number
  readonly bidders: number
  /** Of the bid, and of what ends it. */
  readonly gasAssets: bigint
}

/**
 * Value a lot. Pure. It rises with the price and falls with what we hold, with time, and with gas.
 * @param heldAssets what we hold of the asset, and may win elsewhere, without this lot; base units.
 * @param waitS from now until the lot is closed.
 * @param rivals that are seen.
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
  const noiseWad = BigInt(terms.signalNoiseBps) * BPS_WAD
  const valueAssets = without(worthAssets, (curse * noiseWad) / BPS)
  const inQuote = (usdMicros: bigint) => ceilDiv(usdMicros * tokenUnit(quote.decimals), quote.priceUsdMicros)
  const gasAssets = inQuote(on.gasUsdMicros)
  const costAssets = gasAssets + inQuote(policy.gainUsdMicrosMin)
  const kept = without(valueAssets, BigInt(policy.spreadBps) * BPS_WAD)
  const limitAssets = atLeastZero(kept - costAssets)
  // Where nobody else is expected, the reserve is the price.
  const shadedAssets =
    bidders === 1 ? 0n : atLeastZero(without(worthAssets, ((curse + margin) * noiseWad) / BPS) - costAssets)
  return {
    markAssets,
    worthAssets,
    valueAssets,
    limitAssets,
    sealedAssets: shadedAssets < limitAssets ? shadedAssets : limitAssets,
    haircutBps: terms.exitHaircutBps,
    skewBps: Number(skewWad / BPS_WAD),
    carryBps: Number(carryWad / BPS_WAD),
    bidders,
    gasAssets,
  }
}

const atLeastZero = (value: bigint) => (value > 0n ? value : 0n)

/** Less a part, given as a wad; rounded down. */
const without = (assets: bigint, partWad: bigint) => (assets * atLeastZero(WAD - partWad)) / WAD

/** Convert base units of a quote asset to millionths of a US dollar, rounded up. Pure. */
export const usdMicrosOf = (assets: bigint, quote: Priced['quote']): bigint =>
  ceilDiv(assets * quote.priceUsdMicros, tokenUnit(quote.decimals))

/** The most base units of a quote asset that so many millionths of a US dollar pay for. Pure. */
export const assetsFor = (usdMicros: bigint, quote: Priced['quote']): bigint =>
  (atLeastZero(usdMicros) * tokenUnit(quote.decimals)) / quote.priceUsdMicros
