import type { ReportPolicy } from './policy.ts'
import { latestDue } from './schedule.ts'
import type { Statement } from './statement.ts'

/** Clocks differ by a little: a value this far ahead of our time is still of now. */
export const AHEAD_S_MAX = 5

/** Return the times that a report may be for by now, and now itself, Unix seconds. Pure. */
export function timesOf({ schedule, interim }: ReportPolicy, nowS: number): readonly number[] {
  const dueS = latestDue(schedule, nowS)
  return [
    nowS,
    ...(dueS === null ? [] : [dueS]),
    ...(interim === undefined ? [] : [interimAt(interim, nowS)]),
  ]
}

/** Return the time that an interim report of now is for. Pure. */
export const interimAt = ({ everyS }: { readonly everyS: number }, nowS: number): number =>
  Math.floor(nowS / everyS) * everyS

/** Find what was stated last for a time or before it; what is stated again replaces what was. Pure. */
export const lastAt = (known: readonly Statement[], atS: number): Statement | undefined =>
  known.reduce<Statement | undefined>(
    (last, one) => (one.asOfS > atS || (last !== undefined && one.asOfS < last.asOfS) ? last : one),
    undefined,
  )

/**
 * Keep of what a source stated before and states now only what a report may need: the last for each of these times, and
 * the newest. What it dated ahead of our time is forgotten once it no longer says so. Pure.
 */
export function remember(
  before: readonly Statement[],
  statements: readonly Statement[],
  times: readonly number[],
): readonly Statement[] {
  const nowS = Math.max(...times)
  const known = [...before.filter(({ asOfS }) => asOfS <= nowS + AHEAD_S_MAX), ...statements]
  const kept = [...times, Number.POSITIVE_INFINITY].flatMap((atS) => lastAt(known, atS) ?? [])
  return [...new Set(kept)].sort((one, other) => one.asOfS - other.asOfS)
}
