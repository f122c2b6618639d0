import type { Address } from 'viem'

type Sample = { readonly atS: number; readonly assets: number }

/** So much is borrowed, base units as a float, for a part of the time. */
type Level = { readonly assets: number; readonly part: number }

/** What was seen of how much is borrowed from a market: a sample an hour, of two weeks. */
export type Borrowing = {
  readonly samples: readonly Sample[]
  /** How it is spread: a few levels, finer where more is borrowed, since rates bend there. */
  readonly levels: readonly Level[]
  readonly meanAssets: number
  /** Of samples, and of each with the one before it. */
  readonly variance: number
  readonly covariance: number
}

/** What was seen, by market. */
export type Borrowings = Readonly<Record<Address, Borrowing>>

const HOUR_S = 3_600
const SAMPLES_MAX = 336
/** The parts of the time that levels stand for, the least borrowed first. */
const PARTS = [0.5, 0.3, 0.15, 0.05]
/** The prior counts as much as so many samples that are as far from the mean as what is borrowed now. */
const PRIOR_SAMPLES = 24
/** What is sampled hourly tells neither minutes from nothing nor years from for ever. */
const [CORRELATION_MIN, CORRELATION_MAX] = [0.01, 0.999]

/** Add what is borrowed now, where an hour has passed since the last sample. Pure. */
export function remember(
  before: Borrowings,
  markets: readonly { readonly address: Address; readonly debtAssets: bigint | null }[],
  timestampS: number,
): Borrowings {
  return Object.fromEntries(
    markets.flatMap(({ address, debtAssets }) => {
      const old = before[address]
      const isDue = timestampS - (old?.samples.at(-1)?.atS ?? Number.NEGATIVE_INFINITY) >= HOUR_S
      if (debtAssets === null || !isDue) return old === undefined ? [] : [[address, old]]
      const sample = { atS: timestampS, assets: Number(debtAssets) }
      return [[address, borrowingOf([...(old?.samples ?? []), sample].slice(-SAMPLES_MAX))]]
    }),
  )
}

/** Sum samples up. Pure. */
export function borrowingOf(samples: readonly Sample[]): Borrowing {
  const values = samples.map(({ assets }) => assets)
  const meanAssets = mean(values)
  let [covariance, variance, before] = [0, 0, (values[0] ?? 0) - meanAssets]
  // A loop, without lists on the way: each market is summed up every hour.
  for (const value of values) {
    const apart = value - meanAssets
    covariance += apart * before
    variance += apart ** 2
    before = apart
  }
  const levels = levelsOf(Float64Array.from(values).sort())
  const { length } = values
  return { samples, levels, meanAssets, variance: variance / length, covariance: covariance / length }
}

function levelsOf(sorted: Float64Array): readonly Level[] {
  let [from, share] = [0, 0]
  return PARTS.flatMap((part) => {
    share += part
    const level = sorted.slice(from, Math.round(share * sorted.length))
    from += level.length
    return level.length === 0 ? [] : [{ assets: mean(level), part: level.length / sorted.length }]
  })
}

const mean = (values: readonly number[] | Float64Array) => {
  let sum = 0
  for (const one of values) sum += one
  return sum / values.length
}

/** Since when a market is watched, as far as that is known; never, where nothing was seen. Pure. */
export const watchedSinceS = (borrowing: Borrowing | undefined): number =>
  borrowing?.samples[0]?.atS ?? Number.POSITIVE_INFINITY

/**
 * Say how long, on average, what is borrowed now stays as it is, seconds, before it is anything that it was before. Pure. What
 * was seen counts by how far it was from the mean: the little that changes in quiet hours says nothing of what is unusual,
 * of which the policy's prior is believed until as much was seen for a day.
 */
export function persistenceS(
  { samples, meanAssets, variance, covariance }: Borrowing,
  assets: number,
  priorS: number,
): number {
  const spanS = (samples.at(-1)?.atS ?? 0) - (samples[0]?.atS ?? 0)
  const gapS = samples.length > 1 ? spanS / (samples.length - 1) : HOUR_S
  const prior = Math.exp(-gapS / priorS)
  const unusual = PRIOR_SAMPLES * (assets - meanAssets) ** 2
  const seen = samples.length * variance
  const known =
    seen + unusual === 0 ? prior : (samples.length * covariance + unusual * prior) / (seen + unusual)
  return -gapS / Math.log(Math.min(CORRELATION_MAX, Math.max(CORRELATION_MIN, known)))
}
