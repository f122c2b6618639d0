import { printable } from '../errors.ts'

/** Source: service API, "Limits": identifier, name and message strings. */
const ID_LENGTH_MAX = 200
/** Longer texts are cut: the longest that a resource has is a message's body. */
const TEXT_LENGTH_MAX = 2_000

/** Most answers hold nothing that JSON escapes, nothing beyond ASCII, and no text longer than an id: they are not looked through. */
const PLAIN = /^[\t\n\r\x20-\x5b\x5d-\x7e]*$/
const LONG = new RegExp(`"[^"]{${ID_LENGTH_MAX + 1},}"`)

/** Whether every text of an answer is short and printable, by its own text. Pure. */
export const isPlain = (text: string): boolean => PLAIN.test(text) && !LONG.test(text)

/**
 * Let a row in from outside, before anything is done with it: what it says is made printable where it stands, and an id that is
 * too long, or that a terminal, a log or a page would not show as it is, keeps the whole row out: two ids must not become one.
 * The row's nesting is bounded already.
 * @returns the path of what keeps it out; null where it is in.
 */
export function admit(row: unknown, path: string): string | null {
  if (typeof row !== 'object' || row === null) return null
  const members = row as Record<string, unknown>
  for (const [name, value] of Object.entries(members)) {
    const at = Array.isArray(row) ? `${path}[${name}]` : `${path}.${printable(name)}`
    if (!isIdentifier(name)) return at
    if (typeof value !== 'string') {
      const kept = admit(value, at)
      if (kept !== null) return kept
    } else if (!isId(name)) members[name] = printable(value, TEXT_LENGTH_MAX)
    else if (!isIdentifier(value)) return at
  }
  return null
}

/** Most characters of an answer that is no list: what was prepared is kept, frozen, with all that it led to. */
const ANSWER_CHARS_MAX = 262_144

/** Bytes of a contract or a call, as long as the answer may be. */
const HEX = /^0x[0-9a-fA-F]*$/

/**
 * Let an answer in that is kept and judged as it was given: nothing in it is changed, so what a list would cut or make
 * printable keeps it out. Pure.
 * @returns what keeps it out; null where it is in.
 */
export function admitWhole(text: string, answer: unknown): string | null {
  if (text.length > ANSWER_CHARS_MAX)
    return `it has ${text.length} characters; ${ANSWER_CHARS_MAX} are the most`
  const path = isPlain(text) ? null : pathOfUnfit(answer, 'answer')
  return path === null ? null : `${path} is too long, or would not be shown as it is`
}

function pathOfUnfit(value: unknown, path: string, name = ''): string | null {
  if (typeof value === 'string') {
    const isFit = isId(name)
      ? isIdentifier(value)
      : HEX.test(value) || (value.length <= TEXT_LENGTH_MAX && printable(value, TEXT_LENGTH_MAX) === value)
    return isFit ? null : path
  }
  if (typeof value !== 'object' || value === null) return null
  for (const [key, member] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${printable(key)}`
    const unfit = isIdentifier(key) ? pathOfUnfit(member, at, key) : at
    if (unfit !== null) return unfit
  }
  return null
}

/** Members that name something: by what they hold rows are found, joined and explained. */
const isId = (name: string): boolean => name === 'id' || name === 'subject' || /Id$/.test(name)

const isIdentifier = (text: string): boolean => text.length <= ID_LENGTH_MAX && printable(text) === text
