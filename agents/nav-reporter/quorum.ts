import { span } from '../../src/readable.js'
import { decimal as exactly } from '../../src/units.ts'
import type { Stop } from '../agent.ts'
import { BPS } from '../protocol/health.ts'
import { percent } from '../protocol/text.ts'
import { AHEAD_S_MAX, lastAt } from './memory.ts'
import type { Statement, UnreadSource } from './statement.ts'

/** What one source brought: whether it speaks, or why it counts for nothing; and all that is known of what it stated. */
export type Reading = { readonly source: string; readonly known: readonly Statement[] } & (
  | { readonly ok: true }
  | ({ readonly ok: false } & UnreadSource)
)

/** How far a source is believed. Values are units of 10^-decimals of the report. */
export type Trust = {
  readonly ageSMax: number
  readonly valueMin: bigint
  readonly valueMax: bigint
  /** Sources with the same have one vote together; absent, the source is its own. */
  readonly upstream?: string | undefined
}

/** The times of one judgement, Unix seconds. */
export type When = {
  /** What the value is for. */
  readonly atS: number
  readonly nowS: number
  /** When fees were paid out last: a value of before still has them in it. */
  readonly paidAtS?: number | undefined
  /** Until then a source whose newest value is of before `atS` is waited for; absent, such a value counts at once. */
  readonly waitUntilS?: number
}

/** What it takes to agree; `decimals` are those of the values. */
export type Rule = {
  readonly quorum: number
  readonly outlierBps: bigint
  readonly lateSMax: number
  readonly decimals: number
}

/** A source that does not count, and why. */
type Rejected = { readonly source: string } & Stop

/** What a source says of the valuation time, and of when that is. */
type SourceStatement = Statement & { readonly source: string }

/** What sources agree on. */
export type Agreement = {
  /** The median of the accepted votes; null short of a quorum. */
  readonly value: bigint | null
  /** One vote for each upstream: the median of its sources. */
  readonly accepted: readonly { readonly value: bigint; readonly said: readonly SourceStatement[] }[]
  readonly rejected: readonly Rejected[]
  /** Votes that count, or are too far from the median of them all to. */
  readonly sound: number
  /** Votes of sources that have not come to the valuation time yet, and still may in time. */
  readonly waiting: number
}

/** Find what a source says of a time by what it stated for that time or last before it, or why that does not count. */
function judge(reading: Reading, trust: Trust | undefined, rule: Rule, when: When): Statement | Stop {
  const { atS, nowS, paidAtS, waitUntilS = atS } = when
  const newestS = Math.max(...reading.known.map(({ asOfS }) => asOfS))
  // What it said of a time is final once it has spoken of a later one, whatever has become of it since.
  if (!reading.ok && newestS < atS) return reading
  if (trust === undefined) return { check: 'source_not_listed', message: 'The policy does not list it.' }
  const { ageSMax, valueMin, valueMax } = trust
  const shown = (units: bigint) => exactly(units, rule.decimals)
  if (newestS > nowS + AHEAD_S_MAX) {
    return {
      check: 'source_from_future',
      message: `Its value is dated ${span((newestS - nowS) * 1_000)} ahead of our time.`,
    }
  }
  const statement = lastAt(reading.known, atS)
  if (statement === undefined) {
    const message = `Its first value that is known is of after the valuation time. Fix: read it from its history.`
    return { check: 'source_begins_after', message }
  }
  const ageS = atS - statement.asOfS
  if (ageS > ageSMax) {
    const isOver = newestS < atS
    const message = `${isOver ? 'What it states ends' : 'It states nothing for the'} ${span(ageS * 1_000)} before the valuation time; the policy allows ${span(ageSMax * 1_000)}.`
    if (!isOver) return { check: 'source_stale', message }
    // It has nothing to add once it is further behind than reports may be late.
    return { check: nowS - newestS <= rule.lateSMax ? 'source_behind' : 'source_ends_before', message }
  }
  if (newestS < atS && nowS < waitUntilS) {
    const message = `Its newest value is of ${span(ageS * 1_000)} before the valuation time; its next one is waited for, ${span((waitUntilS - nowS) * 1_000)} more.`
    return { check: 'source_behind', message }
  }
  if (paidAtS !== undefined && statement.asOfS < paidAtS) {
    const message = `Its value is of ${span((paidAtS - statement.asOfS) * 1_000)} before fees were paid out, and has them in it still.`
    return { check: 'source_before_fees', message }
  }
  if (statement.value >= valueMin && statement.value <= valueMax) return statement
  const message = `Its value is ${shown(statement.value)}; the policy believes ${shown(valueMin)} to ${shown(valueMax)}.`
  return { check: 'source_out_of_bounds', message }
}

/**
 * Find what sources agree on for a time: of each upstream one vote, which is the median of its sources that are within age
 * and bounds; those votes that are within `outlierBps` of the median of all; and, if they are a quorum, their median. Pure;
 * the order of the readings does not matter. With a quorum of 2f + 1, f hostile upstreams never move the value out of
 * the range of the honest ones.
 */
export function agree(
  readings: readonly Reading[],
  trusts: ReadonlyMap<string, Trust>,
  rule: Rule,
  when: When,
): Agreement {
  const rejected: Rejected[] = []
  const votes = new Map<string, SourceStatement[]>()
  const behind = new Set<string>()
  for (const reading of readings.toSorted((a, b) => (a.source < b.source ? -1 : 1))) {
    const { source } = reading
    const trust = trusts.get(source)
    const upstream = trust?.upstream ?? source
    const found = judge(reading, trust, rule, when)
    if (!('check' in found)) votes.set(upstream, [...(votes.get(upstream) ?? []), { ...found, source }])
    else {
      rejected.push({ source, check: found.check, message: found.message })
      if (found.check === 'source_behind') behind.add(upstream)
    }
  }
  const sound = [...votes.values()].map((said) => ({
    value: median(said.map(({ value }) => value)) ?? 0n,
    said,
  }))
  const middle = median(sound.map(({ value }) => value))
  const accepted = sound.filter(({ value, said }) => {
    const apartBps = middle === null ? 0n : distanceBps(value, middle)
    if (apartBps <= rule.outlierBps) return true
    const shown = (units: bigint) => exactly(units, rule.decimals)
    const message = `Its value is ${shown(value)}, ${percent(apartBps)} from the median ${shown(middle ?? 0n)}; the policy allows ${percent(rule.outlierBps)}.`
    rejected.push(...said.map(({ source }) => ({ source, check: 'source_outlier', message })))
    return false
  })
  const value = accepted.length < rule.quorum ? null : median(accepted.map((one) => one.value))
  const waiting = [...behind].filter((upstream) => !votes.has(upstream)).length
  return { value, accepted, rejected, sound: sound.length, waiting }
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
