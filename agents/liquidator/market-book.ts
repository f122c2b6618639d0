import type { Address } from 'viem'
import {
  ADDRESS_WORDS,
  hash,
  largestUint256,
  readUint256,
  UINT256_WORDS,
  widened,
  writeUint256,
} from './uint-codec.ts'

/** What makes a borrower liquidatable sooner or later: both stay put while price and interest move. */
export type Position = {
  readonly borrower: Address
  readonly debtShares: bigint
  readonly collateralAssets: bigint
}

/** Where health is 1: a position is under water if `debtShares × debtSide > collateralAssets × collateralSide`. */
export type Waterline = { readonly debtSide: bigint; readonly collateralSide: bigint }

/** Those who owe most, as they were found, and what would have to be owed to be one of them. */
type Largest = {
  readonly ids: ReadonlySet<number>
  readonly borrowers: readonly Address[]
  readonly least: number
}

/** Borrowers under water, and the nearest of the others, each from the most to the least endangered. */
export type Endangered = { readonly underWater: readonly Address[]; readonly nearest: readonly Address[] }

/** Both figures of a position. */
const FIGURE_WORDS = 2 * UINT256_WORDS
/** Of those who owe most. */
const LARGEST_MAX = 5
/** A ratio and the waterline's are three correctly rounded operations each: this is more than both are off by. */
const ROUNDING = 2 ** -50
/** Room grows by a quarter, so that at most a fifth of it is empty. */
const GROWTH = 1.25
const CAPACITY_LEAST = 16
/** Of the hash table; linear probing slows down beyond. */
const LOAD_MAX = 0.75
const NOT_FOUND = -1

/**
 * The positions of one market, the most endangered on top of a heap by debt shares per collateral. Neither a price nor
 * interest moves that order, so either costs nothing until somebody asks; a question costs the positions that it
 * returns, and a change of one position the depth of the heap. Everything lies in typed arrays: about 110 bytes each.
 */
export class MarketBook {
  #count = 0
  /** Ids up to here are, or were, in use; those of them that are not lie in `free`. */
  #issued = 0
  readonly #free: number[] = []
  /** By id. */
  #addresses = new Uint32Array(CAPACITY_LEAST * ADDRESS_WORDS)
  #figures = new BigUint64Array(CAPACITY_LEAST * FIGURE_WORDS)
  #places = new Int32Array(CAPACITY_LEAST)
  /** By place in the heap: ids and their ratios. What is asked for lies side by side, in whatever order it came in. */
  #heap = new Int32Array(CAPACITY_LEAST)
  #ratios = new Float64Array(CAPACITY_LEAST)
  /** By hash of the address: ids, one up; 0 is empty. */
  #table = new Int32Array(2 * CAPACITY_LEAST)
  readonly #asked = new Uint32Array(ADDRESS_WORDS)
  /** Null until asked for again, once one of them or somebody larger changed. */
  #largest: Largest | null = null

