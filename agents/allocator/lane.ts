/** Borrow rate by utilisation, fractions a second: two straight lines that meet at the kink. */
type Curve = {
  readonly base: number
  /** Gained from 0 to the kink, and from the kink to full utilisation. */
  readonly slope1: number
  readonly slope2: number
  /** Utilisation between 0 and 1, both excluded. */
  readonly kink: number
}

/** So much is owed for a part of the time. */
type Debt = { readonly owed: number; readonly part: number }

/** One market as the optimiser sees it. Amounts are whole tokens, rates are fractions a second. */
export type Lane = {
  /** How its rate follows utilisation; or the supply rate that is taken to stay, where that is not known. */
  readonly rate: Curve | number
  /** What lenders keep of the interest, 0 to 1. */
  readonly lenderShare: number
  /** What borrowers owe, and for which part of the horizon it is expected to stay as it is. */
  readonly borrowed: number
  readonly lasts: number
  /** What they owe after that, and for which parts of it. */
  readonly usual: readonly Debt[]
  /** What all others have supplied, and what of that is of other vaults of ours: what we do there is done to them too. */
  readonly others: number
  readonly ours: number
  /** What we have there now. */
  readonly held: number
  /** Least and most that we may have there. */
  readonly least: number
  readonly most: number
  /** Least that a supply must bring it to: with less of ours it would stay too scarce to leave again. */
  readonly supplyLeast: number
  /** What is expected to be lost, a second. */
  readonly lossRate: number
  /** What experience adds to what a token earns that comes to it, or takes off it, a second. */
  readonly learnedRate: number
  /** What a token counts for being lent at all, beside what it earns: none is left idle to raise the rate on the rest. */
  readonly lentWorth: number
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

/** Say what is owed over the horizon, and for which part of it. Pure. */
export const statesOf = ({ borrowed, lasts, usual }: Lane): readonly Debt[] => [
  { owed: borrowed, part: lasts },
  ...usual.map(({ owed, part }) => ({ owed, part: part * (1 - lasts) })),
]

/**
 * Return what lenders earn with `amount` of ours in the lane, a fraction a second, where `borrowed` is owed with what is
 * held. Pure. Beyond the kink nobody stays to pay a rate that only our leaving raised, and some of those whom the rate drove
 * away come back as we add to it.
 */
export function supplyRate(lane: Lane, amount: number, borrowed = lane.borrowed): number {
  const { rate, others, held, lenderShare } = lane
  if (typeof rate === 'number') return rate
  if (borrowed === 0) return 0
  const back = Math.max(0, amount - held) * returning(lane, borrowed)
  const owed = Math.min(borrowed + back, debtAtKink(lane, borrowed))
  const most = amount < held ? scarcest(lane, borrowed) : 1
  return rateAt(rate, Math.min(owed / (others + amount), most)) * lenderShare
}

/** Of what the kink lends of a token, a quarter is borrowed by those who come back; three quarters where all is lent out. */
const BACK = { atKink: 0.25, atFull: 0.75 }
const backOf = (lane: Lane, borrowed: number): number => {
  if (typeof lane.rate === 'number') return 0
  const { kink } = lane.rate
  return BACK.atKink + ((BACK.atFull - BACK.atKink) * (scarcest(lane, borrowed) - kink)) / (1 - kink)
}

/** Return what is borrowed anew of each token that we add beyond the kink. Pure. */
export const returning = (lane: Lane, borrowed: number): number =>
  typeof lane.rate === 'number' ? 0 : backOf(lane, borrowed) * lane.rate.kink

/** Return what is owed once so much was added that the utilisation is down at the kink. Pure. */
export function debtAtKink(lane: Lane, borrowed: number): number {
  const { rate, others, held } = lane
  if (typeof rate === 'number') return borrowed
  const excess = borrowed - rate.kink * (others + held)
  const back = backOf(lane, borrowed)
  return borrowed + (Math.max(0, excess) * back) / (1 - back)
}

/** Return the highest utilisation that our leaving is taken to lead to: the kink, or what it is already. Pure. */
export const scarcest = ({ rate, others, held }: Lane, borrowed: number): number =>
  typeof rate === 'number' ? 1 : Math.max(rate.kink, Math.min(1, borrowed / (others + held)))

/** Return what a curve pays on all that is supplied at a utilisation, a fraction a second. Pure. */
export function rateAt({ base, slope1, slope2, kink }: Curve, utilisation: number): number {
  const borrowRate =
    utilisation <= kink
      ? base + (slope1 * utilisation) / kink
      : base + slope1 + (slope2 * (utilisation - kink)) / (1 - kink)
  return borrowRate * utilisation
}

/** Return what lenders earn where the utilisation is at the kink, a fraction a second. Pure. */
export const rateAtKink = ({ rate, lenderShare }: Lane): number =>
  typeof rate === 'number' ? rate : rateAt(rate, rate.kink) * lenderShare

/** Return what lenders are expected to earn with `amount` of ours in the lane over the horizon, a fraction a second. Pure. */
export const meanRate = (lane: Lane, amount: number): number =>
  statesOf(lane).reduce((sum, { owed, part }) => sum + part * supplyRate(lane, amount, owed), 0)

/**
 * Return what `amount` in the lane earns over the horizon, expected losses taken off, and what our other vaults' part of it
 * earns beside it, tokens. Pure.
 * @param rate what lenders earn then.
 */
export const laneReturn = (
  lane: Lane,
  amount: number,
  horizonS: number,
  rate = meanRate(lane, amount),
): number => ((amount + lane.ours) * rate - amount * lane.lossRate) * horizonS

/** Return what it costs to get from what is held to `amount`, tokens. Pure. */
export const moveCost = (lane: Lane, amount: number, turnoverCost: number): number =>
  amount === lane.held ? 0 : lane.touchCost + turnoverCost * Math.abs(amount - lane.held)

/** Return what experience adds to what `amount` in the lane earns over the horizon, tokens. Pure. */
export const learnedReturn = ({ learnedRate, held }: Lane, amount: number, horizonS: number): number =>
  learnedRate * Math.max(0, amount - held) * horizonS

/** Return what an allocation is worth: what it earns, less what it costs to get there, and that it is lent; tokens. Pure. */
export const poolValue = ({ lanes, horizonS, turnoverCost }: Pool, amounts: readonly number[]): number =>
  lanes.reduce((sum, lane, index) => {
    const amount = amounts[index] ?? lane.held
    const worth = laneReturn(lane, amount, horizonS) + lane.lentWorth * amount
    const learned = learnedReturn(lane, amount, horizonS)
    return sum + worth + learned - moveCost(lane, amount, turnoverCost)
  }, 0)
