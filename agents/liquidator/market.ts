import { span, usd } from '../../src/readable.js'
import { HEALTHY_ORACLE_STATE, NORMAL_MARKET_REGIME } from '../../src/service/contract/assumptions.ts'
import type { Observation, PassedOver } from '../agent.ts'
import type { Price } from '../protocol/health.ts'
import { ORACLE_HEALTHY } from '../protocol/lending-views.ts'
import { percent, priceText } from '../protocol/text.ts'
import type { LiquidatorPolicy } from './policy.ts'
import { isKnown, type KnownFigures, missingFigures } from './require-figures.ts'
import type { LiquidatorSeen, MarketSeen } from './seen.ts'

/** Why something is left alone: a stable name, a sentence, and the numbers behind it. */
export type Stop = Pick<PassedOver, 'check' | 'message'> & Partial<Pick<PassedOver, 'reason' | 'near'>>

/** A market that may be acted in, with every figure known, at our own reading of its price. */
export type OpenMarket = KnownFigures<MarketFigures> & {
  readonly price: Price
  /** What the second source says; null where the policy names none. */
  readonly secondPriceWad: bigint | null
}
type MarketFigures = ReturnType<typeof figuresOf>

/**
 * Judge a market apart from its borrowers: open, or the first rule that closes it, by a stable name. Pure. What is
 * not known closes it.
 * @param inventoryKnown whether everything that we hold or await is attributed to its token.
 */
export function judgeMarket(
  market: MarketSeen,
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
  inventoryKnown: boolean,
): OpenMarket | Stop {
  const closed = marketStop(market)
  if (closed !== null) return closed
  const figures = figuresOf(market, seen, inventoryKnown)
  if (!isKnown(figures)) return missingFigures(figures)
  const { loanDecimals, collateralDecimals, oracle } = figures
  const price = { priceWad: oracle.priceWad, loanDecimals, collateralDecimals }
  const stop = priceStop(figures, seen, policy)
  if (stop !== null) return stop
  const second = secondPriceOf(figures, seen, policy)
  return typeof second === 'object' && second !== null
    ? second
    : { ...figures, price, secondPriceWad: second }
}

const figuresOf = (market: MarketSeen, seen: Observation<LiquidatorSeen>, inventoryKnown: boolean) => ({
  loanAsset: market.loanAsset,
  loanSymbol: market.loanSymbol,
  loanDecimals: market.loanDecimals,
  loanPriceUsdMicros: market.loanPriceUsdMicros,
  collateralAsset: market.collateralAsset,
  collateralSymbol: market.collateralSymbol,
  collateralDecimals: market.collateralDecimals,
  liquidationThresholdBps: market.liquidationThresholdBps,
  closeFactorBps: market.closeFactorBps,
  liquidationBonusBps: market.liquidationBonusBps,
  servicePriceWad: market.priceWad,
  oracle: market.oracle,
  loanBalance: balanceOf(seen, market.loanAsset),
  collateralBalance: balanceOf(seen, market.collateralAsset),
  inventory: inventoryKnown ? true : null,
})

const balanceOf = (seen: Observation<LiquidatorSeen>, token: `0x${string}` | null) =>
  token === null ? null : (seen.balances[token] ?? null)

/** The flags that close it. */
function marketStop(market: MarketSeen): Stop | null {
  if (!market.armed.ok) return { check: 'market_unarmed', message: market.armed.message }
  if (market.paused !== false) {
    return { check: 'market_paused', message: `paused is ${market.paused}; it must be false.` }
  }
  if (market.marketLive !== true) {
    return { check: 'market_not_live', message: `marketLive is ${market.marketLive}; it must be true.` }
  }
  if (market.marketRegimeState !== NORMAL_MARKET_REGIME) {
    const message = `marketRegimeState is ${market.marketRegimeState}; it must be ${NORMAL_MARKET_REGIME}.`
    return { check: 'regime_not_normal', message }
  }
  if (market.oracleState !== HEALTHY_ORACLE_STATE) {
    const message = `The service says the oracle is ${market.oracleState}; it must be ${HEALTHY_ORACLE_STATE}.`
    return { check: 'oracle_not_healthy', message }
  }
  const open = market.collateralGateEnabled === false
  if (!open && market.eligibilityStale !== null) {
    return { check: 'eligibility_not_fresh', message: market.eligibilityStale }
  }
  if (!open && market.eligible !== true) {
    const message = `collateralGateEnabled is ${market.collateralGateEnabled} and our eligibility is ${market.eligible}.`
    return { check: 'not_eligible', message }
  }
  return null
}

