import type { Dice } from '../judgement/dice.ts'

/** A whole number from 0 up to, not including, `below`. */
export const whole = (dice: Dice, below: number): number => Math.floor(dice.unit() * below)

/** Whether it happens this time. */
export const chance = (dice: Dice, rate: number): boolean => dice.unit() < rate

/** One of these. Throws TypeError where there is none. */
export function pickFrom<T>(dice: Dice, items: readonly T[]): T {
  const item = items[whole(dice, items.length)]
  if (item === undefined) throw new TypeError('there is something to pick from')
  return item
}
