import type { FacilitySeen, MarketSeen, Observation, PassedOver } from '../../src/agent.ts'
import { healthFactorWad, type Price, WAD } from '../../src/protocol/health.ts'
import type { LiquidatorPolicy } from './policy.ts'
import { dollars, health } from './text.ts'

/** The oracle's own code for a price that its feeder vouches for. */
const ORACLE_HEALTHY = 1

/** A position that may be liquidated, with every figure known. */
export type Candidate = {
  readonly subject: string
  readonly facility: FacilitySeen
  readonly figures: Figures
  readonly price: Price
  /** What the policy says of its collateral. */
  readonly collateral: LiquidatorPolicy['collaterals'][string]
  readonly healthFactorWad: bigint
}

type Figures = Known<ReturnType<typeof figuresOf>>
type Known<T> = { readonly [K in keyof T]: NonNullable<T[K]> }

/** Name a facility, as workflows and `explain` do: `market:vault:borrower`, lower case. Pure. */
export const facilitySubject = (facility: FacilitySeen): string =>
  `${facility.marketAddress}:${facility.vaultAddress}:${facility.borrower}`.toLowerCase()

/** Name a borrower in a market: its collateral is one, whichever vault it owes. Pure. */
export const positionKey = (marketAddress: string, borrower: string): string =>
  `${marketAddress}:${borrower}`.toLowerCase()

/** An observation and what a decision looks up in it again and again. */
export type Context = {
  readonly seen: Observation
  readonly policy: LiquidatorPolicy
  /** By lower-case address. */
  readonly markets: ReadonlyMap<string, MarketSeen>
  /** Subjects and positions that a workflow of ours is about, so that nothing is proposed twice. */
  readonly busy: ReadonlySet<string>
  /** What we hold or are about to hold, base units by token; null when some of it cannot be attributed. */
  readonly held: ReadonlyMap<string, bigint> | null
}

type Stop = Pick<PassedOver, 'check' | 'message'> & Partial<PassedOver>

/**
 * Judge one facility: a candidate, or the first rule that stops it, by a stable name. Pure. Whatever is unknown stops
 * it; nothing is assumed.
 */
export function judge(facility: FacilitySeen, context: Context): Candidate | PassedOver {
  const { seen, policy } = context
  const subject = facilitySubject(facility)
  const stop = (found: Stop): PassedOver => ({ subject, reason: {}, ...found })
  const market = context.markets.get(facility.marketAddress.toLowerCase())

  if (market === undefined) {
    return stop({
      check: 'market_unknown',
      message: `The service lists no market ${facility.marketAddress}.`,
    })
  }
  const closed = marketStop(market)
  if (closed !== null) return stop(closed)
  const figures = figuresOf(facility, market, context)
  if (!isKnown(figures)) {
    const missing = Object.entries(figures).filter(([, value]) => value === null)
    const names = missing.map(([name]) => name).join(', ')
    return stop({ check: 'missing_figures', message: `Not known: ${names}.`, reason: { missing: names } })
  }
  const unpriced = priceStop(figures, seen, policy)
  if (unpriced !== null) return stop(unpriced)
  const blocked = recoveryStop(facility)
  if (blocked !== null) return stop(blocked)

  const price: Price = { priceWad: figures.oracle.priceWad, ...figures }
  const factorWad = healthFactorWad({ ...figures, debtAssets: figures.positionDebtAssets }, price)
  const reason = {
    healthFactorWad: String(factorWad),
    priceWad: String(price.priceWad),
    positionDebtAssets: String(figures.positionDebtAssets),
    collateralAssets: String(figures.collateralAssets),
  }
  const near = Number(WAD) / Number(factorWad)
  if (factorWad >= WAD) {
    const message = `Health ${health(factorWad)} is not below 1.`
    return stop({ check: 'health_above_one', message, reason, near })
  }
  if (facility.recovery === null) {
    const message = 'The service does not list it for recovery (yet).'
    return stop({ check: 'recovery_not_listed', message, reason })
  }
  const position = positionKey(facility.marketAddress, facility.borrower)
  if (context.busy.has(subject) || context.busy.has(position)) {
    const message = 'A workflow of ours for this borrower is under way.'
    return stop({ check: 'already_in_flight', message, reason })
  }
  const collateral = policy.collaterals[figures.collateralSymbol]
  if (collateral === undefined) {
    const message = `The policy's collaterals do not list ${figures.collateralSymbol}.`
    return stop({ check: 'collateral_not_allowed', message, reason })
  }
  return { subject, facility, figures, price, collateral, healthFactorWad: factorWad }
}

