import type { Metrics } from '../../ops/metrics/metrics.ts'

/** What came of all roles since the keeper's start: US dollars. Realised is what moved, at contracts too, less gas. */
type Sums = { readonly realised: number; readonly marked: number; readonly gas: number }

/** What was earned since the keeper's start, over time. */
export type Earned = {
  readonly add: Metrics['accounted']
  /** Columns, oldest first: Unix seconds, then realised, marked and gas in US dollars. */
  readonly points: () => readonly (readonly number[])[]
}

/** Twice as many as a chart has pixels are of no use; when there are more, every second of them goes. */
const POINTS_MAX = 1_000

const usdOf = (micros: bigint | null | undefined) => Number(micros ?? 0n) / 1e6

/** Create what adds up what accounts say. */
export function createEarned(nowMs: () => number): Earned {
  let sums: Sums = { realised: 0, marked: 0, gas: 0 }
  let points: { readonly atS: number; readonly sums: Sums }[] = [{ atS: nowMs() / 1_000, sums }]
  return {
    add: (_role, { moved, gas, positions, marked }) => {
      sums = {
        realised: sums.realised + usdOf(moved) + usdOf(gas) + usdOf(positions),
        marked: sums.marked + usdOf(marked),
        gas: sums.gas + usdOf(gas),
      }
      points.push({ atS: nowMs() / 1_000, sums })
      if (points.length > POINTS_MAX) {
        points = points.filter((_, index) => index % 2 === 0 || index === points.length - 1)
      }
    },
    points: () => [
      points.map(({ atS }) => atS),
      ...(['realised', 'marked', 'gas'] as const).map((part) => points.map((point) => point.sums[part])),
    ],
  }
}
