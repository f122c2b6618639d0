import { CronDate, CronPattern } from 'croner'

/** Seconds of a day on a clock that is never put forward or back. */
export const DAY_S = 86_400

/** Local days, and the times that are meant on each of them. */
export type Calendar = {
  /** Minutes of the day, ascending. */
  readonly minutes: readonly number[]
  readonly pattern: CronPattern
  // As cron has it, a field that begins with a star restricts nothing, even with a step.
  /** Both kinds of days are restricted, and either is enough. */
  readonly eitherDay: boolean
}

/**
 * Read a cron expression of five fields: minute, hour, day of month, month and day of week. Pure.
 * @returns null when it is none. Source: croner's patterns, so `L`, `W`, `#` and names of days and months are read too.
 */
export function parseCron(text: string): Calendar | null {
  const pattern = parsePattern(text)
  if (pattern === null) return null
  const [, , dayOfMonth = '*', , dayOfWeek = '*'] = pattern.pattern.trim().split(/\s+/)
  const minutesOfHour = allowed(pattern.minute)
  return {
    minutes: allowed(pattern.hour).flatMap((hour) => minutesOfHour.map((minute) => hour * 60 + minute)),
    pattern,
    eitherDay: !dayOfMonth.startsWith('*') && !dayOfWeek.startsWith('*'),
  }
}

function parsePattern(text: string): CronPattern | null {
  // Sloppy ranges: a step after a single number runs to the end, as cron has it. The end of a week is 7, the Sunday.
  const toSunday = text.replace(/\S+\s*$/, (weekdays) => weekdays.replace(/(?<=^|,)\w+(?=\/)/g, '$&-7'))
  try {
    return new CronPattern(toSunday, undefined, { mode: '5-part', sloppyRanges: true })
  } catch {
    return null
  }
}

/** The values that a field of a pattern allows, ascending. */
const allowed = (field: readonly number[]) => [...field.keys()].filter((value) => field[value] === 1)

/** Whether a calendar names a day, counted from 1970-01-01. Pure. */
export function namesDay({ minutes: [minute = 0], pattern, eitherDay }: Calendar, day: number): boolean {
  return clockAt(day * DAY_S + minute * 60).match(pattern, { domAndDow: !eitherDay })
}

/** Whether the machine's time-zone data knows a zone by this IANA name. Pure. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** Return the local calendar day of an instant (Unix seconds), counted from 1970-01-01. Pure. */
export function localDay(timeZone: string, atS: number): number {
  const { year, month, day } = new CronDate(new Date(atS * 1_000), timeZone)
  return Date.UTC(year, month, day) / (DAY_S * 1_000)
}

/**
 * Return the instants, Unix seconds, of local times of one calendar day, each once and in order. Pure. A time that the
 * clock jumps over is as much later as the clock was put forward; of one that comes twice the first counts.
 * @param day counted from 1970-01-01.
 * @param minutes of the local day, ascending.
 */
export function instantsOf(timeZone: string, day: number, minutes: readonly number[]): readonly number[] {
  const startS = instantOf(timeZone, day * DAY_S)
  if (instantOf(timeZone, (day + 1) * DAY_S) - startS === DAY_S) {
    return minutes.map((minute) => startS + minute * 60)
  }
  const instants = minutes.map((minute) => instantOf(timeZone, day * DAY_S + minute * 60))
  return [...new Set(instants)].sort((a, b) => a - b)
}

/** The instant of a local time, both in seconds. */
function instantOf(timeZone: string, localS: number): number {
  const local = clockAt(localS)
  local.tz = timeZone
  return local.getTime() / 1_000
}

/** A clock that shows a time in seconds. Not from text: that croner reads by the clock of the machine it runs on. */
const clockAt = (localS: number): CronDate => new CronDate(new Date(localS * 1_000), 0)
