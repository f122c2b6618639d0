/** Seconds of a day on a clock that is never put forward or back. */
export const DAY_S = 86_400

const formatters = new Map<string, Intl.DateTimeFormat>()

/** Building one takes longer than thousands of answers; what it says depends on nothing but the zone. */
function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  formatters.set(timeZone, made)
  return made
}

/** Whether the machine's time-zone data knows a zone by this IANA name. Pure. */
export function isTimeZone(name: string): boolean {
  try {
    formatterOf(name)
    return true
  } catch {
    return false
  }
}

/** Whether a date, as in `2026-02-28`, exists: JavaScript takes the 30th of February for the 2nd of March. Pure. */
export function isDate(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}

/** Return a zone's offset from UTC at an instant (Unix seconds), seconds, east positive. Pure. */
function offsetS(timeZone: string, atS: number): number {
  const part: Record<string, number> = {}
  for (const { type, value } of formatterOf(timeZone).formatToParts(atS * 1_000)) part[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1_000 - atS
}

/** Return the local calendar day of an instant, counted from 1970-01-01. Pure. */
export const localDay = (timeZone: string, atS: number): number =>
  Math.floor((atS + offsetS(timeZone, atS)) / DAY_S)

/**
 * Return the instants, Unix seconds, of local times of one calendar day, each once and in order. Pure. A time that the
 * clock jumps over is as much later as the clock was put forward; of one that comes twice the first counts.
 * @param day counted from 1970-01-01.
 * @param minutes of the local day, ascending.
 */
export function instantsOf(timeZone: string, day: number, minutes: readonly number[]): readonly number[] {
  const startS = day * DAY_S
  // Zones put their clocks on once in two days at most: these are the offsets before and after.
  const before = offsetS(timeZone, startS - DAY_S)
  const after = offsetS(timeZone, startS + 2 * DAY_S)
  if (before === after) return minutes.map((minute) => startS + minute * 60 - before)
  const instants = minutes.map((minute) => {
    const wallS = startS + minute * 60
    const candidates = [wallS - before, wallS - after].filter((atS) => wallS - atS === offsetS(timeZone, atS))
    return candidates.length === 0 ? wallS - before : Math.min(...candidates)
  })
  return [...new Set(instants)].sort((a, b) => a - b)
}
