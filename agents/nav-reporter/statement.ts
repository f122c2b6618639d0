import { parse as parseCsv } from 'csv-parse/sync'
import { moment } from '../../src/readable.js'
import type { Stop } from '../agent.ts'

/** A text that was answered, when, Unix milliseconds, and by which signature where one is demanded. */
export type Raw = { readonly text: string; readonly atMs: number; readonly signature?: string | undefined }
type Read = { readonly from?: Raw | undefined }

/** What a source states: a value in units of 10^-decimals of the report, and the time it is for, Unix seconds. */
export type Statement = Read & { readonly value: bigint; readonly asOfS: number }

/** Why a source states nothing; `from` where it answered a text. */
export type UnreadSource = Read & Stop

/** How a source's text is read. */
type Layout = {
  /** `csv` is a line of names, then lines of values: each is a statement. */
  readonly format: 'json' | 'csv'
  /** Of JSON: where its list of statements stands, in each of which value and time are found. Absent, it states one. */
  readonly history?: string | undefined
  /** Where the number stands: a JSON Pointer (RFC 6901) or a column. */
  readonly value: string
  /** Where its time stands. */
  readonly asOf: string
}

const stop = (check: string, message: string): Stop => ({ check, message })

/**
 * Read what a source's text states. Pure.
 * @param decimals of the source's number.
 * @param wanted decimals of the report.
 * @returns its statements, at least one; or why there is none, or what is wrong with the first that is none:
 *   `source_not_json`, `source_not_csv`, `source_without_value`, `source_without_date`, `source_negative`,
 *   `source_not_number` or `source_ambiguous`. Nothing of the text is quoted.
 */
export function readStatements(
  text: string,
  layout: Layout,
  decimals: number,
  wanted: number,
): readonly Statement[] | Stop {
  const found = layout.format === 'json' ? readJson(text, layout) : readCsv(text, layout)
  if ('check' in found) return found
  const stated: Statement[] = []
  const values = new Map<number, bigint>()
  for (const one of found) {
    const read = readStatement(one, layout, decimals, wanted)
    if ('check' in read) return read
    const { value, asOfS } = read
    if ((values.get(asOfS) ?? value) !== value)
      return stop('source_ambiguous', `It states two values for ${moment(asOfS)}.`)
    values.set(asOfS, value)
    stated.push(read)
  }
  return stated
}

function readStatement(
  found: FoundFigure,
  layout: Layout,
  decimals: number,
  wanted: number,
): Statement | Stop {
  if (found.value === null) return stop('source_without_value', `It states nothing at ${layout.value}.`)
  const asOfS = found.asOf === null ? null : parseTime(found.asOf)
  if (asOfS === null) {
    const forms = 'a date and time of ISO 8601 with its offset, or Unix seconds'
    return stop('source_without_date', `It states no time at ${layout.asOf}: ${forms}.`)
  }
  const value = parseDecimal(found.value, decimals, wanted)
  return typeof value === 'bigint' ? { value, asOfS } : value
}

/** Longer numbers are no price. */
const NUMBER = /^([0-9]{1,60})(?:\.([0-9]{1,60}))?$/

/**
 * Read a decimal number exactly, without a float on the way. Pure.
 * @param text digits with or without a point; it counts units of 10^-`decimals`.
 * @param wanted decimals of the result; what is smaller is cut off.
 * @returns units of 10^-`wanted`, or why it is no number of this kind: `source_negative` or `source_not_number`.
 */
export function parseDecimal(text: string, decimals: number, wanted: number): bigint | Stop {
  if (text.startsWith('-')) return { check: 'source_negative', message: 'It says a negative number.' }
  const found = NUMBER.exec(text)
  if (found === null)
    return { check: 'source_not_number', message: `It says no decimal number${oddOf(text)}.` }
  const [, whole = '', fraction = ''] = found
  return (BigInt(whole + fraction) * 10n ** BigInt(wanted)) / 10n ** BigInt(fraction.length + decimals)
}

