import { debtAtKink, type Lane, type Pool, rateAt, returning, scarcest, statesOf } from './lane.ts'

/**
 * The value of every lane, cut where its shape changes: at the kink, at what is held, and where it stops being concave.
 * In segment `s` it is `p0 + p1·x + q1/U + q2/U²` for `x` of ours and `U = others + x`; concave, so that its slope
 * falls from `lowSlope` to `highSlope`. Where the true value is convex the segment is its chord, which lies above.
 */
export type Segments = {
  /** The first segment of each lane, in order of amount; one entry more at the end. */
  readonly first: Int32Array
  readonly low: Float64Array
  readonly high: Float64Array
  readonly p0: Float64Array
  readonly p1: Float64Array
  readonly q1: Float64Array
  readonly q2: Float64Array
  readonly others: Float64Array
  readonly lowSlope: Float64Array
  readonly highSlope: Float64Array
}

/** The terms of one formula. */
type Terms = { readonly p0: number; readonly p1: number; readonly q1: number; readonly q2: number }
type Segment = Terms & { readonly others: number; readonly low: number; readonly high: number }

/** A convex stretch is drawn as so many chords at most, and as fewer where they are this near to it, a part of its value. */
const CHORDS_MAX = 8
const NEAR = 1e-5

/** Cut the lanes of a pool into segments. Pure. */
export function cutLanes(pool: Pool): Segments {
  const first = new Int32Array(pool.lanes.length + 1)
  const all: Segment[] = []
  for (const [index, lane] of pool.lanes.entries()) {
    all.push(...laneSegments(lane, pool))
    first[index + 1] = all.length
  }
  const column = (of: (segment: Segment) => number) => {
    // `Float64Array.from` walks an iterator: ten times slower.
    const values = new Float64Array(all.length)
    all.forEach((segment, index) => {
      values[index] = of(segment)
    })
    return values
  }
  return {
    first,
    low: column(({ low }) => low),
    high: column(({ high }) => high),
    p0: column(({ p0 }) => p0),
    p1: column(({ p1 }) => p1),
    q1: column(({ q1 }) => q1),
    q2: column(({ q2 }) => q2),
    others: column(({ others }) => others),
    lowSlope: column((segment) => slopeAt(segment, segment.low)),
    highSlope: column((segment) => slopeAt(segment, segment.high)),
  }
}

const valueAt = ({ p0, p1, q1, q2, others }: Segment, x: number): number => {
  // Without borrowers there is nothing but the straight part, and U may be zero.
  if (q1 === 0 && q2 === 0) return p0 + p1 * x
  const inverse = 1 / (others + x)
  return p0 + p1 * x + (q1 + q2 * inverse) * inverse
}

const slopeAt = ({ p1, q1, q2, others }: Segment, x: number): number => {
  if (q1 === 0 && q2 === 0) return p1
  const inverse = 1 / (others + x)
  return p1 - (q1 + 2 * q2 * inverse) * inverse * inverse
}

/** Less than held, exactly that (which costs nothing), and more than held. */
function laneSegments(lane: Lane, { horizonS, turnoverCost }: Pool): Segment[] {
  const { held, least, most, supplyLeast, lentWorth, learnedRate, touchCost } = lane
  const stretch = (low: number, high: number, perToken: number) =>
    low < high || (low === high && low !== held)
      ? cutStretch(lane, low, high, horizonS, {
          fixed: touchCost - perToken * held,
          perToken: perToken - lentWorth,
        })
      : []
  const stay =
    least <= held && held <= most
      ? cutStretch(lane, held, held, horizonS, { fixed: 0, perToken: -lentWorth })
      : []
  return [
    ...stretch(least, Math.min(held, most), -turnoverCost),
    ...stay,
    ...stretch(Math.max(held, least, supplyLeast), most, turnoverCost - learnedRate * horizonS),
  ]
}

type Cost = { readonly fixed: number; readonly perToken: number }

