import type { Lane, Pool } from '../../../agents/allocator/lane.ts'
import type { Dice } from './dice.ts'

const YEAR_S = 31_536_000

/** Throw a pool of 1 to 200 markets, small ones more often. */
export const throwPool = (dice: Dice): Pool => throwMarkets(dice, 1 + Math.floor(200 * dice.unit() ** 2))

/** Throw a pool of so many markets: kinks, caps, stuck assets, unknown curves, fixed costs from nothing to a lot. */
export function throwMarkets(dice: Dice, count: number): Pool {
  const costMax = dice.pick([1, 20, 300])
  const lanes = Array.from({ length: count }, () => throwLane(dice, costMax))
  const sum = (of: (lane: Lane) => number) => lanes.reduce((total, lane) => total + of(lane), 0)
  const [least, most] = [sum((lane) => lane.least), sum((lane) => lane.most)]
  return {
    lanes,
    budget: least + (most - least) * (0.05 + 0.9 * dice.unit()),
    horizonS: dice.pick([1, 7, 30]) * 86_400,
    turnoverCost: dice.unit() * 2e-4,
  }
}

function throwLane(dice: Dice, costMax: number): Lane {
  const supplied = 1e6 * Math.exp(4 * dice.unit() - 2)
  const used = dice.unit() * 0.98
  // Not there at all, nearly alone, or one of many.
  const share = dice.pick([0, 0.95 + 0.05 * dice.unit(), 0.6 * dice.unit(), 0.6 * dice.unit()])
  const held = supplied * share
  const rate = {
    base: (0.02 * dice.unit()) / YEAR_S,
    slope1: (0.01 + 0.08 * dice.unit()) / YEAR_S,
    slope2: (0.2 + 2 * dice.unit()) / YEAR_S,
    kink: 0.5 + 0.45 * dice.unit(),
  }
  return {
    rate: dice.unit() < 0.05 ? (0.05 * dice.unit()) / YEAR_S : rate,
    lenderShare: 0.8 + 0.2 * dice.unit(),
    borrowed: supplied * used,
    others: supplied - held,
    held,
    least: held * used,
    most: Math.max(held, supplied * dice.unit() * 2),
    supplyLeast: dice.unit() < 0.1 ? supplied * dice.unit() : 0,
    lossRate: (0.005 * dice.unit()) / YEAR_S,
    touchCost: costMax * dice.unit(),
    lentWorth: dice.pick([0, 1e-3 * dice.unit()]),
    usual: [0.5, 0.3, 0.15, 0.05].map((part) => ({
      owed: Math.min(supplied * used * (0.5 + dice.unit()), supplied - held * (1 - used)),
      part,
    })),
    lasts: dice.pick([1, dice.unit()]),
    ours: (supplied - held) * dice.pick([0, dice.unit()]),
    learnedRate: (dice.pick([0, dice.unit() - 0.5]) * 0.05) / YEAR_S,
  }
}
