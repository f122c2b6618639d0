/**
 * The service's document states each field in a short notation (`uint-string?`, `addr[]`). The transcription keeps
 * that notation as text, so that a row can be held against the document by eye, and this file reads it.
 *
 * In front: `!` the document calls the field required; `~` it leaves that open, and an answer holds it all the same;
 * nothing: it may be absent. Behind: `[]` a list of it, `?` may be null. In brackets: `string(1..200)` a length,
 * `integer(0..)` a range, `enum(a|b)` the values, `pattern(^x$)` an expression. `string<addr>` the document says no
 * more than string, and we assume an address. Another name is a resource.
 */

/** Where a row comes from: stated by the document, or assumed where the document says "not shown". */
export type Mark = 'documented' | 'assumed'

/** Fields by name, each in the notation. */
export type Fields = Readonly<Record<string, string>>

/** A resource of the transcription. */
export type Resource = { readonly mark: Mark; readonly fields: Fields }

/** One field, read. `lowest` and `highest` bound a string's length or a number's value. */
export type Shape = {
  readonly presence: 'required' | 'present' | 'optional'
  readonly base: string
  /** What a string is assumed to be beyond what the document says of it. */
  readonly assumedTo: string | null
  readonly lowest: number | null
  readonly highest: number | null
  readonly values: readonly string[]
  readonly pattern: string | null
  readonly list: boolean
  readonly nullable: boolean
}

const FIELD =
  /^(?<presence>[!~]?)(?<base>[A-Za-z-]+)(?:<(?<assumed>[a-z-]+)>)?(?:\((?<bounds>.*)\))?(?<list>\[\])?(?<nullable>\?)?$/

/** Patterns of the document's named strings. */
const PATTERNS: Readonly<Record<string, string>> = {
  'uint-string': '^[0-9]+$',
  addr: '^0x[a-fA-F0-9]{40}$',
  hash: '^0x[a-fA-F0-9]{64}$',
}

/** Read a field's notation. Throws `SyntaxError` for a text that is none. */
export function shapeOf(text: string): Shape {
  const read = FIELD.exec(text)?.groups
  if (read?.base === undefined) throw new SyntaxError(`"${text}" is no field of the transcription's notation`)
  const { base, bounds = '' } = read
  const [lowest, highest] = bounds.split('..')
  const ranged = base === 'string' || base === 'integer'
  return {
    presence: read.presence === '!' ? 'required' : read.presence === '~' ? 'present' : 'optional',
    base,
    assumedTo: read.assumed ?? null,
    lowest: ranged && lowest ? Number(lowest) : null,
    highest: ranged && highest ? Number(highest) : null,
    values: base === 'enum' ? bounds.split('|') : [],
    pattern: base === 'pattern' ? bounds : (PATTERNS[base] ?? null),
    list: read.list !== undefined,
    nullable: read.nullable !== undefined,
  }
}

/** State a documented resource. */
export const documented = (fields: Fields): Resource => ({ mark: 'documented', fields })

/**
 * State a documented resource of which some members are assumed to be there, because a row without them is of no use:
 * what it is, where it lies. The document lets every member be absent that it does not call required.
 */
export function withIdentity(names: string, fields: Fields): Resource {
  const there = names.split(' ').map((name) => [name, `~${fields[name]}`] as const)
  return documented({ ...fields, ...Object.fromEntries(there) })
}

/** State a resource whose members the document does not show. */
export const assumed = (fields: Fields): Resource => ({ mark: 'assumed', fields })

/** Give several fields the same notation; `names` are separated by blanks. */
export function each(names: string, notation: string): Fields {
  return Object.fromEntries(names.split(' ').map((name) => [name, notation]))
}