const figuresOf = (facility: FacilitySeen, market: MarketSeen, { seen, held }: Context) => ({
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
  debtAssets: facility.debtAssets,
  positionDebtAssets: facility.positionDebtAssets,
  collateralAssets: facility.collateralAssets,
  debtShares: facility.debtShares,
  loanBalance: balanceOf(seen, market.loanAsset),
  collateralBalance: balanceOf(seen, market.collateralAsset),
  inventory: held,
})

const balanceOf = (seen: Observation, token: `0x${string}` | null) =>
  token === null ? null : (seen.balances[token] ?? null)

const isKnown = <T extends object>(figures: T): figures is T & Known<T> =>
  Object.values(figures).every((value) => value !== null)

/** What closes the market to us, whoever the borrower is. A flag that is not known closes it. */
function marketStop(market: MarketSeen): Stop | null {
  if (!market.armed.ok) return { check: 'market_unarmed', message: market.armed.message }
  if (market.paused !== false) {
    return { check: 'market_paused', message: `paused is ${market.paused}; it must be false.` }
  }
  if (market.marketLive !== true) {
    return { check: 'market_not_live', message: `marketLive is ${market.marketLive}; it must be true.` }
  }
  if (market.marketRegimeState !== 'normal') {
    const message = `marketRegimeState is ${market.marketRegimeState}; it must be normal.`
    return { check: 'regime_not_normal', message }
  }
  if (market.oracleState !== 'healthy') {
    const message = `The service says the oracle is ${market.oracleState}; it must be healthy.`
    return { check: 'oracle_not_healthy', message }
  }
  const open = market.collateralGateEnabled === false
  if (!open && market.eligible !== true) {
    const message = `collateralGateEnabled is ${market.collateralGateEnabled} and our eligibility is ${market.eligible}.`
    return { check: 'not_eligible', message }
  }
  return null
}

function priceStop(figures: Figures, seen: Observation, policy: LiquidatorPolicy): Stop | null {
  const { oracle, servicePriceWad } = figures
  if (oracle.state !== ORACLE_HEALTHY || oracle.priceWad <= 0n) {
    const message = `Our reading of the oracle is state ${oracle.state}, price ${oracle.priceWad}; state 1 and a price are needed.`
    return { check: 'oracle_not_healthy', message }
  }
  // Read beside the head, a price may be a block newer than it; one that lies further ahead is as wrong as an old one.
  const ageS = Math.abs(seen.chain.timestampS - oracle.sourceAsOfS)
  if (ageS > policy.priceAgeSMax) {
    const message = `The price is ${ageS} s from the head's time; the policy allows ${policy.priceAgeSMax} s.`
    return { check: 'price_too_old', message, reason: { priceAgeS: ageS } }
  }
  const apart = servicePriceWad - oracle.priceWad
  const apartWad = apart < 0n ? -apart : apart
  if (apartWad * 10_000n > oracle.priceWad * BigInt(policy.priceDivergenceBpsMax)) {
    const message = `The service's price ${servicePriceWad} and the oracle's ${oracle.priceWad} lie more than ${policy.priceDivergenceBpsMax} bps apart.`
    return { check: 'price_diverges', message }
  }
  const band = policy.loans[figures.loanSymbol]
  if (band === undefined) {
    return { check: 'loan_not_allowed', message: `The policy's loans do not list ${figures.loanSymbol}.` }
  }
  const usd = figures.loanPriceUsdMicros
  if (usd < band.priceUsdMicrosMin || usd > band.priceUsdMicrosMax) {
    const message = `${figures.loanSymbol} at ${dollars(usd)} lies outside of the policy's ${dollars(band.priceUsdMicrosMin)} to ${dollars(band.priceUsdMicrosMax)}.`
    return { check: 'loan_price_out_of_band', message }
  }
  return null
}

/** What the service holds against it. No item at all is judged after health: a healthy borrower has none. */
function recoveryStop({ recovery }: FacilitySeen): Stop | null {
  if (recovery === null) return null
  if (recovery.blockedReason !== null) {
    return { check: 'recovery_blocked', message: `The service blocks it: ${recovery.blockedReason}.` }
  }
  if (recovery.executable !== true || recovery.liquidatable !== true) {
    const message = `The service says liquidatable ${recovery.liquidatable}, executable ${recovery.executable}; both must be true.`
    return { check: 'recovery_not_executable', message }
  }
  return null
}
