import type { Lane, Pool } from './lane.ts'

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

/** A convex stretch is drawn as this many chords: there is little bend in it. */
const CHORDS = 8

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
  const { held, least, most, supplyLeast, touchCost } = lane
  const stretch = (low: number, high: number, perToken: number) =>
    low < high || (low === high && low !== held)
      ? cutStretch(lane, low, high, horizonS, { fixed: touchCost - perToken * held, perToken })
      : []
  const stay =
    least <= held && held <= most ? cutStretch(lane, held, held, horizonS, { fixed: 0, perToken: 0 }) : []
  return [
    ...stretch(least, Math.min(held, most), -turnoverCost),
    ...stay,
    ...stretch(Math.max(held, least, supplyLeast), most, turnoverCost),
  ]
}

type Cost = { readonly fixed: number; readonly perToken: number }

function cutStretch(lane: Lane, low: number, high: number, horizonS: number, cost: Cost): Segment[] {
  const { rate, borrowed, others } = lane
  if (typeof rate === 'number' || borrowed === 0) {
    const supply = typeof rate === 'number' ? rate : 0
    const p1 = (supply - lane.lossRate) * horizonS - cost.perToken
    return [{ p0: -cost.fixed, p1, q1: 0, q2: 0, others, low, high }]
  }
  const kinkAmount = borrowed / rate.kink - others
  const rise = rate.slope2 / (1 - rate.kink)
  const steep = curveTerms(lane, rate.base + rate.slope1 - rise * rate.kink, rise, horizonS, cost)
  const flat = curveTerms(lane, rate.base, rate.slope1 / rate.kink, horizonS, cost)
  if (high <= kinkAmount) return cutBend({ ...steep, others, low, high })
  if (low >= kinkAmount) return cutBend({ ...flat, others, low, high })
  return [
    ...cutBend({ ...steep, others, low, high: kinkAmount }),
    ...cutBend({ ...flat, others, low: kinkAmount, high }),
  ]
}

/**
 * The terms of `x·r(u)·u` less costs, where the borrow rate is `level + rise·u` and `u = borrowed / U`: with
 * `x = U − others` it is `B·level·(1 − O/U) + B²·rise·(1/U − O/U²)`.
 */
function curveTerms(lane: Lane, level: number, rise: number, horizonS: number, cost: Cost): Terms {
  const { borrowed, others } = lane
  const scale = horizonS * lane.lenderShare * borrowed
  return {
    p0: scale * level - cost.fixed,
    p1: -lane.lossRate * horizonS - cost.perToken,
    q1: scale * (borrowed * rise - others * level),
    q2: -scale * borrowed * rise * others,
  }
}

/** The second derivative is `2·(q1·U + 3·q2)/U⁴` with `q2 ≤ 0`: concave up to `U = −3·q2/q1`, convex beyond. */
function cutBend(segment: Segment): Segment[] {
  const { q1, q2, others, low, high } = segment
  const bend = q1 > 0 ? (-3 * q2) / q1 - others : high
  if (bend >= high) return [segment]
  const from = Math.max(low, bend)
  const chords = Array.from({ length: from === high ? 1 : CHORDS }, (_, index): Segment => {
    const left = from + ((high - from) * index) / CHORDS
    const right = index === CHORDS - 1 || from === high ? high : from + ((high - from) * (index + 1)) / CHORDS
    const value = valueAt(segment, left)
    const p1 = left === right ? 0 : (valueAt(segment, right) - value) / (right - left)
    return { p0: value - p1 * left, p1, q1: 0, q2: 0, others, low: left, high: right }
  })
  return low < bend ? [{ ...segment, high: bend }, ...chords] : chords
}
