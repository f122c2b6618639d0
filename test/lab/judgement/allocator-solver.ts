import type { Lane, Pool } from '../../../agents/allocator/lane.ts'

/** A smooth stretch of a lane's value, its ends included; a single point where they are the same. */
type Stretch = { readonly low: number; readonly high: number; readonly lane: Lane }

/** How far a bound may lie above a value that is proved by it: a part of it. */
const ENOUGH = 5e-4
const CELLS = [1_000, 2_000, 4_000, 8_000]
/** Any price gives a true bound; the tightest need not be that of the whole problem. */
const PRICE_FACTORS = [1, 0.9, 1.1, 0.75, 1.33, 0.5, 2, 0]

/**
 * Bound from above what any allocation of a pool can be worth, knowing nothing of how the agent solves it: values come
 * from the definition, maxima from interval branch and bound, and where a price for the budget alone is not tight enough,
 * from dynamic programming over cells of the budget. Pure.
 * @param value what is to be proved: the search stops once the bound is near enough to it.
 */
export function certify(pool: Pool, value: number): number {
  const enough = value + ENOUGH * Math.abs(value)
  const { price, bound } = priceBound(pool)
  let best = bound
  for (const cells of CELLS) {
    for (const factor of PRICE_FACTORS) {
      if (best <= enough) return best
      best = Math.min(best, cellBound(pool, price * factor, cells))
    }
  }
  return best
}

/** What is owed in a lane over the horizon, and for which part of it. */
const statesOf = ({ borrowed, usual, lasts }: Lane) => [
  { owed: borrowed, part: lasts },
  ...usual.map(({ owed, part }) => ({ owed, part: (1 - lasts) * part })),
]

/**
 * What `amount` is worth by the definition: interest by the utilisation that it makes, on it and on what else is ours
 * there, losses, what experience adds, what being lent counts for, and the cost of the move.
 */
function worth(lane: Lane, amount: number, { horizonS, turnoverCost }: Pool): number {
  const rates = statesOf(lane).map(({ owed, part }) => part * rateAt(lane, amount, owed))
  const rate = rates.reduce((sum, one) => sum + one, 0)
  const moved = Math.abs(amount - lane.held)
  const cost = moved === 0 ? 0 : lane.touchCost + turnoverCost * moved
  const learned = lane.learnedRate * Math.max(0, amount - lane.held)
  const earned = (amount + lane.ours) * rate - amount * lane.lossRate + learned
  return earned * horizonS + lane.lentWorth * amount - cost
}

/** Of what the kink lends of a token a quarter comes back to a market at its kink, three quarters where all is lent out. */
function backOf({ rate, others, held }: Lane, owed: number): number {
  if (typeof rate === 'number') return 0
  const beyond = Math.min(1, owed / (others + held)) - rate.kink
  return beyond <= 0 ? 0 : 0.25 + (0.5 * beyond) / (1 - rate.kink)
}

/** What is owed once so much came that utilisation is down at the kink: `B = owed + e·kink·x` meets `kink·(U + x)`. */
function returnsTo(lane: Lane, owed: number): number {
  const { rate, others, held } = lane
  const back = backOf(lane, owed)
  if (typeof rate === 'number' || back === 0) return owed
  return owed + (back * (owed - rate.kink * (others + held))) / (1 - back)
}

function rateAt(lane: Lane, amount: number, owed: number): number {
  const { rate, others, held, lenderShare } = lane
  if (typeof rate === 'number') return rate
  const supplied = others + amount
  // Who leaves raises no rate beyond the kink, or beyond what it is.
  const most = amount < held ? Math.max(rate.kink, owed / (others + held)) : 1
  // Of each token that comes beyond it a part is borrowed anew, until it is down at it.
  const added = Math.max(0, amount - held) * rate.kink * backOf(lane, owed)
  const back = Math.min(added, returnsTo(lane, owed) - owed)
  const used = supplied === 0 ? 0 : Math.min(1, most, (owed + back) / supplied)
  const { base, slope1, slope2, kink } = rate
  const low = base + (slope1 * Math.min(used, kink)) / kink
  return (low + (slope2 * Math.max(0, used - kink)) / (1 - kink)) * used * lenderShare
}

/** Worth at the end of an open stretch: the fixed cost counts even where it meets what is held. */
const worthIn = ({ low, high, lane }: Stretch, amount: number, pool: Pool): number =>
  worth(lane, amount, pool) - (amount === lane.held && low !== high ? lane.touchCost : 0)

function stretchesOf(lane: Lane): readonly Stretch[] {
  const { held, least, most, rate, others, supplyLeast } = lane
  const kinks =
    typeof rate === 'number'
      ? []
      : statesOf(lane).flatMap(({ owed }) =>
          [owed, returnsTo(lane, owed)].map((most) => most / rate.kink - others),
        )
  const cut = (low: number, high: number): readonly Stretch[] => {
    if (low > high) return []
    const inside = kinks.filter((kink) => kink > low && kink < high).toSorted((one, other) => one - other)
    return [...inside, high].map((end, index) => ({ low: inside[index - 1] ?? low, high: end, lane }))
  }
  const stay = held >= least && held <= most ? [{ low: held, high: held, lane }] : []
  return [...cut(least, Math.min(held, most)), ...stay, ...cut(Math.max(held, least, supplyLeast), most)]
}

/**
 * Bound the second derivative on a stretch. The value is a sum of multiples of x/U and x/U²; their second derivatives are
 * −2·O/U³ and 6·x/U⁴ − 4/U³, at most 2·O/U³ and 4/U³ in size, largest where U is least.
 */
