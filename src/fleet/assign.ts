import type { InstanceRecord } from '../journal/redis/seats/instances.ts'

/** A seat, and the zone of instances that it prefers. */
export type Seat = { readonly name: string; readonly zone?: string }

/** What the choice of a holder looks at. */
export type Candidate = Pick<InstanceRecord, 'name' | 'zone'>

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  one.name < other.name ? -1 : Number(one.name > other.name)

/**
 * Choose among the fingerprints of living instances the one that works: of those whose instances hold a seat, or where none
 * does of those that would take one, the one that was tightened most often, else the one that came first. Two that differ do
 * not work side by side, and a role that worked by a narrower policy is kept down by a wider one. @param holders names of
 * instances that hold a seat. @returns null where nobody is able. Pure.
 */
export function fingerprintOnDuty(
  living: readonly InstanceRecord[],
  holders: ReadonlySet<string>,
): string | null {
  const holding = living.filter(({ name }) => holders.has(name))
  const among = holding.length > 0 ? holding : living.filter(({ isAble }) => isAble)
  const [first] = among.toSorted(
    (one, other) => (other.tightened ?? 0) - (one.tightened ?? 0) || one.arrived - other.arrived,
  )
  return first?.fingerprint ?? null
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
  const counts = new Map(candidates.map(({ name }) => [name, 0]))
  const kinds = [...Map.groupBy(seats.toSorted(byName), ({ zone = '' }) => zone)].map(
    ([zone, ofZone]) => new Kind(zone, candidates, counts, ofZone),
  )
  for (const kind of kinds) kind.keep(holders)
  for (const kind of kinds) kind.fill()
  for (;;) {
    const moves = kinds.flatMap((kind) => kind.move() ?? [])
    const [best] = moves.toSorted((one, other) => other.gain - one.gain)
    // To move for less would only exchange who has one more.
    if (best === undefined || best.gain < 2) break
    best.make()
  }
  return new Map(kinds.flatMap((kind) => kind.assigned()))
}

/** The seats of a fleet that prefer the same zone, or none: each instance that may hold one of them may hold all. */
class Kind {
  /** Those of the zone, or all where nobody is in it; by name. */
  readonly #fitting: readonly string[]
  /** How many seats each instance has, of all kinds. */
  readonly #counts: Map<string, number>
  readonly #byHolder: ReadonlyMap<string, string[]>
  #free: readonly string[]

  constructor(
    zone: string,
    candidates: readonly Candidate[],
    counts: Map<string, number>,
    seats: readonly Seat[],
  ) {
    const inZone = candidates.filter((each) => zone !== '' && each.zone === zone)
    const fitting = inZone.length > 0 ? inZone : candidates
    this.#fitting = fitting.toSorted(byName).map(({ name }) => name)
    this.#counts = counts
    this.#byHolder = new Map(this.#fitting.map((name) => [name, []]))
    this.#free = seats.map(({ name }) => name)
  }

  #count(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  /** Of those who have equally few, the first by name. */
  #fewest(): string | undefined {
    const [first, ...others] = this.#fitting
    return others.reduce(
      (best, name) => (best === undefined || this.#count(name) < this.#count(best) ? name : best),
      first,
    )
  }

  #give(seat: string, to: string): void {
    this.#byHolder.get(to)?.push(seat)
    this.#counts.set(to, this.#count(to) + 1)
  }

  /** Leave seats with who holds them, where they fit. */
  keep(holders: ReadonlyMap<string, string>): void {
    const isKept = (seat: string) => this.#byHolder.has(holders.get(seat) ?? '')
    for (const seat of this.#free.filter(isKept)) this.#give(seat, holders.get(seat) ?? '')
    this.#free = this.#free.filter((seat) => !isKept(seat))
  }

  fill(): void {
    for (const seat of this.#free) {
      const to = this.#fewest()
      if (to !== undefined) this.#give(seat, to)
    }
  }

  /** The move of one seat that evens out most. */
  move(): { readonly gain: number; readonly make: () => void } | undefined {
    const to = this.#fewest()
    const [most] = [...this.#byHolder]
      .filter(([, seats]) => seats.length > 0)
      .toSorted(([one], [other]) => this.#count(other) - this.#count(one))
    if (to === undefined || most === undefined) return undefined
    const [from, seats] = most
    const make = () => {
      const seat = seats.shift()
      if (seat === undefined) return
      this.#counts.set(from, this.#count(from) - 1)
      this.#give(seat, to)
    }
    return { gain: this.#count(from) - this.#count(to), make }
  }

  assigned(): readonly (readonly [seat: string, instance: string])[] {
    return [...this.#byHolder].flatMap(([name, seats]) => seats.map((seat) => [seat, name] as const))
  }
}
