import { usd } from '../../src/readable.js'
import type { Moment, PassedOver } from '../agent.ts'
import { healthFactorWad, WAD } from '../protocol/health.ts'
import { unpaidDebt } from '../protocol/liquidation.ts'
import { tokens } from '../protocol/text.ts'
import { type Learned, withExperience } from './experience.ts'
import type { OpenMarket, Stop } from './market.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { BackOff, BackOffs } from './races.ts'
import { isKnown, type KnownFigures, missingFigures } from './require-figures.ts'
import type { FacilitySeen } from './seen.ts'
import { usdMicros } from './size-search.ts'
import { health } from './text.ts'

/** A position that may be liquidated, with every figure known. */
export type Candidate = {
  readonly subject: string
  readonly facility: FacilitySeen
  readonly market: OpenMarket
  readonly figures: KnownFigures<ReturnType<typeof figuresOf>>
  /** What the policy says of its collateral, and what experience adds to its haircut. */
  readonly collateral: LiquidatorPolicy['collaterals'][string]
  readonly learned: Learned
  readonly healthFactorWad: bigint
  /** Debt that no collateral will pay for in any liquidation, base units. */
  readonly unpaidAssets: bigint
}

/** Name a facility, as workflows and `explain` do: `market:vault:borrower`, lower case. Pure. */
export const facilitySubject = (facility: FacilitySeen): string =>
  `${facility.marketAddress}:${facility.vaultAddress}:${facility.borrower}`.toLowerCase()

/** Name a borrower in a market: its collateral is one, whichever vault it owes. Pure. */
export const positionKey = (marketAddress: string, borrower: string): string =>
  `${marketAddress}:${borrower}`.toLowerCase()

/**
 * Judge one facility: a candidate, or the first rule that stops it, by a stable name. Pure. Whatever is unknown stops
 * it; nothing is assumed.
 * @param market its market as judged, undefined when the service lists none.
 * @param busy subjects and positions that a workflow of ours is about, so that nothing is proposed twice.
 * @param backOffs what is left alone for now after lost races.
 * @param experience what came of what was seized and sold before.
 */
export function judge(
  facility: FacilitySeen,
  market: OpenMarket | Stop | undefined,
  policy: LiquidatorPolicy,
  busy: ReadonlySet<string>,
  backOffs: BackOffs,
  experience: Moment['experience'],
): Candidate | PassedOver {
  const subject = facilitySubject(facility)
  const stop = (found: Stop): PassedOver => ({ subject, reason: {}, ...found })
  if (market === undefined) {
    const message = `The service lists no market ${facility.marketAddress}.`
    return stop({ check: 'market_unknown', message })
  }
  if ('check' in market) return stop(market)
  const figures = figuresOf(facility)
  if (!isKnown(figures)) return stop(missingFigures(figures))
  const blocked = recoveryStop(facility)
  if (blocked !== null) return stop(blocked)

  const { collateralAssets, positionDebtAssets } = figures
  const { liquidationThresholdBps, price } = market
  const factorWad = healthFactorWad(
    { collateralAssets, debtAssets: positionDebtAssets, liquidationThresholdBps },
    price,
  )
  const reason = {
    healthFactorWad: String(factorWad),
    priceWad: String(price.priceWad),
    positionDebtAssets: String(positionDebtAssets),
    collateralAssets: String(collateralAssets),
  }
  if (factorWad >= WAD) {
    const message = `Health ${health(factorWad)} is not below 1.`
    return stop({ check: 'health_above_one', message, reason, near: Number(WAD) / Number(factorWad) })
  }
  if (facility.recovery === null) {
    const message = 'The service does not list it for recovery (yet).'
    return stop({ check: 'recovery_not_listed', message, reason })
  }
  if (busy.has(subject) || busy.has(positionKey(facility.marketAddress, facility.borrower))) {
    const message = 'A workflow of ours for this borrower is under way.'
    return stop({ check: 'already_in_flight', message, reason })
  }
  const backOff = backOffs.subjects.get(subject) ?? backOffs.markets.get(facility.marketAddress)
  if (backOff !== undefined) return stop({ ...lostRace(backOff), reason: { ...reason, ...backOff } })
  const collateral = policy.collaterals[market.collateralSymbol]
  if (collateral === undefined) {
    const message = `The policy's collaterals do not list ${market.collateralSymbol}.`
    return stop({ check: 'collateral_not_allowed', message, reason })
  }
  const unpaidAssets = unpaidDebt(positionDebtAssets, collateralAssets, market)
  const unpaid = badDebtStop(unpaidAssets, market, policy)
  if (unpaid !== null) return stop({ ...unpaid, reason: { ...reason, unpaidAssets: String(unpaidAssets) } })
  return {
    subject,
    facility,
    market,
    figures,
    healthFactorWad: factorWad,
    unpaidAssets,
    ...withExperience(collateral, market, facility.marketAddress, experience, policy),
  }
}

function lostRace({ untilMs, losses }: BackOff): Stop {
  const message = `${losses} lost in a row here; left alone until ${new Date(untilMs).toISOString()}.`
  return { check: 'lost_race', message }
}

/** What the policy says of a position whose collateral cannot pay for all of its debt. */
function badDebtStop(unpaidAssets: bigint, market: OpenMarket, { badDebt }: LiquidatorPolicy): Stop | null {
  if (unpaidAssets === 0n || badDebt === 'accept') return null
  const unpaidUsdMicros = usdMicros(unpaidAssets, market)
  const unpaid = `${tokens(unpaidAssets, market.loanDecimals, market.loanSymbol)} (${usd(unpaidUsdMicros)})`
  if (badDebt === 'avoid') {
    const message = `Its collateral does not pay for ${unpaid} of its debt; the policy avoids bad debt.`
    return { check: 'bad_debt_avoided', message }
  }
  if (unpaidUsdMicros <= badDebt.unpaidUsdMicrosMax) return null
  const message = `Its collateral does not pay for ${unpaid} of its debt; the policy accepts ${usd(badDebt.unpaidUsdMicrosMax)}.`
  return { check: 'bad_debt_above_limit', message }
}

const figuresOf = ({ debtAssets, positionDebtAssets, collateralAssets, debtShares }: FacilitySeen) => ({
  debtAssets,
  positionDebtAssets,
  collateralAssets,
  debtShares,
})

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