  /** Set what a borrower owes and has; without debt it leaves the book. */
  set({ borrower, debtShares, collateralAssets }: Position): void {
    const known = this.#idOf(borrower)
    if (this.#largest !== null && (this.#largest.ids.has(known) || Number(debtShares) >= this.#largest.least))
      this.#largest = null
    if (debtShares === 0n) {
      if (known !== NOT_FOUND) this.#remove(known)
      return
    }
    const id = known === NOT_FOUND ? this.#add() : known
    const at = id * FIGURE_WORDS
    writeUint256(this.#figures, at, debtShares)
    writeUint256(this.#figures, at + UINT256_WORDS, collateralAssets)
    this.#settle(id, Number(debtShares) / Number(collateralAssets), this.#places[id] as number)
  }

  /** Find who owes most, a few at most. Costs every position, but only once until one of them changes. */
  largest(): readonly Address[] {
    this.#largest ??= this.#findLargest()
    return this.#largest.borrowers
  }

  #findLargest(): Largest {
    // Who left owes nothing.
    const { places: ids, least } = largestUint256(this.#figures, FIGURE_WORDS, this.#issued, LARGEST_MAX)
    const borrowers = ids.map((id) => this.#borrowerAt(this.#places[id] as number))
    return { ids: new Set(ids), borrowers, least }
  }

  /** What a borrower has, 0 where it is not known. */
  collateralOf(borrower: Address): bigint {
    const id = this.#idOf(borrower)
    return id === NOT_FOUND ? 0n : this.#collateralAssets(id)
  }

  #idOf(borrower: Address): number {
    for (let word = 0; word < ADDRESS_WORDS; word += 1)
      this.#asked[word] = Number.parseInt(borrower.slice(2 + 8 * word, 10 + 8 * word), 16)
    return this.#find()
  }

  /** Find who is under water, by exact arithmetic, and at most `nearestMax` of those who come next. */
  endangered({ debtSide, collateralSide }: Waterline, nearestMax: number): Endangered {
    const ratio = Number(collateralSide) / Number(debtSide)
    const isUnder = (place: number) => {
      const its = this.#ratios[place] as number
      if (its > ratio * (1 + ROUNDING)) return true
      const id = this.#heap[place] as number
      return this.#debtShares(id) * debtSide > this.#collateralAssets(id) * collateralSide
    }
    const underWater: number[] = []
    const nearest: number[] = []
    const places = [0]
    const beyond: number[] = []
    for (let place = places.pop(); place !== undefined; place = places.pop()) {
      if (place >= this.#count) continue
      if ((this.#ratios[place] as number) < ratio * (1 - ROUNDING)) {
        beyond.push(place)
        continue
      }
      if (isUnder(place)) underWater.push(place)
      else nearest.push(place)
      places.push(2 * place + 1, 2 * place + 2)
    }
    nearest.sort(this.#inOrder)
    this.#takeNext(beyond, nearest, nearestMax)
    return {
      underWater: underWater.sort(this.#inOrder).map((place) => this.#borrowerAt(place)),
      nearest: nearest.slice(0, nearestMax).map((place) => this.#borrowerAt(place)),
    }
  }

  /** Add places from some on downwards, best first, until there are `max`. */
  #takeNext(from: readonly number[], taken: number[], max: number): void {
    const front = from.toSorted(this.#inOrder)
    while (taken.length < max) {
      const place = front.shift()
      if (place === undefined) return
      taken.push(place)
      for (const child of [2 * place + 1, 2 * place + 2]) {
        if (child >= this.#count) continue
        const after = front.findIndex((other) => this.#inOrder(child, other) < 0)
        front.splice(after === NOT_FOUND ? front.length : after, 0, child)
      }
    }
  }

  #borrowerAt(place: number): Address {
    const at = (this.#heap[place] as number) * ADDRESS_WORDS
    let digits = ''
    for (const word of this.#addresses.subarray(at, at + ADDRESS_WORDS))
      digits += word.toString(16).padStart(8, '0')
    return `0x${digits}`
  }

  #debtShares(id: number): bigint {
    return readUint256(this.#figures, id * FIGURE_WORDS)
  }

  #collateralAssets(id: number): bigint {
    return readUint256(this.#figures, id * FIGURE_WORDS + UINT256_WORDS)
  }

  /** Compare two places of the heap in the order of the list. */
  readonly #inOrder = (one: number, other: number): number =>
    this.#isBefore(this.#heap[one] as number, this.#ratios[one] as number, other) ? -1 : 1

  /** The more endangered first; equals by address, so that the order is one whatever came in when. */
  #isBefore(id: number, ratio: number, place: number): boolean {
    const otherRatio = this.#ratios[place] as number
    if (ratio !== otherRatio) return ratio > otherRatio
    const other = this.#heap[place] as number
    for (let word = 0; word < ADDRESS_WORDS; word += 1) {
      const left = this.#addresses[id * ADDRESS_WORDS + word] as number
      const right = this.#addresses[other * ADDRESS_WORDS + word] as number
      if (left !== right) return left < right
    }
    return false
  }

  #add(): number {
    const id = this.#free.pop() ?? this.#issued++
    if (id >= this.#heap.length) this.#grow()
    this.#addresses.set(this.#asked, id * ADDRESS_WORDS)
    this.#heap[this.#count] = id
    this.#places[id] = this.#count
    this.#count += 1
    if (this.#count > this.#table.length * LOAD_MAX) this.#rehash()
    else this.#enter(id)
    return id
  }

  #remove(id: number): void {
    this.#leave(id)
    writeUint256(this.#figures, id * FIGURE_WORDS, 0n)
    const place = this.#places[id] as number
    this.#count -= 1
    const last = this.#heap[this.#count] as number
    this.#free.push(id)
    if (last !== id) this.#settle(last, this.#ratios[this.#count] as number, place)
  }

  #put(id: number, ratio: number, place: number): void {
    this.#heap[place] = id
    this.#ratios[place] = ratio
    this.#places[id] = place
  }

  /** Put an id where it belongs, from a free place on, or from its own. */
  #settle(id: number, ratio: number, from: number): void {
    let place = from
    const lift = (other: number) => {
      this.#put(this.#heap[other] as number, this.#ratios[other] as number, place)
      place = other
    }
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!this.#isBefore(id, ratio, parent)) break
      lift(parent)
    }
    for (;;) {
      let child = 2 * place + 1
      if (child >= this.#count) break
      if (child + 1 < this.#count && this.#inOrder(child + 1, child) < 0) child += 1
      if (this.#isBefore(id, ratio, child)) break
      lift(child)
    }
    this.#put(id, ratio, place)
  }

  #grow(): void {
    const capacity = Math.ceil(this.#heap.length * GROWTH)
    this.#addresses = widened(this.#addresses, new Uint32Array(capacity * ADDRESS_WORDS))
    this.#figures = widened(this.#figures, new BigUint64Array(capacity * FIGURE_WORDS))
    this.#ratios = widened(this.#ratios, new Float64Array(capacity))
    this.#places = widened(this.#places, new Int32Array(capacity))
    this.#heap = widened(this.#heap, new Int32Array(capacity))
  }

  /** The id of the address that was asked for. */
  #find(): number {
    const mask = this.#table.length - 1
    for (let at = hash(this.#asked, 0) & mask; ; at = (at + 1) & mask) {
      const id = (this.#table[at] as number) - 1
      if (id < 0 || this.#isAsked(id)) return id
    }
  }

  #isAsked(id: number): boolean {
    for (let word = 0; word < ADDRESS_WORDS; word += 1)
      if (this.#addresses[id * ADDRESS_WORDS + word] !== this.#asked[word]) return false
    return true
  }

  #enter(id: number): void {
    const mask = this.#table.length - 1
    let at = this.#homeOf(id)
    while (this.#table[at] !== 0) at = (at + 1) & mask
    this.#table[at] = id + 1
  }

  /** Empty an id's entry, and move up those behind it that would not be found across the hole. */
  #leave(id: number): void {
    const mask = this.#table.length - 1
    let hole = this.#homeOf(id)
    while (this.#table[hole] !== id + 1) hole = (hole + 1) & mask
    for (let at = (hole + 1) & mask; this.#table[at] !== 0; at = (at + 1) & mask) {
      const entry = this.#table[at] as number
      const home = this.#homeOf(entry - 1)
      if (((at - home) & mask) < ((at - hole) & mask)) continue
      this.#table[hole] = entry
      hole = at
    }
    this.#table[hole] = 0
  }

  #homeOf(id: number): number {
    return hash(this.#addresses, id * ADDRESS_WORDS) & (this.#table.length - 1)
  }

  #rehash(): void {
    this.#table = new Int32Array(2 * this.#table.length)
    for (let place = 0; place < this.#count; place += 1) this.#enter(this.#heap[place] as number)
  }
}
