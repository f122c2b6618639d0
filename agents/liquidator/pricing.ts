/**
 * One repayment that could be made, sized in dollars of one loan asset: `x` dollars bring `gain·x − growth·x² − fixed`.
 * Sizes are searched in floating point; what proposes them checks every limit again in base units.
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
  readonly growth: number
  readonly fixed: number
}

/** What a set must fit in: dollars of the loan asset, units of each inventory room, and how many. */
export type Limits = { readonly cash: number; readonly rooms: readonly number[]; readonly countMax: number }

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

/** What lies in one inventory room: its options, those by group, and a price at which none of them pays. */
type Room = {
  readonly limit: number
  readonly members: readonly number[]
  readonly groups: readonly (readonly number[])[]
  readonly priceMax: number
}
type Scratch = readonly [Float64Array, Float64Array, Float64Array]

/** Options that answer prices: each with the size that brings it most. */
export class Pricing {
  readonly rooms: readonly Room[]
  readonly #options: readonly Option[]
  readonly #cash: number
  readonly #gainMax: number
  /** Sizes while a price is searched, of cash and of a room: written over each time. */
  readonly #cashScratch: Scratch
  readonly #roomScratch: Scratch
  #answers = 0

  constructor(options: readonly Option[], { cash, rooms }: Limits) {
    this.#options = options
    this.#cash = cash
    this.rooms = rooms.map((limit, room) => roomOf(options, room, limit))
    this.#gainMax = Math.max(0, ...options.map(({ gain }) => gain))
    const sizes = () => new Float64Array(options.length)
    this.#cashScratch = [sizes(), sizes(), sizes()]
    this.#roomScratch = [sizes(), sizes(), sizes()]
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
    const found = this.#priceThatFits(this.#cash, this.#gainMax, at, this.#cashScratch)
    if (found === null) return null
    const sizes = found.sizes.slice()
    // Once more, for the rooms' prices beside this one of cash.
    at(found.price, this.#cashScratch[0])
    return { sizes, placePrice, cashPrice: found.price, roomPrices }
  }

  /** Fill in the sizes of one room, at the price at which they fit. @returns that price. */
  #answerRoom(
    { limit, groups, members, priceMax }: Room,
    node: Choice,
    placePrice: number,
    cashPrice: number,
    sizes: Float64Array,
  ): number | null {
    const at = (price: number, into: Float64Array) => {
      let used = 0
      this.#answers += groups.length
      for (const group of groups) {
        const index = this.choose(group, node, placePrice, cashPrice, price)
        for (const each of group) into[each] = 0
        if (index === null) continue
        const size = this.#sizeAt(index, cashPrice, price)
        into[index] = size
        used += size * (this.#options[index] as Option).seizes
      }
      return used
    }
    const found = this.#priceThatFits(limit, priceMax, at, this.#roomScratch)
    if (found === null) return null
    for (const index of members) sizes[index] = found.sizes[index] as number
    return found.price
  }

  /**
   * Find the least price at which what `at` fills in takes no more than a limit, by halving, and mix the sizes on both
   * sides of it. Null when even the highest price does not make it fit. The sizes are one of the scratch's.
   */
  #priceThatFits(
    limit: number,
    priceMax: number,
    at: (price: number, into: Float64Array) => number | null,
    scratch: Scratch,
  ): { readonly price: number; readonly sizes: Float64Array } | null {
    let [over, under, spare] = scratch
    let overUsed = at(0, over)
    if (overUsed === null) return null
    if (overUsed <= limit) return { price: 0, sizes: over }
    let high = priceMax * (1 + BEYOND)
    let underUsed = at(high, under)
    if (underUsed === null || underUsed > limit) return null
    let low = 0
    for (let halving = 0; halving < HALVINGS; halving += 1) {
      const price = (low + high) / 2
      const used = at(price, spare)
      if (used === null) return null
      if (used > limit) {
        ;[over, spare, overUsed, low] = [spare, over, used, price]
      } else {
        ;[under, spare, underUsed, high] = [spare, under, used, price]
      }
    }
    const share = (limit - underUsed) / (overUsed - underUsed)
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

  #sizeAt(index: number, cashPrice: number, roomPrice: number): number {
    const { gain, growth, least, most, seizes } = this.#options[index] as Option
    const slope = gain - cashPrice - roomPrice * seizes
    if (slope <= 0) return least
    return growth === 0 ? most : Math.min(most, Math.max(least, slope / (2 * growth)))
  }

  /** What an option brings at its best size, less what that size takes at these prices. */
  valueAt(index: number, cashPrice: number, roomPrice: number): number {
    const { gain, growth, fixed, seizes } = this.#options[index] as Option
    const size = this.#sizeAt(index, cashPrice, roomPrice)
    return (gain - cashPrice - roomPrice * seizes - growth * size) * size - fixed
  }
}

/** What a size brings; 0 is not taken. Pure. */
export const profitOf = ({ gain, growth, fixed }: Option, size: number) =>
  size === 0 ? 0 : (gain - growth * size) * size - fixed

function roomOf(options: readonly Option[], room: number, limit: number): Room {
  const members = options.flatMap((option, index) => (option.room === room ? [index] : []))
  const byGroup = Map.groupBy(members, (index) => options[index]?.group)
  const priceMax = Math.max(0, ...members.map((index) => gainOfRoom(options[index] as Option)))
  return { limit, members, groups: [...byGroup.values()], priceMax }
}

/** What a unit of the room brings at most. */
const gainOfRoom = ({ gain, seizes }: Option) => gain / seizes
