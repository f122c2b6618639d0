import type { Metrics } from '../../ops/metrics/metrics.ts'
import type { Role } from '../../service/contract/roles.ts'

/** What came of a role, or of all, since the start: US dollars. Realised is what moved, at contracts too, less gas. */
type Sums = {
  readonly said: number
  readonly realised: number
  readonly marked: number
  readonly gas: number
}

/** What was earned since the keeper's start, by role and over time. */
export type Earned = {
  readonly add: Metrics['accounted']
  readonly read: () => {
    readonly byRole: Readonly<Record<Role, Sums>>
    /** Columns, oldest first; Unix seconds and US dollars. */
    readonly points: readonly (readonly number[])[]
  }
}

/** Twice as many as a chart has pixels are of no use; when there are more, every second of them goes. */
const POINTS_MAX = 1_000

const NOTHING: Sums = { said: 0, realised: 0, marked: 0, gas: 0 }

const usdOf = (micros: bigint | null | undefined) => Number(micros ?? 0n) / 1e6

/** Create what adds up what accounts say. */
export function createEarned(nowMs: () => number): Earned {
  const byRole = new Map<Role, Sums>()
  let points: { readonly atS: number; readonly sums: Sums }[] = [{ atS: nowMs() / 1_000, sums: NOTHING }]
  return {
    add: (role, { said, moved, gas, positions, marked }) => {
      const before = byRole.get(role) ?? NOTHING
      byRole.set(role, {
        said: before.said + usdOf(said),
        realised: before.realised + usdOf(moved) + usdOf(gas) + usdOf(positions),
        marked: before.marked + usdOf(marked),
        gas: before.gas + usdOf(gas),
      })
      points.push({ atS: nowMs() / 1_000, sums: total([...byRole.values()]) })
      if (points.length > POINTS_MAX) {
        points = points.filter((_, index) => index % 2 === 0 || index === points.length - 1)
      }
    },
    read: () => ({
      byRole: Object.fromEntries(byRole),
      points: [
        points.map(({ atS }) => atS),
        ...(['realised', 'marked', 'gas'] as const).map((part) => points.map(({ sums }) => sums[part])),
      ],
    }),
  }
}

const total = (all: readonly Sums[]): Sums =>
  all.reduce(
    (sum, one) => ({
      said: sum.said + one.said,
      realised: sum.realised + one.realised,
      marked: sum.marked + one.marked,
      gas: sum.gas + one.gas,
    }),
    NOTHING,
  )
