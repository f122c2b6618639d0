import type { Stop } from '../agent.ts'
import { BPS } from '../protocol/health.ts'
import type { Statement } from './statement.ts'

/** What one source brought: a statement, or why it counts for nothing. */
export type Reading = { readonly source: string } & (
  | ({ readonly ok: true } & Statement)
  | ({ readonly ok: false } & Stop)
)

/** How far a source is believed. Values are units of 10^-decimals of the report. */
export type Trust = { readonly ageSMax: number; readonly valueMin: bigint; readonly valueMax: bigint }

/** A source that does not count, and why. */
type Rejected = { readonly source: string } & Stop

/** What sources agree on. */
export type Agreement = {
  /** The median of the accepted ones; null short of a quorum. */
  readonly value: bigint | null
  readonly accepted: readonly { readonly source: string; readonly value: bigint }[]
  readonly rejected: readonly Rejected[]
}

/** Clocks differ by a little: a value this far ahead of our time is still of now. */
const AHEAD_S_MAX = 5

/** Judge what a source stated by its age and bounds. Pure. */
function judge(reading: Reading, trust: Trust | undefined, nowS: number): Stop | null {
  if (!reading.ok) return reading
  if (trust === undefined) return { check: 'source_not_listed', message: 'The policy does not list it.' }
  const ageS = nowS - reading.asOfS
  const { ageSMax, valueMin, valueMax } = trust
  if (ageS > ageSMax) {
    return { check: 'source_stale', message: `Its value is ${ageS} s old; the policy allows ${ageSMax} s.` }
  }
  if (ageS < -AHEAD_S_MAX) {
    return { check: 'source_from_future', message: `Its value is dated ${-ageS} s ahead of our time.` }
  }
  if (reading.value >= valueMin && reading.value <= valueMax) return null
  return {
    check: 'source_out_of_bounds',
    message: `Its value is ${reading.value}; the policy believes ${valueMin} to ${valueMax}.`,
  }
}

/**
 * Find what sources agree on: those within age and bounds and within `outlierBps` of the median of those, and, if they
 * are a quorum, their median. Pure; the order of the readings does not matter. With a quorum of 2f + 1, f hostile
 * sources never move the value out of the range of the honest ones.
 */
export function agree(
  readings: readonly Reading[],
  trusts: ReadonlyMap<string, Trust>,
  { quorum, outlierBps }: { readonly quorum: number; readonly outlierBps: bigint },
  nowS: number,
): Agreement {
  const rejected: Rejected[] = []
  const sound: { readonly source: string; readonly value: bigint }[] = []
  for (const reading of readings.toSorted((a, b) => (a.source < b.source ? -1 : 1))) {
    const why = judge(reading, trusts.get(reading.source), nowS)
    if (why !== null) rejected.push({ source: reading.source, check: why.check, message: why.message })
    else if (reading.ok) sound.push({ source: reading.source, value: reading.value })
  }
  const middle = median(sound.map(({ value }) => value))
  const accepted = sound.filter(({ source, value }) => {
    const apartBps = middle === null ? 0n : distanceBps(value, middle)
    if (apartBps <= outlierBps) return true
    const message = `Its value is ${value}, ${apartBps} basis points from the median ${middle}; the policy allows ${outlierBps}.`
    rejected.push({ source, check: 'source_outlier', message })
    return false
  })
  const value = accepted.length < quorum ? null : median(accepted.map((one) => one.value))
  return { value, accepted, rejected }
}

/** Return how far a value lies from another, in basis points of the other, rounded up. Pure; the other is above 0. */
export function distanceBps(value: bigint, from: bigint): bigint {
  const apart = value > from ? value - from : from - value
  return (apart * BPS + from - 1n) / from
}

/** Return the median, of an even number the mean of the middle two rounded down; null of none. Pure. */
export function median(values: readonly bigint[]): bigint | null {
  const sorted = values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const half = Math.floor(sorted.length / 2)
  const [upper, lower] = [sorted[half], sorted[half - 1]]
  if (upper === undefined) return null
  return sorted.length % 2 === 1 || lower === undefined ? upper : (upper + lower) / 2n
}
