/** Roll the same numbers for the same seed: mulberry32. */
export function createDice(state: number) {
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    /** From 1 to `max`, skewed to small numbers so that dust is common. */
    amount: (max: bigint) => 1n + BigInt(Math.floor(Number(max) * next() ** 4)),
    upTo: (max: number) => Math.floor(max * next()),
    pick: <T>(from: readonly [T, ...T[]] | readonly T[]): T => {
      const picked = from[Math.floor(from.length * next())]
      if (picked === undefined) throw new TypeError('Nothing to pick from.')
      return picked
    },
  }
}
export type Dice = ReturnType<typeof createDice>
