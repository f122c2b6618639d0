import { type Calendar, DAY_S, instantsOf, localDay, namesDay } from './calendar.ts'

/** What becomes of a report that would be due on a holiday. */
export const ON_HOLIDAY = ['skip', 'before', 'after'] as const

/** When reports are due: every so many seconds counted from 1970, or by a calendar in a time zone. */
export type Schedule =
  | { readonly everyS: number }
  | {
      readonly calendar: Calendar
      readonly timeZone: string
      /** Days counted from 1970-01-01. */
      readonly holidays: ReadonlySet<number>
      readonly onHoliday: (typeof ON_HOLIDAY)[number]
    }

/** Two leap years lie eight years apart at most: a calendar without a day in this time has none. */
const HORIZON_DAYS = 8 * 366 + 1
/** Longer runs of closed days are a mistake in the list of holidays. */
const CLOSED_DAYS_MAX = 31

/** Return the latest due moment at or before an instant; null when there is none in eight years. Pure; Unix seconds. */
export const latestDue = (schedule: Schedule, atS: number): number | null =>
  'everyS' in schedule ? Math.floor(atS / schedule.everyS) * schedule.everyS : search(schedule, atS, -1)

/** Return the first due moment after an instant; null when there is none in eight years. Pure; Unix seconds. */
export const nextDue = (schedule: Schedule, afterS: number): number | null =>
  'everyS' in schedule
    ? (Math.floor(afterS / schedule.everyS) + 1) * schedule.everyS
    : search(schedule, afterS, 1)

/** Return the due moments between two instants, both excluded, newest first, `most` at most. Pure; Unix seconds. */
export function dueBetween(schedule: Schedule, afterS: number, beforeS: number, most: number): number[] {
  const found: number[] = []
  let atS = latestDue(schedule, beforeS - 1)
  while (atS !== null && atS > afterS && found.length < most) {
    found.push(atS)
    atS = latestDue(schedule, atS - 1)
  }
  return found
}

/** What of a report's policy says how long it waits. */
type WaitTerms = { readonly schedule: Schedule; readonly waitForNewerS: number; readonly lateSMax: number }

/**
 * Return how long after its time a scheduled report waits for values of that time or later: what the policy says, and at most a
 * quarter of the time in which it may be made, and of that until the next is due. Pure; seconds.
 */
export function waitOf({ schedule, waitForNewerS, lateSMax }: WaitTerms, dueS: number): number {
  const apartS = (nextDue(schedule, dueS) ?? Number.POSITIVE_INFINITY) - dueS
  return Math.min(waitForNewerS, Math.floor(lateSMax / 4), Math.floor(apartS / 4))
}

/** Return until when the scheduled report that is due waits, 0 where the last one, of `madeForS`, is it. Pure; Unix seconds. */
export function waitsUntil(policy: WaitTerms, madeForS: number, nowS: number): number {
  const dueS = latestDue(policy.schedule, nowS)
  return dueS === null || madeForS >= dueS ? 0 : dueS + waitOf(policy, dueS)
}

/** Return the last of a schedule's holidays once it is over, a day counted from 1970; null where one is to come, or none was listed. Pure. */
export function lastHolidayBefore(schedule: Schedule, atS: number): number | null {
  if ('everyS' in schedule || schedule.holidays.size === 0) return null
  const last = Math.max(...schedule.holidays)
  return last < localDay(schedule.timeZone, atS) ? last : null
}

/** A schedule by the calendar. */
type ByCalendar = Exclude<Schedule, { everyS: number }>

function search(schedule: ByCalendar, atS: number, step: 1 | -1): number | null {
  const { calendar, timeZone } = schedule
  // A clock put on at midnight may move a time into the next day: begin one day on the other side.
  const first = localDay(timeZone, atS) - step
  for (let day = first; Math.abs(day - first) <= HORIZON_DAYS; day += step) {
    if (!isDueOn(schedule, day)) continue
    const instants = instantsOf(timeZone, day, calendar.minutes)
    const found = step === 1 ? instants.find((dueS) => dueS > atS) : instants.findLast((dueS) => dueS <= atS)
    if (found !== undefined) return found
  }
  return null
}

/** Whether reports are due on a day: its own, or those that a holiday moved onto it. */
function isDueOn({ calendar, holidays, onHoliday }: ByCalendar, day: number): boolean {
  const isOpen = (other: number) => !holidays.has(other) && isWorkday(other)
  if (holidays.has(day)) return false
  if (namesDay(calendar, day)) return true
  if (onHoliday === 'skip' || !isOpen(day)) return false
  const towards = onHoliday === 'after' ? -1 : 1
  for (let closed = 1; closed <= CLOSED_DAYS_MAX && !isOpen(day + towards * closed); closed += 1) {
    const other = day + towards * closed
    if (holidays.has(other) && namesDay(calendar, other)) return true
  }
  return false
}

/** Monday to Friday: no weekend takes a report that a holiday moves. */
const isWorkday = (day: number) => ![0, 6].includes(new Date(day * DAY_S * 1_000).getUTCDay())
