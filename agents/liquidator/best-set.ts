/**
 * One repayment that could be made, sized in dollars of one loan asset: `x` dollars bring `gain·x − growth·x² − fixed`.
 * Sizes are searched in floating point; whoever proposes them holds every limit again in base units.
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

/** The set that was found: dollars by option (0 is not taken), what it brings, and what no set can bring more than. */
export type BestSet = {
  readonly sizes: readonly number[]
  readonly value: number
  readonly bound: number
  /** What a dollar of cash, and a unit of each room, would bring more; 0 where there is enough. */
  readonly cashPrice: number
  readonly roomPrices: readonly number[]
}

/** Halvings of a price's bracket: to a millionth of it. */
const HALVINGS = 20
/** The price of a place only ranks options and tightens the bound. */
const PLACE_HALVINGS = 12
/** A set this close to its bound is the best one. */
const GAP_ENOUGH = 1e-6
/** Answers of options in all nodes together: a few milliseconds, counted so that a decision never depends on a clock. */
const ANSWERS_MAX = 80_000

/** Each option of one search is open, taken in any case, or left out. */
const OPEN = 0
const TAKEN = 1
const LEFT = 2
type Choice = Int8Array

/** Sizes that answer a price of every limit, and those prices. */
type Answer = {
  readonly sizes: Float64Array
  readonly placePrice: number
  readonly cashPrice: number
  readonly roomPrices: Float64Array
}

/**
 * Find the set of repayments, and their sizes, that brings most within the limits. Pure.
 *
 * Each limit gets a price, at which each option answers with the size that brings it most; the prices at which the
 * answers just fit bound every set (weak duality), and mixing the answers on both sides of such a price fits exactly.
 * What an option costs whatever its size makes it a choice, so branch and bound goes on until value and bound meet:
 * exact for small sets, with a known gap for those that stop at {@link ANSWERS_MAX}.
 */
export function bestSet(options: readonly Option[], limits: Limits): BestSet {
  const search = new Search(options, limits)
  const nodes: Choice[] = [new Int8Array(options.length)]
  let bound: number | null = null
  while (search.answers < ANSWERS_MAX) {
    const node = nodes.pop()
    if (node === undefined) break
    const found = search.lookAt(node)
    bound ??= found.bound
    if (found.branch === null || !search.mayBeat(found.bound)) continue
    const left = node.slice()
    left[found.branch] = LEFT
    const taken = node.slice()
    taken[found.branch] = TAKEN
    nodes.push(left, taken)
  }
  return search.best(nodes.length === 0 ? null : bound)
}

/** What lies in one inventory room: its options, those by group, and a price at which none of them pays. */
type Room = {
  readonly limit: number
  readonly members: readonly number[]
  readonly groups: readonly (readonly number[])[]
  readonly priceMax: number
}
type Scratch = readonly [Float64Array, Float64Array, Float64Array]

class Search {
  readonly #options: readonly Option[]
  readonly #limits: Limits
  readonly #rooms: readonly Room[]
  /** Sizes while a price is searched, of cash and of a room: written over each time. */
  readonly #cashScratch: Scratch
  readonly #roomScratch: Scratch
  readonly #gainMax: number
  readonly #valueMax: number
  #best: Answer
  #value = 0
  #answers = 0

