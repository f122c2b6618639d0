import { type Pool, poolValue } from './lane.ts'
import { type Choice, type Response, respond } from './response.ts'
import { cutLanes, type Segments } from './segments.ts'

/** An allocation, what it is worth, and what no allocation can exceed; tokens over the horizon, costs taken off. */
export type Optimum = {
  readonly amounts: readonly number[]
  readonly value: number
  readonly bound: number
}

/** The search ends once the best allocation is this near to the bound. */
const GAP = 1e-6
/** Parts that are searched at most: a limit on time. `bound` is true whenever the search ends. */
const PARTS_MAX = 400
const HALVINGS_MAX = 60
/** A price is searched until what it leaves open is this part of the bound. */
const NEAR = 1e-8
/** Amounts nearer than this part of the budget are the same. */
const SAME = 1e-12

/** A part of the problem, a bound on what is in it, and about what a token of the budget is worth there. */
type Part = Choice & { readonly bound: number; readonly price: number }

/** A part at its price: what is taken just above it, which fits the budget, and just below, which need not. */
type Priced = {
  readonly bound: number
  readonly price: number
  readonly fits: Response
  readonly over: Response
}

/**
 * Find the allocation of a budget that is worth most, or null when what must stay exceeds the budget. Pure.
 *
 * The value of a lane has kinks, and any move has a fixed cost, so the problem is not convex. At a price for the budget
 * every lane is solved alone, and that bounds the whole from above (Lagrange). Where a lane jumps between two segments
 * at the price, both sides of the jump are searched (branch and bound).
 */
export function optimize(pool: Pool): Optimum | null {
  const { budget } = pool
  const segments = cutLanes(pool)
  let best: Pick<Optimum, 'amounts' | 'value'> | null = null
  const offer = (amounts: readonly number[] | null) => {
    const value = amounts === null ? Number.NEGATIVE_INFINITY : poolValue(pool, amounts)
    if (amounts !== null && (best === null || value > best.value)) best = { amounts, value }
    return best
  }
  const open: Part[] = [wholeOf(segments)]
  let closed = Number.NEGATIVE_INFINITY
  for (let searched = 0; searched < PARTS_MAX; searched++) {
    const part = takeHighest(open)
    if (part === undefined) break
    if (part.bound <= goalOf(best)) {
      closed = Math.max(closed, part.bound)
      break
    }
    const priced = priceOf(part, segments, budget)
    if (priced === null) continue
    const jump = largestJump(priced, budget)
    if (jump === null) {
      offer(blend(priced, budget))
    } else {
      offer(fill(priced.fits.segments, segments, budget))
      const raised = priced.fits.segments.slice()
      raised[jump] = priced.over.segments[jump] as number
      offer(fill(raised, segments, budget))
    }
    if (jump === null || priced.bound <= goalOf(best)) closed = Math.max(closed, priced.bound)
    else open.push(...halves(part, jump, priced))
  }
  const found = offer(null)
  if (found === null) return null
  return { ...found, bound: Math.max(closed, found.value, ...open.map(({ bound }) => bound)) }
}

const goalOf = (best: Pick<Optimum, 'value'> | null) =>
  best === null ? Number.NEGATIVE_INFINITY : best.value + GAP * Math.abs(best.value)

function wholeOf({ first }: Segments): Part {
  const to = first.slice(1).map((next) => next - 1)
  return { from: first.slice(0, -1), to, bound: Number.POSITIVE_INFINITY, price: 0 }
}

function takeHighest(open: Part[]): Part | undefined {
  const index = open.reduce((most, part, at) => (part.bound > (open[most]?.bound ?? 0) ? at : most), 0)
  return open.splice(index, 1)[0]
}

/** Find the price at which a part just fits the budget; null when its least amounts do not. */
function priceOf(part: Part, segments: Segments, budget: number): Priced | null {
  const least = part.from.reduce((sum, segment) => sum + (segments.low[segment] as number), 0)
  if (least > budget * (1 + SAME)) return null
  const at = (price: number) => respond(segments, part, price, budget)
  let over = at(0)
  if (over.total <= budget) return { bound: over.bound, price: 0, fits: over, over }
  let below = 0
  let above = part.price > 0 ? part.price * 1.01 : 1e-6
  let fits = at(above)
  for (; fits.total > budget; fits = at(above)) {
    // No price is too high: only rounding keeps the least amounts above the budget.
    if (above > 1e12) return { bound: fits.bound, price: above, fits, over: fits }
    ;[below, over, above] = [above, fits, above * 4]
  }
  if (part.price > 0 && below === 0) {
    const near = at(part.price * 0.99)
    if (near.total > budget) [below, over] = [part.price * 0.99, near]
    else [above, fits] = [part.price * 0.99, near]
  }
  for (let halving = 0; halving < HALVINGS_MAX; halving++) {
    // What is between the two is worth no more than that: the bound is that near, and so is their blend.
    const between = (above - below) * (over.total - fits.total)
    if (between <= NEAR * Math.abs(fits.bound)) break
    const middle = (below + above) / 2
    if (middle <= below || middle >= above) break
    const response = at(middle)
    if (response.total > budget) [below, over] = [middle, response]
    else [above, fits] = [middle, response]
  }
  return { bound: Math.min(fits.bound, over.bound), price: above, fits, over }
}

/** The lane whose amount jumps most from one segment to another at the price; null when none does. */
function largestJump({ fits, over }: Priced, budget: number): number | null {
  let most = SAME * budget
  let jump: number | null = null
  for (let lane = 0; lane < fits.amounts.length; lane++) {
    if (fits.segments[lane] === over.segments[lane]) continue
    const size = Math.abs((over.amounts[lane] as number) - (fits.amounts[lane] as number))
    if (size > most) [most, jump] = [size, lane]
  }
  return jump
}

/** Between what fits and what does not, use up the budget. Within segments this is the optimum: they are concave. */
function blend({ fits, over }: Priced, budget: number): readonly number[] {
  const span = over.total - fits.total
  const share = span > 0 ? Math.min(1, Math.max(0, (budget - fits.total) / span)) : 0
  return Array.from(
    fits.amounts,
    (amount, lane) => amount + share * ((over.amounts[lane] as number) - amount),
  )
}

/** The best allocation with every lane in one given segment; null when these need more than the budget. */
function fill(chosen: Int32Array, segments: Segments, budget: number): readonly number[] | null {
  const part = { from: chosen, to: chosen, bound: 0, price: 0 }
  const priced = priceOf(part, segments, budget)
  return priced === null || priced.fits.total > budget ? null : blend(priced, budget)
}

/** The part below a jump, and the part above it. */
function halves(part: Part, lane: number, { fits, over, bound, price }: Priced): readonly Part[] {
  const split = Math.min(fits.segments[lane] as number, over.segments[lane] as number)
  const to = part.to.slice()
  to[lane] = split
  const from = part.from.slice()
  from[lane] = split + 1
  return [
    { from: part.from, to, bound, price },
    { from, to: part.to, bound, price },
  ]
}
