import type { Address } from 'viem'
import { HEALTHY_ORACLE_STATE } from '../../src/service/contract/assumptions.ts'
import type { Stop } from '../agent.ts'
import { BPS } from '../protocol/health.ts'
import { priceStop } from '../protocol/price.ts'
import { percent, priceText } from '../protocol/text.ts'
import type { RfqBidderPolicy } from './policy.ts'
import type { Observed, PriceSeen } from './seen.ts'

/** An asset whose price may be acted on, with everything that turns it into amounts. */
export type Priced = {
  readonly asset: { readonly address: Address; readonly symbol: string; readonly decimals: number }
  readonly quote: {
    readonly address: Address
    readonly symbol: string
    readonly decimals: number
    readonly priceUsdMicros: bigint
  }
  /** Whole quote tokens for one whole asset token × 10^18. */
  readonly priceWad: bigint
  readonly terms: RfqBidderPolicy['assets'][string]
}

/**
 * Judge the price of an asset in a quote asset: every pinned market that has both must be in order, and the lowest of
 * their prices counts. Pure. Otherwise the first rule that stops it, by a stable name; what is not known stops it.
 */
export function priceOf(
  { asset: assetAddress, quoteAsset }: { readonly asset: Address; readonly quoteAsset: Address },
  seen: Observed,
  policy: RfqBidderPolicy,
): Priced | Stop {
  const { assets } = seen.deployment
  const asset = assets.find(({ address }) => address === assetAddress)
  const quote = assets.find(({ address }) => address === quoteAsset)
  const terms = asset === undefined ? undefined : policy.assets[asset.symbol]
  if (asset === undefined || terms === undefined) {
    const message = `The policy's assets do not list ${asset?.symbol ?? assetAddress}.`
    return { check: 'asset_not_allowed', message }
  }
  const paid = quote === undefined ? undefined : policy.quotes[quote.symbol]
  if (quote === undefined || paid === undefined) {
    const message = `The policy's quotes do not list ${quote?.symbol ?? quoteAsset}.`
    return { check: 'quote_not_allowed', message }
  }
  const sources = seen.prices.filter(
    (price) => price.asset === assetAddress && price.quoteAsset === quoteAsset,
  )
  if (sources.length === 0) {
    const message = `No pinned market prices ${asset.symbol} in ${quote.symbol}.`
    return { check: 'price_unknown', message }
  }
  const prices: bigint[] = []
  for (const source of sources) {
    const judged = judgeSource(source, seen, policy)
    if (typeof judged !== 'bigint') return judged
    prices.push(judged)
  }
  return {
    asset,
    quote: { ...quote, priceUsdMicros: paid.priceUsdMicros },
    priceWad: prices.reduce((least, price) => (price < least ? price : least)),
    terms,
  }
}

function judgeSource(source: PriceSeen, seen: Observed, policy: RfqBidderPolicy): bigint | Stop {
  const { market, oracle, reference, servicePriceWad } = source
  if (source.paused !== false) {
    const message = `Market ${market} is ${source.paused === null ? 'not known to be open' : 'paused'}.`
    return { check: 'market_paused', message }
  }
  if (source.serviceOracleState !== HEALTHY_ORACLE_STATE) {
    const message = `The service says the oracle is ${source.serviceOracleState}; it must be ${HEALTHY_ORACLE_STATE}.`
    return { check: 'oracle_not_healthy', message }
  }
  const own = priceStop(oracle, 'oracle', seen, policy)
  if (own !== null) return own
  const second = priceStop(reference, 'second source', seen, policy)
  if (second !== null) return second
  if (oracle === null || reference === null || servicePriceWad === null) {
    return { check: 'price_unknown', message: `The service states no price for market ${market}.` }
  }
  for (const [name, priceWad] of [
    ['service', servicePriceWad],
    ['second source', reference.priceWad],
  ] as const) {
    const apartWad = priceWad > oracle.priceWad ? priceWad - oracle.priceWad : oracle.priceWad - priceWad
    if (apartWad * BPS <= oracle.priceWad * BigInt(policy.priceDivergenceBpsMax)) continue
    const message = `The ${name} says ${priceText(priceWad)}, the oracle ${priceText(oracle.priceWad)}: more than ${percent(BigInt(policy.priceDivergenceBpsMax))} apart.`
    return { check: 'price_diverges', message }
  }
  return oracle.priceWad
}
