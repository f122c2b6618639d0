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

/** Members that name something: by what they hold rows are found, joined and explained. */
const isId = (name: string): boolean => name === 'id' || name === 'subject' || /Id$/.test(name)

const isIdentifier = (text: string): boolean => text.length <= ID_LENGTH_MAX && printable(text) === text