function bendOf({ lane, low, high }: Stretch, { horizonS }: Pool): number {
  const { rate, others, lenderShare } = lane
  if (typeof rate === 'number' || low === high) return 0
  const bends = statesOf(lane).map(({ owed, part }) => {
    const middle = others + (low + high) / 2
    const most = returnsTo(lane, owed)
    const rises = most / middle <= rate.kink ? rate.slope1 / rate.kink : rate.slope2 / (1 - rate.kink)
    const level = rate.base + rate.slope1 + 3 * rises
    return owed === 0 ? 0 : part * most * (level * 2 * others + rises * most * 4)
  })
  return (horizonS * lenderShare * bends.reduce((sum, bend) => sum + bend, 0)) / (others + low) ** 3
}

/** Bound worth less price on a stretch: halve it until the bend of what may still be the maximum is too small to matter. */
function highestIn(whole: Stretch, price: number, pool: Pool, precision: number): readonly [number, number] {
  const at = (amount: number) => worthIn(whole, amount, pool) - price * amount
  let [best, where] = [at(whole.low), whole.low]
  let bound = best
  const open: Stretch[] = [whole]
  for (let stretch = open.pop(); stretch !== undefined; stretch = open.pop()) {
    const { low, high } = stretch
    const [left, right] = [at(low), at(high)]
    if (right > best) [best, where] = [right, high]
    // Where the slope is zero inside, the nearer end lies at most half the width away.
    const upper = Math.max(left, right) + (bendOf(stretch, pool) * (high - low) ** 2) / 8
    if (upper <= best + precision || high - low < 1e-9 * (high + 1)) {
      bound = Math.max(bound, upper)
      continue
    }
    const middle = (low + high) / 2
    const value = at(middle)
    if (value > best) [best, where] = [value, middle]
    open.push({ ...stretch, high: middle }, { ...stretch, low: middle })
  }
  return [Math.max(bound, best), where]
}

/** The least bound that a price for the budget gives. */
function priceBound(pool: Pool): { readonly price: number; readonly bound: number } {
  const stretches = pool.lanes.map(stretchesOf)
  const size = pool.lanes.reduce((sum, lane) => sum + Math.abs(worth(lane, lane.held, pool)), 1)
  const precision = (1e-6 * size) / pool.lanes.length
  const at = (price: number) => {
    let [bound, total] = [price * pool.budget, 0]
    for (const own of stretches) {
      let [most, amount] = [Number.NEGATIVE_INFINITY, 0]
      for (const stretch of own) {
        const [upper, where] = highestIn(stretch, price, pool, precision)
        if (upper > most) [most, amount] = [upper, where]
      }
      bound += most
      total += amount
    }
    return { bound, total }
  }
  let best = { price: 0, bound: at(0).bound }
  const offer = (price: number) => {
    const found = at(price)
    if (found.bound < best.bound) best = { price, bound: found.bound }
    return found.total > pool.budget
  }
  if (!offer(0)) return best
  let [low, high] = [0, 1e-6]
  for (; high < 1e6 && offer(high); high *= 8) low = high
  for (let round = 0; round < 30 && high - low > 1e-6 * high; round++) {
    const middle = (low + high) / 2
    if (offer(middle)) low = middle
    else high = middle
  }
  return best
}

/**
 * Bound by dynamic programming: what may be shared out is cut into cells, each lane takes one, and is worth the most of
 * anything in it. Cells count as begun, so the sum of what is taken may differ by a cell a lane, both ways; worth is taken
 * less the price, which makes that difference nearly worthless. What nobody takes lies idle, and pays the price.
 */
function cellBound(pool: Pool, price: number, cells: number): number {
  const kept = pool.lanes.reduce((sum, { least }) => sum + least, 0)
  const width = (pool.budget - kept) / cells
  if (!(width > 0)) return Number.POSITIVE_INFINITY
  let best = new Float64Array(cells + 1).fill(Number.NEGATIVE_INFINITY)
  best[0] = 0
  let reached = 0
  for (const lane of pool.lanes) {
    const count = Math.min(cells, Math.floor((lane.most - lane.least) / width))
    const values = Float64Array.from({ length: count + 1 }, (_, cell) =>
      cellWorth(lane, cell, width, price, pool),
    )
    const next = new Float64Array(cells + 1).fill(Number.NEGATIVE_INFINITY)
    const end = Math.min(cells, reached + count)
    for (let taken = 0; taken <= reached; taken++) {
      const before = best[taken] as number
      if (before === Number.NEGATIVE_INFINITY) continue
      const last = Math.min(count, cells - taken)
      for (let cell = 0; cell <= last; cell++) {
        const sum = before + (values[cell] as number)
        if (sum > (next[taken + cell] as number)) next[taken + cell] = sum
      }
    }
    best = next
    reached = end
  }
  let bound = Number.NEGATIVE_INFINITY
  for (let taken = 0; taken <= reached; taken++) {
    const idle = Math.max(0, cells - taken - pool.lanes.length - 1)
    bound = Math.max(bound, (best[taken] as number) - price * width * idle)
  }
  return bound + price * pool.budget
}

/** The most that anything in a cell is worth, less the price; nothing where the cell is empty. */
function cellWorth(lane: Lane, cell: number, width: number, price: number, pool: Pool): number {
  const [from, to] = [lane.least + cell * width, lane.least + (cell + 1) * width]
  let most = Number.NEGATIVE_INFINITY
  for (const stretch of stretchesOf(lane)) {
    const part = { ...stretch, low: Math.max(from, stretch.low), high: Math.min(to, stretch.high) }
    if (part.low > part.high) continue
    const at = (amount: number) => worthIn(stretch, amount, pool) - price * amount
    const bend = (bendOf(part, pool) * (part.high - part.low) ** 2) / 8
    most = Math.max(most, Math.max(at(part.low), at(part.high)) + bend)
  }
  return most
}
