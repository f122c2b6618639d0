/** Arithmetic over integers, compiled: null where a reference has no value, or something is divided by zero. */
export type Expression = {
  /** The references that it names, `$input.repayAssets` among them. */
  readonly references: readonly string[]
  readonly evaluate: (find: (reference: string) => bigint | null) => bigint | null
}

type Cursor = { readonly tokens: readonly string[]; at: number }

/** Powers of ten in fixed-point numbers go no further. */
const POWER_MAX = 100n

/**
 * Parse `$fact.debt * $fact.price / 10 ^ 36`: digits, references, `+ - * / ^` and brackets. A division is rounded down.
 * Null when it is none. Pure.
 */
export function parseExpression(text: string): Expression | null {
  const tokens = text.match(/\$[A-Za-z][\w.]*|\d+|\S/g) ?? []
  const cursor = { tokens, at: 0 }
  const found = sum(cursor)
  return cursor.at === tokens.length ? found : null
}

const sum = (cursor: Cursor): Expression | null =>
  chain(cursor, product, { '+': (one, other) => one + other, '-': (one, other) => one - other })

const product = (cursor: Cursor): Expression | null =>
  chain(cursor, power, {
    '*': (one, other) => one * other,
    '/': (one, other) => (other === 0n ? null : one / other),
  })

const power = (cursor: Cursor): Expression | null =>
  chain(cursor, atom, { '^': (one, other) => (other < 0n || other > POWER_MAX ? null : one ** other) })

type Operator = (one: bigint, other: bigint) => bigint | null

/** Parts of one kind, joined by operators of one rank from the left. */
function chain(
  cursor: Cursor,
  part: (cursor: Cursor) => Expression | null,
  operators: Readonly<Record<string, Operator>>,
): Expression | null {
  let left = part(cursor)
  for (;;) {
    const operator = operators[cursor.tokens[cursor.at] ?? '']
    if (left === null || operator === undefined) return left
    cursor.at += 1
    left = join(left, part(cursor), operator)
  }
}

function join(left: Expression, right: Expression | null, operator: Operator): Expression | null {
  if (right === null) return null
  return {
    references: [...left.references, ...right.references],
    evaluate: (find) => {
      const [one, other] = [left.evaluate(find), right.evaluate(find)]
      return one === null || other === null ? null : operator(one, other)
    },
  }
}

function atom(cursor: Cursor): Expression | null {
  const token = cursor.tokens[cursor.at] ?? ''
  cursor.at += 1
  if (token === '(') {
    const inner = sum(cursor)
    const isClosed = cursor.tokens[cursor.at] === ')'
    cursor.at += 1
    return isClosed ? inner : null
  }
  if (token.startsWith('$')) return { references: [token], evaluate: (find) => find(token) }
  return /^\d{1,78}$/.test(token) ? { references: [], evaluate: () => BigInt(token) } : null
}