function cutStretch(lane: Lane, low: number, high: number, horizonS: number, cost: Cost): Segment[] {
  const { rate, others, ours, lossRate } = lane
  const straight = { p0: -cost.fixed, p1: -lossRate * horizonS - cost.perToken, q1: 0, q2: 0 }
  if (typeof rate === 'number') {
    const interest = { p0: straight.p0 + rate * ours * horizonS, p1: straight.p1 + rate * horizonS }
    return [{ ...straight, ...interest, others, low, high }]
  }
  const isAdding = low >= lane.held && high > lane.held
  const states = statesOf(lane)
    .filter(({ owed, part }) => owed > 0 && part > 0)
    .map((state) => ({ ...state, flat: isAdding ? debtAtKink(lane, state.owed) : state.owed }))
  const kinks = states.map(({ flat }) => flat / rate.kink - others)
  const ends = [...kinks.filter((amount) => amount > low && amount < high).toSorted((a, b) => a - b), high]
  return ends.flatMap((end, index) => {
    const from = ends[index - 1] ?? low
    const terms = states.map(({ owed, part, flat }, at) => {
      const forS = part * horizonS
      if ((from + end) / 2 >= (kinks[at] as number)) return curveTerms(lane, forS, 0, flat, 'flat')
      if (!isAdding) return lineTerms(lane, forS, rateAt(rate, scarcest(lane, owed)))
      const back = returning(lane, owed)
      return curveTerms(lane, forS, back, owed - back * (others + lane.held), 'steep')
    })
    return cutBend({ ...terms.reduce(addTerms, straight), others, low: from, high: end })
  })
}

const addTerms = (one: Terms, other: Terms): Terms => ({
  p0: one.p0 + other.p0,
  p1: one.p1 + other.p1,
  q1: one.q1 + other.q1,
  q2: one.q2 + other.q2,
})

/** The terms of `(x + ours)` at a rate that stays. */
const lineTerms = ({ ours, lenderShare }: Lane, forS: number, rate: number): Terms => {
  const earned = forS * lenderShare * rate
  return { p0: earned * ours, p1: earned, q1: 0, q2: 0 }
}

/**
 * The terms of `(x + ours)·r(u)·u`, where the borrow rate is `level + rise·u` and `u = e + C / U`: of each token that is
 * added `e` is borrowed. With `r·u = a + b/U + c/U²` and what strangers have supplied, `S = U − x − ours`, it is
 * `a·(x + ours) + b + (c − S·b)/U − S·c/U²`.
 */
function curveTerms(lane: Lane, forS: number, e: number, C: number, side: 'flat' | 'steep'): Terms {
  const { rate, others, ours, lenderShare } = lane
  if (typeof rate === 'number') return { p0: 0, p1: 0, q1: 0, q2: 0 }
  const rise = side === 'steep' ? rate.slope2 / (1 - rate.kink) : rate.slope1 / rate.kink
  const level = side === 'steep' ? rate.base + rate.slope1 - rise * rate.kink : rate.base
  const strangers = others - ours
  const scale = forS * lenderShare
  const [a, b, c] = [scale * e * (level + rise * e), scale * C * (level + 2 * rise * e), scale * rise * C * C]
  return { p0: b + a * ours, p1: a, q1: c - strangers * b, q2: -strangers * c }
}

/** The second derivative is `2·(q1·U + 3·q2)/U⁴` with `q2 ≤ 0`: concave up to `U = −3·q2/q1`, convex beyond. */
function cutBend(segment: Segment): Segment[] {
  const { q1, q2, others, low, high } = segment
  const bend = q1 > 0 ? (-3 * q2) / q1 - others : high
  if (bend >= high) return [segment]
  const from = Math.max(low, bend)
  const [first, last] = [valueAt(segment, from), valueAt(segment, high)]
  // How far a chord lies above falls with the square of its length.
  const above = (first + last) / 2 - valueAt(segment, (from + high) / 2)
  const fine = Math.ceil(Math.sqrt(above / (NEAR * (Math.abs(first) + Math.abs(last)))))
  const count = from === high ? 1 : Math.min(CHORDS_MAX, Math.max(1, fine || 1))
  const chords = Array.from({ length: count }, (_, index): Segment => {
    const left = from + ((high - from) * index) / count
    const right = index === count - 1 ? high : from + ((high - from) * (index + 1)) / count
    const value = valueAt(segment, left)
    const p1 = left === right ? 0 : (valueAt(segment, right) - value) / (right - left)
    return { p0: value - p1 * left, p1, q1: 0, q2: 0, others, low: left, high: right }
  })
  return low < bend ? [{ ...segment, high: bend }, ...chords] : chords
}
