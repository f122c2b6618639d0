import { WAD } from './health.ts'

/** Borrow rate by utilisation as wads: two straight lines that meet at the kink, rates by the second. */
export type RateCurve = {
  readonly baseRatePerSecondWad: bigint
  /** What the rate gains between 0 and the kink. */
  readonly slope1PerSecondWad: bigint
  /** What it gains between the kink and full utilisation. */
  readonly slope2PerSecondWad: bigint
  /** Above 0 and below 10^18. */
  readonly kinkWad: bigint
}

/** Return the borrow rate at a utilisation, both as wads, rounded down; utilisation above 10^18 counts as that. Pure. */
export function borrowRatePerSecondWad(curve: RateCurve, utilizationWad: bigint): bigint {
  const { baseRatePerSecondWad, slope1PerSecondWad, slope2PerSecondWad, kinkWad } = curve
  if (utilizationWad <= kinkWad) {
    return baseRatePerSecondWad + (slope1PerSecondWad * utilizationWad) / kinkWad
  }
  const capped = utilizationWad > WAD ? WAD : utilizationWad
  const beyond = (slope2PerSecondWad * (capped - kinkWad)) / (WAD - kinkWad)
  return baseRatePerSecondWad + slope1PerSecondWad + beyond
}

/** Utilisations at which a rate model must agree with a curve before it is taken for that: every tenth, the kink's sides, past the end. Pure. */
export function curveProbes({ kinkWad }: RateCurve): readonly bigint[] {
  const tenths = Array.from({ length: 11 }, (_, index) => (WAD * BigInt(index)) / 10n)
  return [...tenths, kinkWad / 2n, kinkWad - 1n, kinkWad, kinkWad + 1n, (kinkWad + WAD) / 2n, 2n * WAD]
}

/** Say whether figures can be a curve at all. Pure. */
export const isRateCurve = ({ kinkWad, ...rates }: RateCurve): boolean =>
  kinkWad > 0n &&
  kinkWad < WAD &&
  // Above 100 % a second every figure is a mistake of units.
  rates.baseRatePerSecondWad + rates.slope1PerSecondWad + rates.slope2PerSecondWad <= WAD
