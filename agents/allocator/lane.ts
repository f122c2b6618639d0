/** Borrow rate by utilisation, fractions a second: two straight lines that meet at the kink. */
type Curve = {
  readonly base: number
  /** Gained from 0 to the kink, and from the kink to full utilisation. */
  readonly slope1: number
  readonly slope2: number
  /** Utilisation between 0 and 1, both excluded. */
  readonly kink: number
}

/** One market as the optimiser sees it. Amounts are whole tokens, rates are fractions a second. */
export type Lane = {
  /** How its rate follows utilisation; or the supply rate that is taken to stay, where that is not known. */
  readonly rate: Curve | number
  /** What lenders keep of the interest, 0 to 1. */
  readonly lenderShare: number
  /** What borrowers owe, and what others than us have supplied. */
  readonly borrowed: number
  readonly others: number
  /** What we have there now. */
  readonly held: number
  /** Least and most that we may have there. */
  readonly least: number
  readonly most: number
  /** Least that a supply must bring it to: with less of ours it would stay too scarce to leave again. */
  readonly supplyLeast: number
  /** What is expected to be lost, a second. */
  readonly lossRate: number
  /** What any move costs whatever its size, tokens. */
  readonly touchCost: number
}

/** The question: how much of a budget goes to each lane. */
export type Pool = {
  readonly lanes: readonly Lane[]
  /** Most that may lie in all lanes together, tokens. */
  readonly budget: number
  readonly horizonS: number
  /** What moving a token costs, tokens. */
  readonly turnoverCost: number
}

/** Return what lenders earn with `amount` of ours in the lane, a fraction a second. Pure. */
export function supplyRate(lane: Lane, amount: number): number {
  if (typeof lane.rate === 'number') return lane.rate
  if (lane.borrowed === 0) return 0
  const utilisation = Math.min(1, lane.borrowed / (lane.others + amount))
  const { base, slope1, slope2, kink } = lane.rate
  const borrowRate =
    utilisation <= kink
      ? base + (slope1 * utilisation) / kink
      : base + slope1 + (slope2 * (utilisation - kink)) / (1 - kink)
  return borrowRate * utilisation * lane.lenderShare
}

/** Return what `amount` in the lane earns over the horizon, expected losses taken off, tokens. Pure. */
export const laneReturn = (lane: Lane, amount: number, horizonS: number): number =>
  amount * (supplyRate(lane, amount) - lane.lossRate) * horizonS

/** Return what it costs to get from what is held to `amount`, tokens. Pure. */
export const moveCost = (lane: Lane, amount: number, turnoverCost: number): number =>
  amount === lane.held ? 0 : lane.touchCost + turnoverCost * Math.abs(amount - lane.held)

/** Return what an allocation earns over the horizon, less what it costs to get there, tokens. Pure. */
export const poolValue = ({ lanes, horizonS, turnoverCost }: Pool, amounts: readonly number[]): number =>
  lanes.reduce((sum, lane, index) => {
    const amount = amounts[index] ?? lane.held
    return sum + laneReturn(lane, amount, horizonS) - moveCost(lane, amount, turnoverCost)
  }, 0)
