import type { Limits, Option } from '../../agents/liquidator/best-set.ts'

/** Steps in which a limit is handed out. */
const STEPS = 400

/**
 * What the best set brings, found the slow way and by other means than the agent's: every subset is tried, and within
 * one each next part of the cash goes where it brings most at the margin. Exact to the size of a part.
 */
export function bestByTryingAll(options: readonly Option[], limits: Limits): number {
  let best = 0
  for (let subset = 1; subset < 2 ** options.length; subset += 1) {
    const chosen = options.filter((_, index) => (subset >> index) & 1)
    const groups = new Set(chosen.map(({ group }) => group))
    if (groups.size < chosen.length || chosen.length > limits.countMax) continue
    best = Math.max(best, filled(chosen, limits))
  }
  return best
}

function filled(chosen: readonly Option[], limits: Limits): number {
  const sizes = chosen.map(({ least }) => least)
  const sizeOf = (index: number) => sizes[index] ?? 0
  let cash = limits.cash - sizes.reduce((sum, size) => sum + size, 0)
  const rooms = limits.rooms.map((room, at) =>
    chosen.reduce(
      (left, option, index) => (option.room === at ? left - option.seizes * sizeOf(index) : left),
      room,
    ),
  )
  if (cash < 0 || rooms.some((room) => room < 0)) return 0
  const step = Math.max(...chosen.map(({ least, most }) => most - least)) / STEPS
  const marginal = (option: Option, index: number) => option.gain - 2 * option.growth * sizeOf(index)
  for (;;) {
    let best = -1
    for (const [index, option] of chosen.entries()) {
      const fits = Math.min(option.most - sizeOf(index), cash, (rooms[option.room] ?? 0) / option.seizes)
      if (fits <= 1e-9 * option.most || marginal(option, index) <= 0) continue
      // Of two with the same room the better margin for the cash; of scarce rooms the better margin for the room.
      if (best < 0 || marginal(option, index) > marginal(chosen[best] as Option, best)) best = index
    }
    const option = chosen[best]
    if (option === undefined) break
    const part = Math.min(step, option.most - sizeOf(best), cash, (rooms[option.room] ?? 0) / option.seizes)
    sizes[best] = sizeOf(best) + part
    cash -= part
    rooms[option.room] = (rooms[option.room] ?? 0) - part * option.seizes
  }
  return chosen.reduce(
    (sum, { gain, growth, fixed }, index) => sum + (gain - growth * sizeOf(index)) * sizeOf(index) - fixed,
    0,
  )
}