  constructor(options: readonly Option[], limits: Limits) {
    this.#options = options
    this.#limits = limits
    this.#rooms = limits.rooms.map((limit, room) => roomOf(options, room, limit))
    const sizes = () => new Float64Array(options.length)
    this.#cashScratch = [sizes(), sizes(), sizes()]
    this.#roomScratch = [sizes(), sizes(), sizes()]
    this.#gainMax = Math.max(0, ...options.map(({ gain }) => gain))
    this.#valueMax = Math.max(0, ...options.map((option) => profitOf(option, option.most)))
    this.#best = {
      sizes: new Float64Array(options.length),
      placePrice: 0,
      cashPrice: 0,
      roomPrices: new Float64Array(limits.rooms.length),
    }
  }

  /** How many answers of options this took so far. */
  get answers(): number {
    return this.#answers
  }

  /** The best set so far; `bound` is what the nodes that were not looked at allow, null when there are none. */
  best(bound: number | null): BestSet {
    const { sizes, cashPrice, roomPrices } = this.#best
    const value = this.#value
    return {
      sizes: [...sizes],
      value,
      bound: Math.max(value, bound ?? 0),
      cashPrice,
      roomPrices: [...roomPrices],
    }
  }

  mayBeat(bound: number): boolean {
    return bound > this.#value * (1 + GAP_ENOUGH) + GAP_ENOUGH
  }

  /** Bound a node, try the sets that its prices suggest, and name an option to branch on: null where none is left. */
  lookAt(node: Choice): { readonly bound: number; readonly branch: number | null } {
    const answer = this.#answerFew(node)
    if (answer === null) return { bound: 0, branch: null }
    const bound = this.#bound(node, answer)
    if (!this.mayBeat(bound)) return { bound, branch: null }
    const ranked = this.#ranked(node, answer)
    this.#try(
      node,
      ranked.filter((index) => (answer.sizes[index] as number) > 0),
    )
    this.#try(node, this.#thatFit(node, ranked))
    return { bound, branch: this.#branch(node, answer, ranked) }
  }

  /** Open options by what they bring for what they take at these prices, best first. */
  #ranked(node: Choice, { placePrice, cashPrice, roomPrices }: Answer): readonly number[] {
    const worth = this.#options.map((option, index) => {
      const roomPrice = roomPrices[option.room] as number
      if (placePrice > 0) return this.#valueAt(index, cashPrice, roomPrice)
      const price = option.most * (cashPrice + roomPrice * option.seizes)
      return profitOf(option, option.most) / Math.max(price, Number.MIN_VALUE)
    })
    const taken = new Set(this.#options.flatMap(({ group }, index) => (node[index] === TAKEN ? [group] : [])))
    return this.#options
      .flatMap(({ group }, index) => (node[index] === OPEN && !taken.has(group) ? [index] : []))
      .toSorted((one, other) => (worth[other] as number) - (worth[one] as number) || one - other)
  }

  /** Take ranked options at their full size while there is room, the last in part. */
  #thatFit(node: Choice, ranked: readonly number[]): readonly number[] {
    let cash = this.#limits.cash
    const rooms = [...this.#limits.rooms]
    const use = (index: number, size: number) => {
      const { room, seizes } = this.#options[index] as Option
      cash -= size
      rooms[room] = (rooms[room] as number) - size * seizes
    }
    this.#options.forEach(({ least }, index) => {
      if (node[index] === TAKEN) use(index, least)
    })
    const groups = new Set<number>()
    return ranked.filter((index) => {
      const { group, room, seizes, least, most } = this.#options[index] as Option
      const fits = Math.min(most, cash, (rooms[room] as number) / seizes)
      if (fits < least || groups.has(group)) return false
      groups.add(group)
      use(index, fits)
      return true
    })
  }

  /** Size a set as well as it can be, and keep it when it beats the best so far. */
  #try(node: Choice, ranked: readonly number[]): void {
    const only = new Int8Array(node.length).fill(LEFT)
    const groups = new Set<number>()
    let count = 0
    const take = (index: number) => {
      const { group } = this.#options[index] as Option
      if (groups.has(group) || count >= this.#limits.countMax) return
      groups.add(group)
      only[index] = TAKEN
      count += 1
    }
    for (let index = 0; index < node.length; index += 1) if (node[index] === TAKEN) take(index)
    for (const index of ranked) take(index)
    const answer = this.#answer(only, 0)
    if (answer === null) return
    const value = this.#options.reduce(
      (sum, option, index) => sum + profitOf(option, answer.sizes[index] as number),
      0,
    )
    if (value <= this.#value) return
    this.#value = value
    this.#best = answer
  }

  /** An option that is taken by half, or else the best open one that the set does not settle. */
  #branch(node: Choice, { sizes }: Answer, ranked: readonly number[]): number | null {
    const size = (index: number) => sizes[index] as number
    const half = ranked.find(
      (index) => size(index) > 0 && size(index) < (this.#options[index] as Option).least,
    )
    return (
      half ?? ranked.find((index) => size(index) > 0) ?? ranked.find((index) => node[index] === OPEN) ?? null
    )
  }

  /** What no set of a node can bring more than, at whatever prices. */
  #bound(node: Choice, { cashPrice, roomPrices }: Answer): number {
    const { cash, countMax } = this.#limits
    let bound = cashPrice * cash
    let left = countMax
    const open: number[] = []
    for (const [room, { limit, groups }] of this.#rooms.entries()) {
      bound += (roomPrices[room] as number) * limit
      for (const group of groups) {
        const index = this.#choose(group, node, 0, cashPrice, roomPrices[room] as number)
        if (index === null) continue
        const value = this.#valueAt(index, cashPrice, roomPrices[room] as number)
        if (node[index] !== TAKEN) open.push(value)
        else {
          bound += value
          left -= 1
        }
      }
    }
    for (const value of open.toSorted((one, other) => other - one).slice(0, Math.max(0, left))) bound += value
    return bound
  }

  /** Find the prices of a node, with one for a place in the set where places are few. */
  #answerFew(node: Choice): Answer | null {
    const isMany = ({ sizes }: Answer) => sizes.filter((size) => size > 0).length > this.#limits.countMax
    let few = this.#answer(node, 0)
    if (few === null || !isMany(few)) return few
    let low = 0
    let high = this.#valueMax
    for (let halving = 0; halving < PLACE_HALVINGS && this.#answers < ANSWERS_MAX; halving += 1) {
      const price = (low + high) / 2
      const answer = this.#answer(node, price)
      if (answer === null || isMany(answer)) low = price
      else {
        few = answer
        high = price
      }
    }
    return few
  }

  /** Find the prices at which the answers fit, and mix them so that they do; null when what is taken cannot fit. */
  #answer(node: Choice, placePrice: number): Answer | null {
    const roomPrices = new Float64Array(this.#rooms.length)
    const { cash } = this.#limits
    const at = (cashPrice: number, sizes: Float64Array) => {
      let used = 0
      for (const [index, room] of this.#rooms.entries()) {
        const price = this.#answerRoom(room, node, placePrice, cashPrice, sizes)
        if (price === null) return null
        roomPrices[index] = price
        for (const member of room.members) used += sizes[member] as number
      }
      return used
    }
    const found = this.#priceThatFits(cash, this.#gainMax, at, this.#cashScratch)
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
        const index = this.#choose(group, node, placePrice, cashPrice, price)
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
    let high = priceMax * (1 + GAP_ENOUGH)
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
  #choose(
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
      const value = this.#valueAt(index, cashPrice, roomPrice)
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

  #valueAt(index: number, cashPrice: number, roomPrice: number): number {
    const { gain, growth, fixed, seizes } = this.#options[index] as Option
    const size = this.#sizeAt(index, cashPrice, roomPrice)
    return (gain - cashPrice - roomPrice * seizes - growth * size) * size - fixed
  }
}

const profitOf = ({ gain, growth, fixed }: Option, size: number) =>
  size === 0 ? 0 : (gain - growth * size) * size - fixed

function roomOf(options: readonly Option[], room: number, limit: number): Room {
  const members = options.flatMap((option, index) => (option.room === room ? [index] : []))
  const byGroup = Map.groupBy(members, (index) => options[index]?.group)
  const priceMax = Math.max(0, ...members.map((index) => gainOfRoom(options[index] as Option)))
  return { limit, members, groups: [...byGroup.values()], priceMax }
}

/** What a unit of the room brings at most. */
const gainOfRoom = ({ gain, seizes }: Option) => gain / seizes