/** Name the first character that no such number has: a comma, a space that looks like another. */
function oddOf(text: string): string {
  const [odd] = text.match(/[^0-9.]/u) ?? []
  if (odd === undefined) return text === '' ? ': there is nothing' : ''
  const code = (odd.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return `: ${/[\p{L}\p{N}\p{P}\p{S}]/u.test(odd) ? `"${odd}" (U+${code})` : `U+${code}`} is in it`
}

type FoundFigure = { readonly value: string | null; readonly asOf: string | null }

function readJson(text: string, { history, value, asOf }: Layout): readonly FoundFigure[] | Stop {
  let root: unknown
  try {
    // Some editors put a byte order mark first.
    root = JSON.parse(text.replace(/^\uFEFF/, ''), keepNumbersAsWritten)
    const names = [...text.matchAll(STRING)].filter(([, colon]) => colon !== undefined)
    if (names.length > membersIn(root))
      return stop('source_ambiguous', 'An object in its answer has a member twice.')
  } catch {
    return stop('source_not_json', 'Its answer is not JSON.')
  }
  const list = history === undefined ? [root] : nodeAt(root, history)
  if (!Array.isArray(list) || list.length === 0) {
    return stop('source_without_value', `It has no list of values at ${history}.`)
  }
  return list.map((one: unknown) => ({ value: textAt(one, value), asOf: textAt(one, asOf) }))
}

/** Each string of a JSON text; one that a colon follows is the name of a member. */
const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g

/** How many members a value has, all the way down. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside = Object.values(value).reduce<number>((sum, each) => sum + membersIn(each), 0)
  return inside + (Array.isArray(value) ? 0 : Object.keys(value).length)
}

/** Numbers stay the text that they were: a float would lose digits. */
function keepNumbersAsWritten(_key: string, value: unknown, ...rest: unknown[]): unknown {
  const [context] = rest
  if (typeof value !== 'number' || typeof context !== 'object' || context === null) return value
  return 'source' in context && typeof context.source === 'string' ? context.source : value
}

/** The text at a JSON Pointer; null where there is none. */
function textAt(root: unknown, pointer: string): string | null {
  const node = nodeAt(root, pointer)
  return typeof node === 'string' ? node : null
}

function nodeAt(root: unknown, pointer: string): unknown {
  let node = root
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return null
    node = Reflect.get(node, key)
  }
  return node
}

/** What stands between cells: a comma, or what spreadsheets write where a comma is the decimal point. */
const DELIMITERS = [',', ';', '\t']

function readCsv(text: string, { value, asOf }: Layout): readonly FoundFigure[] | Stop {
  const [first = ''] = text.split('\n', 1)
  const delimiter = DELIMITERS.find((each) => first.includes(each)) ?? ','
  let rows: readonly string[][]
  try {
    // Spreadsheets leave lines of empty cells at the end.
    const emptyLines = { skip_empty_lines: true, skip_records_with_empty_values: true }
    rows = parseCsv(text, { bom: true, delimiter, trim: true, ...emptyLines })
  } catch {
    return stop('source_not_csv', 'Not every line has the columns of its first, or a quote is not closed.')
  }
  const [names = [], ...lines] = rows
  if (lines.length === 0) return stop('source_not_csv', 'It has no line below that of the names.')
  const twice = [value, asOf].find((name) => names.indexOf(name) !== names.lastIndexOf(name))
  if (twice !== undefined) return stop('source_not_csv', `It has more than one column ${twice}.`)
  const [valueAt, asOfAt] = [names.indexOf(value), names.indexOf(asOf)]
  return lines.map((cells) => ({ value: cells[valueAt] ?? null, asOf: cells[asOfAt] ?? null }))
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/** Read an ISO 8601 date-time with its offset, or Unix seconds. */
function parseTime(text: string): number | null {
  // Fewer digits are of before 2001, and rather a date without its dashes or the day count of a spreadsheet.
  if (/^[1-9][0-9]{9,10}$/.test(text)) return Number(text)
  const ms = ISO_TIME.test(text) && isDate(text.slice(0, 10)) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000)
}

/** Whether a date, as in `2026-02-28`, exists: JavaScript takes the 30th of February for the 2nd of March. */
function isDate(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}
