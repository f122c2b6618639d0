/**
 * One repayment that could be made, sized in dollars of one loan asset: `x` dollars bring `gain·x − fixed`, less its part
 * of what the sale of all that is seized loses. Sizes are searched in floating point; what proposes them checks every
 * limit again in base units.
 */
export type Option = {
  /** At most one option of a group is taken: debts that share their collateral. A group lies in one room. */
  readonly group: number
  /** Index of the inventory room that its collateral takes. */
  readonly room: number
  /** Units of the room that a dollar takes; above 0. */
  readonly seizes: number
  /** The sizes that pay, dollars: above 0, and `least ≤ most`. */
  readonly least: number
  readonly most: number
  readonly gain: number
  readonly fixed: number
}

/** One collateral: all of it is sold at one depth, so that each unit costs every other one something. */
export type Room = {
  /** Units that may still be seized. */
  readonly most: number
  /** Units that are sold beside them. */
  readonly held: number
  /** Dollars that a sale loses with the square of its units. */
  readonly growth: number
}

/** What a set must fit in: dollars of the loan asset, room for each collateral, how many, and what each must bring. */
export type Limits = {
  readonly cash: number
  readonly rooms: readonly Room[]
  readonly countMax: number
  readonly floor: number
}

/** What selling units beside those held loses more than selling those alone, dollars. Pure. */
export const exitCost = ({ held, growth }: Room, units: number): number => growth * units * (2 * held + units)

/** The units at which the next one loses as much as a price; as many as there is room for where depth costs nothing. Pure. */
export const unitsAt = ({ most, held, growth }: Room, price: number): number =>
  growth === 0 ? most : Math.min(most, Math.max(0, price / (2 * growth) - held))

/** Halvings of a price's bracket: to a millionth of it. */
const HALVINGS = 20
/** A price this far above every gain is one at which nothing pays. */
const BEYOND = 1e-6

/** Each option of one search is open, taken in any case, or left out. */
export const OPEN = 0
export const TAKEN = 1
export const LEFT = 2
export type Choice = Int8Array

/** Sizes that answer a price of every limit, and those prices. */
export type Answer = {
  readonly sizes: Float64Array
  readonly placePrice: number
  readonly cashPrice: number
  readonly roomPrices: Float64Array
}

/** A room with its options, and those by group. */
type Stocked = Room & {
  readonly members: readonly number[]
  readonly groups: readonly (readonly number[])[]
}
type Scratch = readonly [Float64Array, Float64Array, Float64Array]

/** Where, as a room's price falls, a group wants something else: so many units more. */
type Flip = {
  readonly price: number
  readonly units: number
  readonly from: number | null
  readonly to: number
}

/** Options that answer prices: each with the size that brings it most. */
export class Pricing {
  readonly rooms: readonly Stocked[]
  readonly #options: readonly Option[]
  readonly #cash: number
  readonly #gainMax: number
  /** Sizes while a price of cash is searched: written over each time. */
  readonly #scratch: Scratch
  #answers = 0

  constructor(options: readonly Option[], { cash, rooms }: Limits) {
    this.#options = options
    this.#cash = cash
    this.rooms = rooms.map((room, index) => stocked(options, room, index))
    this.#gainMax = Math.max(0, ...options.map(({ gain }) => gain))
    const sizes = () => new Float64Array(options.length)
    this.#scratch = [sizes(), sizes(), sizes()]
  }

  /** How many answers of options this took so far. */
  get answers(): number {
    return this.#answers
  }

