import type { Proposal } from '../../src/workflow/proposal.ts'
import { type Decide, Keeper } from './allocator-vaults-agent.ts'
import {
  assetsOf,
  bring,
  capOf,
  cloneWorld,
  type Draw,
  drawWorld,
  gasTokens,
  HOUR_S,
  type Holder,
  type KeeperWorld,
  lendRate,
  neededBy,
  passHour,
  settledRate,
  sum,
  suppliedIn,
  waitingIn,
  waterFill,
  worthOf,
} from './allocator-vaults-world.ts'

const DAY_H = 24
/** The longest that a move speaks of: a week. */
const SAID_H = 168
const WATCHED_H = 336
const ROUNDS_MAX = 8
const PARTS = 300

/** What a run came to, tokens: what all vaults earned, and of the moves for yield what they said and what came of it. */
type Run = {
  readonly earned: number
  readonly said: number
  readonly realised: number
  readonly moves: number
  readonly late: number
}

const runOf = (world: KeeperWorld, began: number, said = 0, realised = 0): Run => ({
  ...{ earned: worthOf(world) - began, said, realised },
  moves: sum(world.holders.map(({ moves }) => moves)),
  late: sum(world.holders.map(({ late }) => late)),
})

/**
 * Let a keeper run. Its moves for yield are scored by the world: two copies go on for the time that they speak of, with
 * them and without, and nothing else is moved in either.
 */
export function playKeeper(seed: number, draw: Draw, decide: Decide): Run {
  const world = drawWorld(seed, { ...draw, hours: draw.hours + SAID_H })
  const began = worthOf(world)
  const keeper = new Keeper(decide)
  let [said, realised] = [0, 0]
  while (world.hour < draw.hours) {
    const acted = actOf(keeper, world)
    said += acted.said
    realised += acted.realised
    passHour(world)
  }
  return runOf(world, began, said, realised)
}

/** Let a keeper act once; what it says of it, and what comes of it in the time that it speaks of. */
function actOf(keeper: Keeper, world: KeeperWorld) {
  const without = cloneWorld(world)
  let [said, forH] = [0, 0]
  const moves = keeper.act(world, ({ kind, gainUsdMicros = 0n, reason }: Proposal) => {
    if (kind !== 'yield') return
    said += Number(gainUsdMicros) / 1e6
    forH = Math.max(forH, Math.round(Number(reason.horizonS) / HOUR_S))
  })
  const realised = said > 0 ? after(cloneWorld(world), forH) - after(without, forH) : 0
  return { moves, said, realised }
}

function after(world: KeeperWorld, hours: number): number {
  for (let hour = 0; hour < hours; hour += 1) passHour(world)
  return worthOf(world)
}

/** Nothing is ever moved. */
export function playStill(seed: number, draw: Draw): Run {
  const world = drawWorld(seed, { ...draw, hours: draw.hours + SAID_H })
  const began = worthOf(world)
  while (world.hour < draw.hours) passHour(world)
  return runOf(world, began)
}

/** As a professional would in ten lines: fill up daily where a week of that pays twice its gas, and for what is due in a day. */
export function playWaterFill(seed: number, draw: Draw): Run {
  const world = drawWorld(seed, { ...draw, hours: draw.hours + SAID_H })
  const began = worthOf(world)
  while (world.hour < draw.hours) {
    for (const holder of world.holders) {
      const due = waitingIn(holder, world.hour).filter(({ dueS }) => dueS <= (world.hour + DAY_H) * HOUR_S)
      if (sum(due.map(({ assets }) => assets)) > holder.idle) bring(world, holder, waterFill(world, holder))
      else if (world.hour % DAY_H === 0) fillUp(world, holder)
    }
    passHour(world)
  }
  return runOf(world, began)
}

function fillUp(world: KeeperWorld, holder: Holder): void {
  const targets = waterFill(world, holder)
  const touched = targets.filter((target, index) => target !== holder.held[index]).length
  const week =
    SAID_H * HOUR_S * (earnedASecond(world, holder, targets) - earnedASecond(world, holder, holder.held))
  if (week > 2 * gasTokens(world, touched)) bring(world, holder, targets)
}

/** What a vault would earn a second with amounts, the others' as they are. */
const earnedASecond = (world: KeeperWorld, holder: Holder, amounts: readonly number[]): number =>
  sum(
    world.places.map((place, index) => {
      const others = suppliedIn(world, index) - (holder.held[index] ?? 0)
      const amount = amounts[index] ?? 0
      return amount * lendRate(place, others + amount)
    }),
  )

/** Each hour to where that hour pays most, and at no cost: nobody who moves pays less. */
export function playFree(seed: number, draw: Draw): Run {
  const world = drawWorld(seed, { ...draw, hours: draw.hours + SAID_H })
  const began = worthOf(world)
  while (world.hour < draw.hours) {
    for (const holder of world.holders) bring(world, holder, waterFill(world, holder))
    for (const holder of world.holders) holder.spent = 0
    passHour(world)
  }
  return runOf(world, began)
}

/** How far vaults that share markets came: rounds in which any of them moved, and what is missing of what is possible. */
type Settled = Pick<Run, 'said' | 'realised'> & { readonly rounds: number; readonly missing: number }

/** A round a day, until nothing is moved, after the keeper has watched for two weeks; borrowers answer to the rates. */
export function playTogether(seed: number, draw: Draw, decide: Decide): Settled {
  const world = drawWorld(seed, draw)
  const keeper = new Keeper(decide)
  for (; world.hour < WATCHED_H; passHour(world)) keeper.watch(world)
  let [rounds, said, realised] = [0, 0, 0]
  for (; rounds < ROUNDS_MAX; rounds += 1) {
    const acted = actOf(keeper, world)
    if (acted.moves === 0) break
    said += acted.said
    realised += acted.realised
    for (let hour = 0; hour < DAY_H; hour += 1) passHour(world)
  }
  const earned = sum(world.holders.map((holder) => earnedASecond(world, holder, holder.held)))
  return { rounds, missing: 1 - earned / mostTogether(world), said, realised }
}

/**
 * What all vaults can earn a second at most, by dynamic programming over parts of what they have together: as all have the
 * same buffer and caps in parts of what they hold, each can take the same part of any sum.
 */
function mostTogether(world: KeeperWorld): number {
  const total = sum(world.holders.map((holder) => assetsOf(holder) - neededBy(holder, world.hour)))
  const cap = sum(world.holders.map(capOf))
  const part = total / PARTS
  const strangers = world.places.map(({ strangers }) => strangers)
  let best = Array.from({ length: PARTS + 1 }, () => 0)
  for (const [index, place] of world.places.entries()) {
    const earned = best.map((_, parts) =>
      parts * part > cap
        ? Number.NEGATIVE_INFINITY
        : parts * part * settledRate(place, (strangers[index] ?? 0) + parts * part, world.hour),
    )
    best = best.map((_, parts) =>
      best
        .slice(0, parts + 1)
        .reduce((most, before, at) => Math.max(most, before + (earned[parts - at] ?? 0)), 0),
    )
  }
  return best[PARTS] ?? 0
}