function priceStop(
  figures: KnownFigures<MarketFigures>,
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
): Stop | null {
  const { oracle, servicePriceWad } = figures
  if (oracle.state !== ORACLE_HEALTHY || oracle.priceWad <= 0n) {
    const message = `Our reading of the oracle is state ${oracle.state}, price ${priceText(oracle.priceWad)}; state 1 and a price are needed.`
    return { check: 'oracle_not_healthy', message }
  }
  // Read beside the head, a price may be a block newer than it; one that lies further ahead is as wrong as an old one.
  const ageS = Math.abs(seen.chain.timestampS - oracle.sourceAsOfS)
  if (ageS > policy.priceAgeSMax) {
    const message = `The price is ${span(ageS * 1_000)} from the head's time; the policy allows ${span(policy.priceAgeSMax * 1_000)}.`
    return { check: 'price_too_old', message, reason: { priceAgeS: ageS } }
  }
  const apart = servicePriceWad - oracle.priceWad
  const apartWad = apart < 0n ? -apart : apart
  if (apartWad * 10_000n > oracle.priceWad * BigInt(policy.priceDivergenceBpsMax)) {
    const message = `The service's price ${priceText(servicePriceWad)} and the oracle's ${priceText(oracle.priceWad)} lie more than ${percent(BigInt(policy.priceDivergenceBpsMax))} apart.`
    return { check: 'price_diverges', message }
  }
  const band = policy.loans[figures.loanSymbol]
  if (band === undefined) {
    return { check: 'loan_not_allowed', message: `The policy's loans do not list ${figures.loanSymbol}.` }
  }
  const priceUsdMicros = figures.loanPriceUsdMicros
  if (priceUsdMicros < band.priceUsdMicrosMin || priceUsdMicros > band.priceUsdMicrosMax) {
    const message = `${figures.loanSymbol} at ${usd(priceUsdMicros)} lies outside of the policy's ${usd(band.priceUsdMicrosMin)} to ${usd(band.priceUsdMicrosMax)}.`
    return { check: 'loan_price_out_of_band', message }
  }
  return null
}

/** The second source's price if it may be compared with and agrees; null where the policy wants none. */
function secondPriceOf(
  { oracle, collateralSymbol, loanSymbol }: KnownFigures<MarketFigures>,
  { chain, references }: Observation<LiquidatorSeen>,
  { secondPrice }: LiquidatorPolicy,
): bigint | null | Stop {
  if (secondPrice === 'none') return null
  const missing = (why: string): Stop => ({
    check: 'price_source_missing',
    message: `The second price ${why}.`,
  })
  const pair = `${collateralSymbol}/${loanSymbol}`
  const terms = secondPrice[pair]
  if (terms === undefined)
    return missing(`of ${pair} has no source. Fix: name one in secondPrice, or none for all`)
  const read = references[terms.contract] ?? null
  if (read === null) return missing(`of ${pair} could not be read at ${terms.contract}`)
  if (read.state !== ORACLE_HEALTHY || read.priceWad <= 0n)
    return missing(
      `of ${pair} is state ${read.state}, price ${priceText(read.priceWad)}; state 1 and a price are needed`,
    )
  const ageS = Math.abs(chain.timestampS - read.sourceAsOfS)
  if (ageS > terms.ageSMax)
    return missing(
      `of ${pair} is ${span(ageS * 1_000)} from the head's time; the policy allows ${span(terms.ageSMax * 1_000)}`,
    )
  const apart = read.priceWad - oracle.priceWad
  const apartWad = apart < 0n ? -apart : apart
  if (apartWad * 10_000n <= oracle.priceWad * BigInt(terms.divergenceBpsMax)) return read.priceWad
  return {
    check: 'price_sources_diverge',
    message: `${terms.contract} says ${priceText(read.priceWad)} and the oracle ${priceText(oracle.priceWad)}, more than ${percent(BigInt(terms.divergenceBpsMax))} apart.`,
    reason: { priceWad: String(oracle.priceWad), secondPriceWad: String(read.priceWad) },
  }
}
