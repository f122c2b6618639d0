import type { Address } from 'viem'

/** What was seen of how much is borrowed from a market, base units as floats: a sample an hour, old ones fading. */
export type Borrowing = {
  /** Chain times of the first sample and of the last. */
  readonly sinceS: number
  readonly atS: number
  readonly lastAssets: number
  readonly samples: number
  readonly meanAssets: number
  readonly variance: number
  /** Of a sample with the one before it. */
  readonly covariance: number
  /** Between two samples, on average. */
  readonly gapS: number
}

/** What was seen, by market. */
export type Borrowings = Readonly<Record<Address, Borrowing>>

const HOUR_S = 3_600
/** So many samples stay in mind: two weeks. */
const SAMPLES_MAX = 336
/** The prior of how long things last counts as much as so many samples. */
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
      if (debtAssets === null) return old === undefined ? [] : [[address, old]]
      return [[address, sampled(old, Number(debtAssets), timestampS)]]
    }),
  )
}

function sampled(old: Borrowing | undefined, assets: number, atS: number): Borrowing {
  if (old === undefined) {
    const none = { samples: 1, variance: 0, covariance: 0, gapS: HOUR_S }
    return { ...none, sinceS: atS, atS, lastAssets: assets, meanAssets: assets }
  }
  const gapS = atS - old.atS
  if (gapS < HOUR_S) return old
  const samples = Math.min(old.samples + 1, SAMPLES_MAX)
  const weight = 1 / samples
  const [apart, apartBefore] = [assets - old.meanAssets, old.lastAssets - old.meanAssets]
  const fade = (mean: number, value: number) => (1 - weight) * (mean + weight * value)
  return {
    ...{ sinceS: old.sinceS, atS, lastAssets: assets, samples },
    meanAssets: old.meanAssets + weight * apart,
    variance: fade(old.variance, apart ** 2),
    covariance: fade(old.covariance, apart * apartBefore),
    gapS: old.gapS + (gapS - old.gapS) / samples,
  }
}

/**
 * Say how long, on average, what is unusual in a market lasts, seconds: what is borrowed is taken to come back to its mean
 * by the same part in every hour. Few samples move the policy's prior little. Pure.
 */
export function persistenceS({ samples, variance, covariance, gapS }: Borrowing, priorS: number): number {
  const prior = Math.exp(-gapS / priorS)
  const measured = variance === 0 ? prior : covariance / variance
  const correlation = (samples * measured + PRIOR_SAMPLES * prior) / (samples + PRIOR_SAMPLES)
  return -gapS / Math.log(Math.min(CORRELATION_MAX, Math.max(CORRELATION_MIN, correlation)))
}
