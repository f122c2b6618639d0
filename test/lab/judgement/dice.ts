/** Numbers that look random, the same for the same seed. */
export type Dice = {
  /** From 0 up to, not including, 1. */
  readonly unit: () => number
  /** About normal: mean 0, variance 1. */
  readonly normal: () => number
  readonly pick: <T>(items: readonly [T, ...T[]]) => T
}

/** Create dice for a seed. Source: the mixing step of splitmix32. */
export function createDice(seed: number): Dice {
  let state = seed | 0
  const unit = () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    mixed ^= mixed >>> 15
    return (mixed >>> 0) / 2 ** 32
  }
  const normal = () => {
    let sum = -6
    for (let drawn = 0; drawn < 12; drawn += 1) sum += unit()
    return sum
  }
  return { unit, normal, pick: (items) => items[Math.floor(unit() * items.length)] ?? items[0] }
}
