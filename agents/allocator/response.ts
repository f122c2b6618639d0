import type { Segments } from './segments.ts'

/** The segments that each lane may use: from one to another, both included. */
export type Choice = { readonly from: Int32Array; readonly to: Int32Array }

/** What every lane takes at one price of the budget, and the bound on the whole that follows from it. */
export type Response = {
  readonly segments: Int32Array
  readonly amounts: Float64Array
  readonly total: number
  readonly bound: number
}

const NEWTON_MAX = 40

/**
 * Let every lane take what is worth most to it while a token of the budget costs `price`. Pure. Whatever the price, no
 * allocation within the budget is worth more than `bound`.
 */
export function respond(segments: Segments, { from, to }: Choice, price: number, budget: number): Response {
  const count = from.length
  const chosen = new Int32Array(count)
  const amounts = new Float64Array(count)
  let total = 0
  let bound = price * budget
  for (let lane = 0; lane < count; lane++) {
    let most = Number.NEGATIVE_INFINITY
    const last = to[lane] as number
    for (let segment = from[lane] as number; segment <= last; segment++) {
      const amount = bestAmount(segments, segment, price)
      const value = segmentValue(segments, segment, amount) - price * amount
      if (value <= most) continue
      most = value
      chosen[lane] = segment
      amounts[lane] = amount
    }
    total += amounts[lane] as number
    bound += most
  }
  return { segments: chosen, amounts, total, bound }
}

function segmentValue(segments: Segments, segment: number, amount: number): number {
  const q1 = segments.q1[segment] as number
  const q2 = segments.q2[segment] as number
  const straight = (segments.p0[segment] as number) + (segments.p1[segment] as number) * amount
  if (q1 === 0 && q2 === 0) return straight
  const inverse = 1 / ((segments.others[segment] as number) + amount)
  return straight + (q1 + q2 * inverse) * inverse
}

/** Where the slope of a segment has fallen to the price: an end of it, or in between. */
function bestAmount(segments: Segments, segment: number, price: number): number {
  const low = segments.low[segment] as number
  if ((segments.lowSlope[segment] as number) <= price) return low
  const high = segments.high[segment] as number
  if ((segments.highSlope[segment] as number) >= price) return high
  const q1 = segments.q1[segment] as number
  const q2 = segments.q2[segment] as number
  const others = segments.others[segment] as number
  const wanted = price - (segments.p1[segment] as number)
  // With t = 1/U the slope less p1 is −q1·t² − 2·q2·t³: rising and convex in t here, so Newton comes down from above.
  let inverse = 1 / (others + low)
  for (let round = 0; round < NEWTON_MAX; round++) {
    const value = -(q1 + 2 * q2 * inverse) * inverse * inverse - wanted
    const slope = -(2 * q1 + 6 * q2 * inverse) * inverse
    const step = value / slope
    inverse -= step
    if (!(step > 1e-13 * inverse)) break
  }
  return Math.min(high, Math.max(low, 1 / inverse - others))
}
