import { DAY_S } from './zone.ts'

/** Local days and times, as five fields state them. */
export type Calendar = {
  /** Minutes of the day, ascending. */
  readonly minutes: readonly number[]
  readonly daysOfMonth: ReadonlySet<number>
  /** 1 to 12. */
  readonly months: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>
  /** As cron has it: where both kinds of days are restricted, either is enough. */
  readonly eitherDay: boolean
}

/**
 * Read a cron expression: minute, hour, day of month, month and day of week (0 or 7 is Sunday), each `*`, a number, a
 * range, a list of them, or with a step `/n`. Pure.
 * @returns null when it is none.
 */
export function parseCron(text: string): Calendar | null {
  const fields = text.trim().split(/\s+/)
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields
  if (fields.length !== 5 || dayOfMonth === undefined || dayOfWeek === undefined) return null
  const minutesOfHour = parseField(minute, 0, 59)
  const hours = parseField(hour, 0, 23)
  const daysOfMonth = parseField(dayOfMonth, 1, 31)
  const months = parseField(month, 1, 12)
  const weekdays = parseField(dayOfWeek, 0, 7)
  if (minutesOfHour === null || hours === null || daysOfMonth === null) return null
  if (months === null || weekdays === null) return null
  return {
    minutes: [...hours].flatMap((at) => [...minutesOfHour].map((past) => at * 60 + past)),
    daysOfMonth,
    months,
    daysOfWeek: new Set([...weekdays].map((weekday) => weekday % 7)),
    eitherDay: !dayOfMonth.startsWith('*') && !dayOfWeek.startsWith('*'),
  }
}

/** The values of one field, ascending. */
function parseField(text: string | undefined, min: number, max: number): ReadonlySet<number> | null {
  const values = new Set<number>()
  for (const part of text?.split(',') ?? []) {
    const found = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part)
    if (found === null) return null
    const [, low, high, step] = found
    const from = low === undefined ? min : Number(low)
    // A step after a single number runs to the end, as cron has it.
    const until = high !== undefined ? Number(high) : low !== undefined && step === undefined ? from : max
    const by = step === undefined ? 1 : Number(step)
    if (by === 0 || from < min || until > max || from > until) return null
    for (let value = from; value <= until; value += by) values.add(value)
  }
  return values.size === 0 ? null : new Set([...values].sort((a, b) => a - b))
}

/** Whether a calendar names a day, counted from 1970-01-01. Pure. */
export function namesDay(calendar: Calendar, day: number): boolean {
  const date = new Date(day * DAY_S * 1_000)
  if (!calendar.months.has(date.getUTCMonth() + 1)) return false
  const ofMonth = calendar.daysOfMonth.has(date.getUTCDate())
  const ofWeek = calendar.daysOfWeek.has(date.getUTCDay())
  return calendar.eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek
}
