import {
  type Answer,
  type Choice,
  exitCost,
  LEFT,
  type Limits,
  OPEN,
  type Option,
  Pricing,
  type Room,
  TAKEN,
  unitsAt,
} from './pricing.ts'
import { profitsOf, sizeThatPays } from './sold-together.ts'

/** The set that was found: dollars by option (0 is not taken), what it brings, and what no set can bring more than. */
export type BestSet = {
  readonly sizes: readonly number[]
  readonly value: number
  readonly bound: number
  /** What a dollar of cash, and a unit of each room, would bring more; 0 where there is enough. */
  readonly cashPrice: number
  readonly roomPrices: readonly number[]
}

/** The price of a place only ranks options and tightens the bound. */
const PLACE_HALVINGS = 12
/** A set this close to its bound is the best one. */
const GAP_ENOUGH = 1e-6
/** Less than rounding takes from a profit, dollars. */
const SLACK = 1e-6
/** Answers of options in all nodes together: a few milliseconds, counted so that a decision never depends on a clock. */
const ANSWERS_MAX = 80_000

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

class Search {
  readonly #options: readonly Option[]
  readonly #limits: Limits
  readonly #pricing: Pricing
  readonly #valueMax: number
  #best: Answer
  #value = 0
  /** What sets that were looked at to the end, and not sized as well as could be, could bring at most. */
  #unsettled = 0
  /** Answers that were asked of others than `#pricing`. */
  #answersBeside = 0

