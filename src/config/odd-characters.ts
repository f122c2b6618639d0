/** A character by its code point, as people look it up: `U+00A0`. */
const named = (character: string) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

/** Name the first character of a text that is not what a keyboard of ASCII types, as it may look like one that is. Pure. */
export function oddIn(text: string): string | null {
  const [odd] = /[^\x20-\x7e]/u.exec(text) ?? []
  return odd === undefined ? null : named(odd)
}

/**
 * Say what nobody sees at an edge of a text: a blank, the line end of another system, a byte order mark. Null where nothing
 * is. Shows nothing else of the text. Pure.
 */
export function oddEdgeOf(text: string): string | null {
  const [first] = /^[\s\p{C}]/u.exec(text) ?? []
  const [last] = /[\s\p{C}]$/u.exec(text) ?? []
  if (first !== undefined) return `begins with ${named(first)}`
  return last === undefined ? null : `ends with ${named(last)}`
}
