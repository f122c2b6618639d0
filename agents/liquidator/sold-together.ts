import type { Limits, Option, Room } from './pricing.ts'

/** Some of the options, each at its size, dollars. All that is seized of a collateral is sold at one depth. */
export type SizedSet = {
  readonly options: readonly Option[]
  readonly limits: Limits
  readonly members: readonly number[]
  /** By option. */
  readonly sizes: Float64Array
}

/** What each member brings, dollars: what the sale of a collateral loses is shared by what each seizes. Pure. */
export function profitsOf(set: SizedSet): readonly number[] {
  const units = unitsOf(set)
  return set.members.map((index) => {
    const { room, seizes, gain, fixed } = set.options[index] as Option
    const { held, growth } = set.limits.rooms[room] as Room
    const lost = growth * (2 * held + (units[room] as number)) * seizes
    return (gain - lost) * (set.sizes[index] as number) - fixed
  })
}

/** The size at which a member brings, beside the others as they are, what its least size brings alone; null where none does. Pure. */
export function sizeThatPays(index: number, set: SizedSet): number | null {
  const { room, seizes, gain, least, most } = set.options[index] as Option
  const { held, growth } = set.limits.rooms[room] as Room
  const beside = (unitsOf(set)[room] as number) - (set.sizes[index] as number) * seizes
  const slope = gain - growth * (2 * held + beside) * seizes
  const square = growth * seizes ** 2
  const needed = (gain - growth * (2 * held + least * seizes) * seizes) * least
  const root = slope ** 2 - 4 * square * needed
  if (slope <= 0 || root < 0) return null
  const size = (2 * needed) / (slope + Math.sqrt(root))
  return size <= most ? size : null
}

/** Units that the set takes of each room. */
function unitsOf({ options, limits, members, sizes }: SizedSet): readonly number[] {
  const units = limits.rooms.map(() => 0)
  for (const index of members) {
    const { room, seizes } = options[index] as Option
    units[room] = (units[room] as number) + (sizes[index] as number) * seizes
  }
  return units
}
