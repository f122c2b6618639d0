import type { Proposal } from '../../../src/workflow/proposal.ts'
import { type Decide, Keeper } from './allocator-vaults-agent.ts'
import { earnedASecond, goOn, type Run, runOf, SAID_H, type Way } from './allocator-vaults-besides.ts'
import {
  assetsOf,
  capOf,
  cloneWorld,
  type Draw,
  drawWorld,
  HOUR_S,
  type KeeperWorld,
  likely,
  neededBy,
  type Place,
  passHour,
  settledRate,
  sum,
  worthOf,
} from './allocator-vaults-world.ts'

const DAY_H = 24
const WATCHED_H = 336
const ROUNDS_MAX = 8
const PARTS = 300

/** Of moves for yield, what they said and what came of it, tokens. */
type Said = { readonly said: number; readonly realised: number }
const NOTHING_SAID: Said = { said: 0, realised: 0 }
const together = (one: Said, other: Said): Said => ({
  said: one.said + other.said,
  realised: one.realised + other.realised,
})

/**
 * Let a keeper run. Its moves for yield are scored by the world: two copies go on for the time that they speak of, with
 * them and without, and nothing else is moved in either. `later` is of the second half.
 */
export function playKeeper(seed: number, draw: Draw, decide: Decide): Run & Said & { readonly later: Said } {
  const world = drawWorld(seed, { ...draw, hours: draw.hours + SAID_H })
  const began = worthOf(world)
  const keeper = new Keeper(decide)
  let [all, later] = [NOTHING_SAID, NOTHING_SAID]
  while (world.hour < draw.hours) {
    const acted = actOf(keeper, world)
    all = together(all, acted)
    if (world.hour >= draw.hours / 2) later = together(later, acted)
    passHour(world)
  }
  return { ...runOf(world, began), ...all, later }
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

/** How far vaults that share markets came: rounds in which any of them moved, and what is missing of what is possible. */
type Settled = Said & { readonly rounds: number; readonly missing: number }

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
  return { rounds, missing: missingIn(world), said, realised }
}

/** What is missing after as many days in which each vault goes a way by itself. */
export function missingOnWay(seed: number, draw: Draw, way: Way): number {
  const world = drawWorld(seed, draw)
  while (world.hour < WATCHED_H) passHour(world)
  goOn(world, WATCHED_H + ROUNDS_MAX * DAY_H, way)
  return missingIn(world)
}

/** What is missing to who knows the range that borrowers are drawn from, and does what is best on average in it. */
export function missingOnAverage(seed: number, draw: Draw): number {
  const world = drawWorld(seed, draw)
  while (world.hour < WATCHED_H) passHour(world)
  const could = world.places.map((_, index) => likely(world, index))
  const onAverage = bestTogether(world, (index, supplied) => {
    const places = could[index] ?? []
    return sum(places.map((place) => settledRate(place, supplied, world.hour))) / places.length
  })
  return 1 - earnedTogether(world, onAverage) / earnedTogether(world, bestTogether(world, settledIn(world)))
}

function missingIn(world: KeeperWorld): number {
  const earned = sum(world.holders.map((holder) => earnedASecond(world, holder, holder.held)))
  return 1 - earned / earnedTogether(world, bestTogether(world, settledIn(world)))
}

/** What lenders earn in a place of so much supplied. */
type Rates = (index: number, supplied: number) => number
const settledIn =
  (world: KeeperWorld): Rates =>
  (index, supplied) =>
    settledRate(world.places[index] as Place, supplied, world.hour)

const earnedTogether = (world: KeeperWorld, amounts: readonly number[]): number =>
  sum(amounts.map((amount, index) => earnedIn(world, settledIn(world), index, amount)))
const earnedIn = ({ places }: KeeperWorld, rates: Rates, index: number, amount: number): number =>
  amount * rates(index, (places[index]?.strangers ?? 0) + amount)

/**
 * What all vaults together have in each place where they earn most, by dynamic programming over parts of what they have: as
 * all have the same buffer and caps in parts of what they hold, each can take the same part of any sum.
 */
function bestTogether(world: KeeperWorld, rates: Rates): readonly number[] {
  const total = sum(world.holders.map((holder) => assetsOf(holder) - neededBy(holder, world.hour)))
  const cap = sum(world.holders.map(capOf))
  const part = total / PARTS
  type Plan = { readonly earned: number; readonly amounts: readonly number[] }
  let best: readonly Plan[] = Array.from({ length: PARTS + 1 }, () => ({ earned: 0, amounts: [] }))
  for (const index of world.places.keys()) {
    const earned = best.map((_, parts) =>
      parts * part > cap ? Number.NEGATIVE_INFINITY : earnedIn(world, rates, index, parts * part),
    )
    best = best.map((_, parts) => {
      let [most, here] = [Number.NEGATIVE_INFINITY, 0]
      for (let at = 0; at <= parts; at += 1) {
        const value = (best[parts - at]?.earned ?? 0) + (earned[at] ?? 0)
        if (value > most) [most, here] = [value, at]
      }
      return { earned: most, amounts: [...(best[parts - here]?.amounts ?? []), here * part] }
    })
  }
  return best[PARTS]?.amounts ?? []
}
