/** What is wrong with a text as JSON, and from where on: `twice` is a member that its object has already, `end` a text that ends before it is whole. */
export type JsonProblem = {
  readonly kind: 'syntax' | 'end' | 'twice' | 'deep'
  readonly line: number
  readonly column: number
  /** Of a member that stands twice. */
  readonly name: string
}

/** Far deeper than any workflow's input. */
const DEPTH_MAX = 32

const TOKEN = /[ \t\r\n]*("(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|[^"\\\n])*"|[{}[\],:]|[^\s{}[\],:"]+)?/y
const WORD = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

/** What may come next: `item` and `member` stand for the first of a list or an object, which may also end there. */
type Next = 'value' | 'item' | 'member' | 'name' | 'colon' | 'more'

/**
 * Find what is wrong with a text as JSON. A parser takes the last of two members of one name without a word, and says of few
 * mistakes where they are. Null where nothing is. Source: RFC 8259. Pure.
 */
export function jsonProblem(text: string): JsonProblem | null {
  /** Of each object that is open its names; null for a list. */
  const open: (Set<string> | null)[] = []
  let next: Next = 'value'
  TOKEN.lastIndex = 0
  for (;;) {
    const token = TOKEN.exec(text)?.[1] ?? ''
    const at = TOKEN.lastIndex - token.length
    const problem = (kind: JsonProblem['kind'], name = ''): JsonProblem => ({
      kind,
      name,
      ...placeOf(text, at),
    })
    if (at === text.length) return next === 'more' && open.length === 0 ? null : problem('end')
    const names = open.at(-1)
    const isValue = next === 'value' || next === 'item'
    if (isValue && (token === '{' || token === '[')) {
      if (open.length === DEPTH_MAX) return problem('deep')
      open.push(token === '{' ? new Set() : null)
      next = token === '{' ? 'member' : 'item'
    } else if (isEndOf(token, names, next)) {
      open.pop()
      next = 'more'
    } else if (token === ',' && next === 'more' && names !== undefined)
      next = names === null ? 'value' : 'name'
    else if (token === ':' && next === 'colon') next = 'value'
    else if (names instanceof Set && (next === 'member' || next === 'name') && isText(token)) {
      const name: string = JSON.parse(token)
      if (names.has(name)) return problem('twice', name)
      names.add(name)
      next = 'colon'
    } else if (isValue && (isText(token) || WORD.test(token))) next = 'more'
    else return problem('syntax')
  }
}

const isEndOf = (token: string, names: Set<string> | null | undefined, next: Next): boolean =>
  names instanceof Set
    ? token === '}' && (next === 'member' || next === 'more')
    : names === null && token === ']' && (next === 'item' || next === 'more')

/** Control letters stand in a text by their numbers alone. */
const isText = (token: string): boolean => token.startsWith('"') && ![...token].some((letter) => letter < ' ')

function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, offset).split('\n')
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 }
}