  constructor(options: readonly Option[], limits: Limits) {
    this.#options = options
    this.#limits = limits
    this.#pricing = new Pricing(options, limits)
    this.#valueMax = Math.max(0, ...options.map((_, index) => this.#most(index)))
    this.#best = {
      sizes: new Float64Array(options.length),
      placePrice: 0,
      cashPrice: 0,
      roomPrices: new Float64Array(limits.rooms.length),
    }
  }

  /** How many answers of options this took so far. */
  get answers(): number {
    return this.#pricing.answers
  }

  /** The best set so far; `bound` is what the nodes that were not looked at allow, null when there are none. */
  best(bound: number | null): BestSet {
    const { sizes, cashPrice, roomPrices } = this.#best
    const value = this.#value
    return {
      sizes: [...sizes],
      value,
      bound: Math.max(value, bound ?? 0, this.mayBeat(this.#unsettled) ? this.#unsettled : 0),
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
      this.#members(
        node,
        ranked.filter((index) => (answer.sizes[index] as number) > 0),
      ),
    )
    // Where places are few, the best for its size is not the largest.
    const byProfit = ranked.toSorted((one, other) => this.#most(other) - this.#most(one))
    for (const order of [ranked, byProfit]) this.#try(this.#members(node, this.#thatFit(node, order)))
    const branch = this.#branch(node, answer, ranked)
    if (branch === null && this.mayBeat(bound)) this.#unsettled = Math.max(this.#unsettled, bound)
    return { bound, branch }
  }

  /** Open options by what they bring for what they take at these prices, best first. */
  #ranked(node: Choice, { placePrice, cashPrice, roomPrices }: Answer): readonly number[] {
    const worth = this.#options.map((option, index) => {
      const roomPrice = roomPrices[option.room] as number
      if (placePrice > 0) return this.#pricing.valueAt(index, cashPrice, roomPrice)
      const price = option.most * (cashPrice + roomPrice * option.seizes)
      return this.#most(index) / Math.max(price, Number.MIN_VALUE)
    })
    const taken = new Set(this.#options.flatMap(({ group }, index) => (node[index] === TAKEN ? [group] : [])))
    return this.#options
      .flatMap(({ group }, index) => (node[index] === OPEN && !taken.has(group) ? [index] : []))
      .toSorted((one, other) => (worth[other] as number) - (worth[one] as number) || one - other)
  }

  /** What an option could bring, were it alone and its exit for nothing. */
  #most(index: number): number {
    const { gain, most, fixed } = this.#options[index] as Option
    return gain * Math.min(most, this.#limits.cash) - fixed
  }

  /** Take ranked options as far as there is room and another dollar of them pays. */
  #thatFit(node: Choice, ranked: readonly number[]): readonly number[] {
    let cash = this.#limits.cash
    const used = this.#limits.rooms.map(() => 0)
    const use = (index: number, size: number) => {
      const { room, seizes } = this.#options[index] as Option
      cash -= size
      used[room] = (used[room] as number) + size * seizes
    }
    this.#options.forEach(({ least }, index) => {
      if (node[index] === TAKEN) use(index, least)
    })
    const groups = new Set<number>()
    return ranked.filter((index) => {
      const { group, room, seizes, least, most, gain, fixed } = this.#options[index] as Option
      const { held, ...limit } = this.#limits.rooms[room] as Room
      const beside = used[room] as number
      const left = { ...limit, most: limit.most - beside, held: held + beside }
      const fits = Math.min(most, cash, unitsAt(left, gain / seizes) / seizes)
      if (fits < least || groups.has(group)) return false
      if (gain * fits - fixed <= exitCost(left, fits * seizes)) return false
      groups.add(group)
      use(index, fits)
      return true
    })
  }

  /** What a node takes, and of ranked options those that may be taken beside it. */
  #members(node: Choice, ranked: readonly number[]): readonly number[] {
    const groups = new Set<number>()
    const taken = [...node.keys()].filter((index) => node[index] === TAKEN)
    return [...taken, ...ranked].filter((index) => {
      const { group } = this.#options[index] as Option
      if (groups.has(group) || groups.size >= this.#limits.countMax) return false
      groups.add(group)
      return true
    })
  }

  /**
   * Size a set as well as it can be, and keep it when it beats the best so far. One that brings too little in it is tried
   * larger, and the set without it.
   */
  #try(members: readonly number[]): void {
    const only = new Int8Array(this.#options.length).fill(LEFT)
    for (const index of members) only[index] = TAKEN
    const set = ({ sizes }: Answer) => ({ options: this.#options, limits: this.#limits, members, sizes })
    const larger = new Map<number, number>()
    let answer = this.#pricing.answer(only, 0)
    let without: readonly number[] = []
    while (answer !== null) {
      const brings = profitsOf(set(answer))
      const least = Math.min(...brings)
      if (least >= this.#limits.floor - SLACK) {
        const value = brings.reduce((sum, each) => sum + each, 0)
        if (value <= this.#value) break
        this.#value = value
        this.#best = answer
        break
      }
      const at = brings.indexOf(least)
      const short = members[at] as number
      if (larger.size === 0) without = members.toSpliced(at, 1)
      const enough = larger.has(short) ? null : sizeThatPays(short, set(answer))
      if (enough === null || this.#answersBeside >= ANSWERS_MAX) break
      larger.set(short, enough)
      answer = this.#answerWith(larger, only)
    }
    if (without.length > 0) this.#try(without)
  }

  /** Answer a set some of which are that large at least. */
  #answerWith(larger: ReadonlyMap<number, number>, only: Choice): Answer | null {
    const options = this.#options.map((option, index) => ({
      ...option,
      least: larger.get(index) ?? option.least,
    }))
    const pricing = new Pricing(options, this.#limits)
    const answer = pricing.answer(only, 0)
    this.#answersBeside += pricing.answers
    return answer
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
    for (const [room, stocked] of this.#pricing.rooms.entries()) {
      const price = roomPrices[room] as number
      const units = unitsAt(stocked, price)
      bound += price * units - exitCost(stocked, units)
      for (const group of stocked.groups) {
        const index = this.#pricing.choose(group, node, 0, cashPrice, price)
        if (index === null) continue
        const value = this.#pricing.valueAt(index, cashPrice, price)
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
    let few = this.#pricing.answer(node, 0)
    if (few === null || !isMany(few)) return few
    let low = 0
    let high = this.#valueMax
    for (let halving = 0; halving < PLACE_HALVINGS && this.answers < ANSWERS_MAX; halving += 1) {
      const price = (low + high) / 2
      const answer = this.#pricing.answer(node, price)
      if (answer === null || isMany(answer)) low = price
      else {
        few = answer
        high = price
      }
    }
    return few
  }
}
