import {
  assetsOf,
  bring,
  bufferOf,
  capOf,
  cashOf,
  type Draw,
  drawWorld,
  gasTokens,
  HOUR_S,
  type Holder,
  type KeeperWorld,
  lendRate,
  neededBy,
  type Place,
  passHour,
  sum,
  suppliedIn,
  waitingIn,
  waterFill,
  worthOf,
} from './allocator-vaults-world.ts'

const DAY_H = 24
/** The longest that a move speaks of: a week. */
export const SAID_H = 168
/** Nobody pays gas to mend a drift of less than this part of a vault. */
const DRIFT = 0.01

/** What a professional does with a vault at an hour; changes the world in place. */
export type Way = (world: KeeperWorld, holder: Holder) => void

/** What a run came to, tokens, of all vaults together. */
export type Run = { readonly earned: number; readonly moves: number; readonly late: number }

export const runOf = (world: KeeperWorld, began: number): Run => ({
  earned: worthOf(world) - began,
  moves: sum(world.holders.map(({ moves }) => moves)),
  late: sum(world.holders.map(({ late }) => late)),
})

/** Let every vault go a way for all hours of a world. */
export function playWay(seed: number, draw: Draw, way: Way): Run {
  const world = drawWorld(seed, { ...draw, hours: draw.hours + SAID_H })
  const began = worthOf(world)
  goOn(world, draw.hours, way)
  return runOf(world, began)
}

export function goOn(world: KeeperWorld, untilH: number, way: Way): void {
  while (world.hour < untilH) {
    for (const holder of world.holders) way(world, holder)
    passHour(world)
  }
}

/**
 * Nothing is moved but what leavers are paid with, from where it earns least: what is due in a day, and the buffer once half of
 * it is gone. Who keeps lending what others have asked for earns with money that is not his.
 */
export const standStill: Way = (world, holder) => {
  const [due, buffer] = [dueInADay(world, holder), bufferOf(holder)]
  if (holder.idle >= due + buffer / 2) return
  let short = due + buffer - holder.idle
  const targets = [...holder.held]
  const rates = world.places.map((place, index) => lendRate(place, suppliedIn(world, index)))
  for (const index of [...targets.keys()].sort((one, other) => (rates[one] ?? 0) - (rates[other] ?? 0))) {
    const taken = Math.min(short, cashOf(world, holder, index))
    targets[index] = (targets[index] ?? 0) - taken
    short -= taken
  }
  bring(world, holder, targets)
}

const dueInADay = (world: KeeperWorld, holder: Holder): number =>
  sum(
    waitingIn(holder, world.hour)
      .filter(({ dueS }) => dueS <= (world.hour + DAY_H) * HOUR_S)
      .map(({ assets }) => assets),
  )

/** As a professional would in ten lines: fill up daily where a week of that pays twice its gas, and for what is due in a day. */
export const fillDaily: Way = (world, holder) => {
  if (dueInADay(world, holder) > holder.idle) bring(world, holder, waterFill(world, holder))
  else if (world.hour % DAY_H === 0) fillUp(world, holder)
}

function fillUp(world: KeeperWorld, holder: Holder): void {
  const targets = waterFill(world, holder)
  const touched = targets.filter((target, index) => target !== holder.held[index]).length
  const week =
    SAID_H * HOUR_S * (earnedASecond(world, holder, targets) - earnedASecond(world, holder, holder.held))
  if (week > 2 * gasTokens(world, touched)) bring(world, holder, targets)
}

/** What a vault would earn a second with amounts, the others' as they are. Pure. */
export const earnedASecond = (world: KeeperWorld, holder: Holder, amounts: readonly number[]): number =>
  sum(
    world.places.map((place, index) => {
      const others = suppliedIn(world, index) - (holder.held[index] ?? 0)
      const amount = amounts[index] ?? 0
      return amount * lendRate(place, others + amount)
    }),
  )

/** Each hour to where that hour pays most, and at no cost: nobody who moves pays less. */
export const fillFree: Way = (world, holder) => {
  bring(world, holder, waterFill(world, holder))
  holder.spent = 0
}

/** How much a rule wants in each place, of so much that may lie in all. */
type Rule = (world: KeeperWorld, holder: Holder, budget: number) => readonly number[]

/** Once a day by a rule, and at once for what is due in a day; within cash, caps, and what has to lie idle. */
const daily =
  (rule: Rule): Way =>
  (world, holder) => {
    const isShort = dueInADay(world, holder) > holder.idle
    if (!isShort && world.hour % DAY_H !== 0) return
    const stuck = holder.held.map((amount, index) => amount - cashOf(world, holder, index))
    const budget = Math.max(0, assetsOf(holder) - neededBy(holder, world.hour))
    const amounts = rule(world, holder, budget).map((wanted, index) =>
      Math.max(stuck[index] ?? 0, Math.min(capOf(holder), wanted)),
    )
    // What is stuck takes from what would be supplied.
    let excess = sum(amounts) - budget
    const targets = amounts.map((amount, index) => {
      const given = Math.max(0, Math.min(excess, amount - (stuck[index] ?? 0)))
      excess -= given
      return amount - given
    })
    const moved = sum(targets.map((target, index) => Math.abs(target - (holder.held[index] ?? 0))))
    if (isShort || moved > DRIFT * assetsOf(holder)) bring(world, holder, targets)
  }

export const weighEqually = daily(({ places }, _holder, budget) => places.map(() => budget / places.length))

/** The utilisation that all markets can be brought to with the budget: more of ours where more is borrowed. */
export const useEqually = daily((world, holder, budget) => {
  const others = world.places.map((_, index) => suppliedIn(world, index) - (holder.held[index] ?? 0))
  const amountsAt = (used: number) =>
    world.places.map(({ debt }: Place, index) => Math.max(0, debt / used - (others[index] ?? 0)))
  let [low, high] = [0.01, 1]
  for (let halving = 0; halving < 40; halving += 1) {
    const middle = (low + high) / 2
    if (sum(amountsAt(middle)) > budget) low = middle
    else high = middle
  }
  return amountsAt(high)
})