  /** Find the prices at which the answers fit, and mix them so that they do; null when what is taken cannot fit. */
  answer(node: Choice, placePrice: number): Answer | null {
    const roomPrices = new Float64Array(this.rooms.length)
    const at = (cashPrice: number, sizes: Float64Array) => {
      let used = 0
      for (const [index, room] of this.rooms.entries()) {
        const price = this.#answerRoom(room, node, placePrice, cashPrice, sizes)
        if (price === null) return null
        roomPrices[index] = price
        for (const member of room.members) used += sizes[member] as number
      }
      return used
    }
    const found = this.#priceThatFits(at)
    if (found === null) return null
    const sizes = found.sizes.slice()
    // Once more, for the rooms' prices beside this one of cash.
    at(found.price, this.#scratch[0])
    return { sizes, placePrice, cashPrice: found.price, roomPrices }
  }

  /**
   * Fill in the sizes of one room at the price at which they fit, which is where demand, as the price falls, meets what
   * there is at it; the one that meets it is taken in part. @returns that price, or null when what is taken cannot fit.
   */
  #answerRoom(
    room: Stocked,
    node: Choice,
    placePrice: number,
    cashPrice: number,
    sizes: Float64Array,
  ): number | null {
    this.#answers += room.groups.length
    let used = 0
    for (const index of room.members) {
      const { least, seizes } = this.#options[index] as Option
      sizes[index] = node[index] === TAKEN ? least : 0
      used += (sizes[index] as number) * seizes
    }
    if (used > room.most) return null
    const flips = room.groups
      .flatMap((group) => this.#flipsOf(group, node, placePrice, cashPrice))
      .toSorted((one, other) => other.price - one.price)
    for (const { price, units, from, to } of flips) {
      const left = unitsAt(room, price) - used
      if (left <= 0) return priceOf(room, used) ?? price
      const share = Math.min(1, left / units)
      const { least, most } = this.#options[to] as Option
      if (from !== null && from !== to) sizes[from] = (1 - share) * (sizes[from] as number)
      sizes[to] = from === to ? least + share * (most - least) : share * most
      if (share < 1) return price
      used += units
    }
    return priceOf(room, used) ?? 0
  }

  /** What a group wants as the room's price falls to 0, from nothing, or the least of what is taken anyway. */
  #flipsOf(group: readonly number[], node: Choice, placePrice: number, cashPrice: number): readonly Flip[] {
    const taken = group.find((index) => node[index] === TAKEN)
    if (taken !== undefined) {
      const { gain, least, most, seizes } = this.#options[taken] as Option
      const price = (gain - cashPrice) / seizes
      return price > 0 && most > least
        ? [{ price, units: (most - least) * seizes, from: taken, to: taken }]
        : []
    }
    // At a price each brings `value − units · price`; nothing at all is worth a place.
    const lines = group.flatMap((index) => {
      if (node[index] === LEFT) return []
      const { gain, most, fixed, seizes } = this.#options[index] as Option
      return [{ index, value: (gain - cashPrice) * most - fixed, units: most * seizes }]
    })
    const flips: Flip[] = []
    let at: { readonly index: number | null; readonly value: number; readonly units: number } = {
      index: null,
      value: placePrice,
      units: 0,
    }
    for (;;) {
      const { index: from, value, units } = at
      const next = lines
        .filter((line) => line.units > units)
        .map((line) => ({ line, price: (line.value - value) / (line.units - units) }))
        .reduce(
          (best, one) => (best === null || one.price > best.price ? one : best),
          null as Crossing | null,
        )
      if (next === null || next.price <= 0) return flips
      flips.push({ price: next.price, units: next.line.units - units, from, to: next.line.index })
      at = next.line
    }
  }

  /**
   * Find the least price of cash at which what `at` fills in takes no more than there is, by halving, and mix the sizes on
   * both sides of it. Null when even the highest price does not make it fit. The sizes are one of the scratch's.
   */
  #priceThatFits(at: (price: number, into: Float64Array) => number | null): {
    readonly price: number
    readonly sizes: Float64Array
  } | null {
    let [over, under, spare] = this.#scratch
    let overUsed = at(0, over)
    if (overUsed === null) return null
    if (overUsed <= this.#cash) return { price: 0, sizes: over }
    let high = this.#gainMax * (1 + BEYOND)
    let underUsed = at(high, under)
    if (underUsed === null || underUsed > this.#cash) return null
    let low = 0
    for (let halving = 0; halving < HALVINGS; halving += 1) {
      const price = (low + high) / 2
      const used = at(price, spare)
      if (used === null) return null
      if (used > this.#cash) {
        ;[over, spare, overUsed, low] = [spare, over, used, price]
      } else {
        ;[under, spare, underUsed, high] = [spare, under, used, price]
      }
    }
    const share = (this.#cash - underUsed) / (overUsed - underUsed)
    for (let index = 0; index < under.length; index += 1) {
      const least = under[index] as number
      under[index] = least + share * ((over[index] as number) - least)
    }
    return { price: high, sizes: under }
  }

  /** The option of a group that answers these prices: the one that is taken anyway, or the best that pays. */
  choose(
    group: readonly number[],
    node: Choice,
    placePrice: number,
    cashPrice: number,
    roomPrice: number,
  ): number | null {
    let chosen: number | null = null
    let most = placePrice
    for (const index of group) {
      if (node[index] === TAKEN) return index
      if (node[index] === LEFT) continue
      const value = this.valueAt(index, cashPrice, roomPrice)
      if (value > most) {
        most = value
        chosen = index
      }
    }
    return chosen
  }

  /** At a price every dollar of an option is worth the same. */
  #sizeAt(index: number, cashPrice: number, roomPrice: number): number {
    const { gain, least, most, seizes } = this.#options[index] as Option
    return gain - cashPrice - roomPrice * seizes > 0 ? most : least
  }

  /** What an option brings at its best size, less what that size takes at these prices. */
  valueAt(index: number, cashPrice: number, roomPrice: number): number {
    const { gain, fixed, seizes } = this.#options[index] as Option
    return (gain - cashPrice - roomPrice * seizes) * this.#sizeAt(index, cashPrice, roomPrice) - fixed
  }
}

type Crossing = {
  readonly line: { readonly index: number; readonly value: number; readonly units: number }
  readonly price: number
}

/** The price at which there is as much as is used: null where depth costs nothing. */
const priceOf = ({ held, growth }: Room, used: number): number | null =>
  growth === 0 || used === 0 ? null : 2 * growth * (held + used)

function stocked(options: readonly Option[], room: Room, at: number): Stocked {
  const members = options.flatMap((option, index) => (option.room === at ? [index] : []))
  return { ...room, members, groups: [...Map.groupBy(members, (index) => options[index]?.group).values()] }
}
