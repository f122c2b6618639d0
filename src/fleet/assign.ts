import type { InstanceRecord } from '../journal/redis/instances.ts'

/** A seat, and the zone of instances that it prefers. */
export type Seat = { readonly name: string; readonly zone?: string }

/** What the choice of a holder looks at. */
export type Candidate = Pick<InstanceRecord, 'name' | 'zone'>

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  one.name < other.name ? -1 : Number(one.name > other.name)

/**
 * Choose among the fingerprints of living instances the one that works: of those whose instances hold a seat, or where none
 * does of those that would take one, the one that came first. Two that differ do not work side by side. @param holders
 * names of instances that hold a seat. @returns null where nobody is able. Pure.
 */
export function fingerprintOnDuty(
  living: readonly InstanceRecord[],
  holders: ReadonlySet<string>,
): string | null {
  const holding = living.filter(({ name }) => holders.has(name))
  const among = holding.length > 0 ? holding : living.filter(({ isAble }) => isAble)
  return among.toSorted((one, other) => one.arrived - other.arrived)[0]?.fingerprint ?? null
}

/**
 * Say who should hold each seat, so that every instance that sees the same says the same: who holds it keeps it, unless it is
 * to go to the zone that it prefers, or another has two fewer. @param holders seat → instance; absent where it is free. Pure.
 */
export function assign(
  seats: readonly Seat[],
  holders: ReadonlyMap<string, string>,
  candidates: readonly Candidate[],
): ReadonlyMap<string, string> {
  const assigned = new Map<string, string>()
  const counts = new Map(candidates.toSorted(byName).map(({ name }) => [name, 0]))
  const countOf = (name: string) => counts.get(name) ?? 0
  const give = (seat: Seat, to: string) => {
    const from = assigned.get(seat.name)
    if (from !== undefined) counts.set(from, countOf(from) - 1)
    assigned.set(seat.name, to)
    counts.set(to, countOf(to) + 1)
  }
  // Counts are in the order of names, and of equals the first is chosen.
  const fewest = (seat: Seat) =>
    fittingFor(seat, candidates).reduce<string | undefined>(
      (best, { name }) => (best === undefined || countOf(name) < countOf(best) ? name : best),
      undefined,
    )
  const isFitting = (seat: Seat, holder: string | undefined): holder is string =>
    fittingFor(seat, candidates).some(({ name }) => name === holder)

  const inOrder = seats.toSorted(byName)
  const kept = Map.groupBy(inOrder, (seat) => isFitting(seat, holders.get(seat.name)))
  for (const seat of kept.get(true) ?? []) give(seat, holders.get(seat.name) ?? '')
  for (const seat of kept.get(false) ?? []) {
    const to = fewest(seat)
    if (to !== undefined) give(seat, to)
  }
  for (;;) {
    const moves = inOrder.flatMap((seat) => {
      const [from, to] = [assigned.get(seat.name), fewest(seat)]
      return from === undefined || to === undefined ? [] : [{ seat, to, gain: countOf(from) - countOf(to) }]
    })
    const best = moves.toSorted((one, other) => other.gain - one.gain)[0]
    // To move for less would only exchange who has one more.
    if (best === undefined || best.gain < 2) return assigned
    give(best.seat, best.to)
  }
}

/** Those of the zone that a seat prefers, or all where there is none of it; by name. Pure. */
function fittingFor({ zone }: Seat, candidates: readonly Candidate[]): readonly Candidate[] {
  const inZone = candidates.filter((each) => zone !== undefined && each.zone === zone)
  return (inZone.length > 0 ? inZone : candidates).toSorted(byName)
}
