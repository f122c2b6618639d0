import { optimize } from '../../../agents/allocator/optimize.ts'
import { throwMarkets } from '../judgement/allocator-instances.ts'
import { createDice } from '../judgement/dice.ts'

const MARKETS = [10, 100, 1_000]
const ROUNDS = 100
/** Of each pool the best of these counts, in processor time: what else runs on the machine is no figure of ours. */
const RUNS = 5

/** How long one optimum takes on one core, over different pools of one size. */
type OptimumFigures = {
  readonly markets: number
  readonly rounds: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly maxMs: number
  /** The furthest that an optimum lay below its own bound, basis points. */
  readonly gapBpsMax: number
}

/** The figures of every size, and whether they hold: the slowest at 100 markets, and what ten times as many cost more. */
export type AllocatorFigures = {
  readonly sizes: readonly OptimumFigures[]
  readonly growth: number
  readonly growthMax: number
  readonly msAt100Max: number
  readonly ok: boolean
}

const MS_AT_100_MAX = 10
/** Ten times as many markets: near-linear is ten, and some for what no longer fits in the nearest cache. */
const GROWTH_MAX = 15

/** Measure the allocator's optimiser at three sizes, on one core. */
export function measureAllocator(progress: (text: string) => void): AllocatorFigures {
  const sizes = MARKETS.map((markets) => {
    progress(`${markets} markets`)
    return measureSize(markets)
  })
  const [, hundred, thousand] = sizes
  const growth = (thousand?.p50Ms ?? Number.NaN) / (hundred?.p50Ms ?? Number.NaN)
  const ok = (hundred?.maxMs ?? Number.NaN) <= MS_AT_100_MAX && growth <= GROWTH_MAX
  return { sizes, growth, growthMax: GROWTH_MAX, msAt100Max: MS_AT_100_MAX, ok }
}

function measureSize(markets: number): OptimumFigures {
  const dice = createDice(markets)
  const pools = Array.from({ length: ROUNDS }, () => throwMarkets(dice, markets))
  for (const pool of pools) optimize(pool)
  const rounds = pools.map((pool) => {
    const runs = Array.from({ length: RUNS }, () => {
      const began = process.cpuUsage()
      const optimum = optimize(pool)
      const { user, system } = process.cpuUsage(began)
      const tookMs = (user + system) / 1_000
      const missed = optimum === null ? Number.NaN : (optimum.bound - optimum.value) / Math.abs(optimum.value)
      return { tookMs, gapBps: missed * 10_000 }
    })
    return runs.reduce((best, run) => (run.tookMs < best.tookMs ? run : best))
  })
  const sorted = rounds.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other)
  const at = (part: number) => sorted[Math.min(ROUNDS - 1, Math.floor(part * ROUNDS))] ?? Number.NaN
  return {
    markets,
    rounds: ROUNDS,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    maxMs: at(1),
    gapBpsMax: Math.max(...rounds.map(({ gapBps }) => gapBps)),
  }
}
