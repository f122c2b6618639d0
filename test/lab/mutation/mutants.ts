import { parseSync } from 'oxc-parser'

/** One change of the code: what stands at a place, and what stands there instead. */
export type Mutant = {
  readonly id: number
  readonly file: string
  readonly line: number
  readonly kind: string
  readonly was: string
  readonly is: string
}

/** A file whose every mutant is in it, each switched on by its number. */
export type Mutated = { readonly text: string; readonly mutants: readonly Mutant[] }

/** Whether a mutant is switched on: a global function, as the mutated code calls it. */
export const SWITCH = '__mutant'

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>
type Change = { readonly kind: string; readonly is: string }

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string' &&
  'start' in value

const BINARY: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
}
const LOGICAL: Readonly<Record<string, readonly string[]>> = { '&&': ['||'], '||': ['&&'], '??': ['&&'] }
const ASSIGNMENT: Readonly<Record<string, string>> = { '+=': '-=', '-=': '+=', '*=': '/=', '??=': '&&=' }
/** Methods that another one stands in for, or that are left out. */
const METHODS: Readonly<Record<string, string | null>> = {
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  toLowerCase: 'toUpperCase',
  toUpperCase: 'toLowerCase',
  min: 'max',
  max: 'min',
  filter: null,
  slice: null,
  toSorted: null,
  toReversed: null,
}

/** Calls whose texts are for people, or that only assert what cannot be: nothing inside of them is changed. */
const FOR_PEOPLE: ReadonlySet<string> = new Set([
  'invariant',
  'policyError',
  'unread',
  'RolekeeperError',
  'TypeError',
  'Error',
  'describe',
])

/** Mutate a file. Numbers go on from `first`. Pure. */
export function mutate(file: string, source: string, first: number): Mutated {
  const mutants: Mutant[] = []
  const lineOf = (at: number) => source.slice(0, at).split('\n').length
  const raw = (node: Node) => source.slice(node.start, node.end)

  /** The text of a node with every mutant in it. */
  function render(node: Node, changes: readonly Change[] = []): string {
    const inner = renderChildren(node)
    return changes.reduceRight(
      (text, { kind, is }) => {
        const id = first + mutants.length
        mutants.push({ id, file, line: lineOf(node.start), kind, was: raw(node), is })
        return `(${SWITCH}(${id}) ? (${is}) : ${text})`
      },
      changes.length === 0 ? inner : `(${inner})`,
    )
  }

  function renderChildren(node: Node): string {
    const parts = childrenOf(node, raw).toSorted((one, other) => one.node.start - other.node.start)
    let [text, at] = ['', node.start]
    for (const { node: child, bare } of parts) {
      text += source.slice(at, child.start)
      text += renderChild(node, child, bare)
      at = child.end
    }
    return text + source.slice(at, node.end)
  }

  function renderChild(parent: Node, child: Node, bare: boolean): string {
    if (child.type === 'ExpressionStatement') return renderStatement(child)
    return render(child, bare ? [] : [...changesOf(child, raw), ...testChanges(parent, child)])
  }

  /** A statement of an expression is left out; never begun with a parenthesis, which the line before would call. */
  function renderStatement(statement: Node): string {
    const { expression, directive } = statement
    if (!isNode(expression) || typeof directive === 'string') return raw(statement)
    const leaveOut = { kind: 'statement', is: 'undefined' }
    return `void ${render(expression, [...changesOf(expression, raw), ...(isForPeople(expression) ? [] : [leaveOut])])}`
  }

  const { program } = parseSync(file, source)
  const text = renderChildren(program as unknown as Node)
  return { text, mutants }
}

/** The nodes inside a node whose values can be changed; `bare` where the node itself must stay what it is. */
function childrenOf(
  node: Node,
  raw: (node: Node) => string,
): readonly { readonly node: Node; readonly bare: boolean }[] {
  if (/^(Import|ExportAll|TS(?!AsExpression|SatisfiesExpression|NonNull))/.test(node.type)) return []
  if (isForPeople(node)) return []
  const found: { node: Node; bare: boolean }[] = []
  for (const [key, value] of Object.entries(node)) {
    if (SKIPPED.has(key)) continue
    if ((key === 'key' || key === 'property') && node.computed !== true) continue
    if (key === 'source' || key === 'id' || key === 'param' || key === 'label') continue
    for (const child of Array.isArray(value) ? value : [value]) {
      if (!isNode(child)) continue
      found.push({ node: child, bare: isBare(node, key, child, raw) })
    }
  }
  if (node.type === 'CallExpression' && nameOf(node) === 'refuse')
    return found.filter(({ node: child }) => isFirst(node, child))
  return found
}

const SKIPPED: ReadonlySet<string> = new Set([
  'type',
  'start',
  'end',
  'typeAnnotation',
  'typeParameters',
  'typeArguments',
  'returnType',
  'superTypeArguments',
  'implements',
  'quasis',
  'quasi',
  'specifiers',
  'superClass',
  'attributes',
])

/** Its name is what a refusal is told by; the rest is a text for people. */
const isFirst = ({ arguments: given }: Node, child: Node): boolean =>
  Array.isArray(given) && given[0] === child

/** A callee keeps its receiver, a link of a chain its question mark, a pattern its names. */
const isBare = ({ type }: Node, key: string, child: Node, raw: (node: Node) => string): boolean =>
  key === 'callee' ||
  (key === 'left' &&
    (type === 'AssignmentExpression' || type === 'AssignmentPattern' || type.startsWith('For'))) ||
  (key === 'argument' &&
    (type === 'UpdateExpression' || type === 'RestElement' || type === 'UnaryExpression')) ||
  (key === 'object' && (child.type === 'MemberExpression' || raw(child).includes('?.'))) ||
  type === 'ChainExpression' ||
  /Pattern$/.test(child.type) ||
  /Statement$|Declaration$|Declarator$|^Property$|Block|^Switch|^Catch|^Class|^Method|Spread/.test(child.type)

function nameOf({ callee }: Node): string {
  if (!isNode(callee)) return ''
  if (callee.type === 'Identifier') return String(callee.name)
  const { property } = callee
  return isNode(property) ? String(property.name) : ''
}

const isForPeople = (node: Node): boolean =>
  (node.type === 'CallExpression' || node.type === 'NewExpression') && FOR_PEOPLE.has(nameOf(node))

/** What stands beside a condition: always, and never. */
function testChanges(parent: Node, child: Node): readonly Change[] {
  if (parent.test !== child || !/^(If|Conditional|While)/.test(parent.type)) return []
  const never = { kind: 'condition', is: 'false' }
  return parent.type.startsWith('While') ? [never] : [{ kind: 'condition', is: 'true' }, never]
}

/** What may stand where an expression stands. */
function changesOf(node: Node, raw: (node: Node) => string): readonly Change[] {
  const { left, right, operator, argument } = node
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const instead = (node.type === 'BinaryExpression' ? BINARY : LOGICAL)[String(operator)] ?? []
      if (!isNode(left) || !isNode(right)) return []
      return instead.map((other) => ({ kind: 'operator', is: `(${raw(left)}) ${other} (${raw(right)})` }))
    }
    case 'AssignmentExpression': {
      const other = ASSIGNMENT[String(operator)]
      if (other === undefined || !isNode(left) || !isNode(right)) return []
      return [{ kind: 'operator', is: `${raw(left)} ${other} ${raw(right)}` }]
    }
    case 'UnaryExpression':
      return (operator === '!' || operator === '-') && isNode(argument)
        ? [{ kind: 'operator', is: raw(argument) }]
        : []
    case 'ArrayExpression':
      return Array.isArray(node.elements) && node.elements.length > 0 ? [{ kind: 'list', is: '[]' }] : []
    case 'Literal':
      return literal(node)
    case 'CallExpression':
      return method(node, raw)
    default:
      return []
  }
}

/** Words with a space between them are for people, unless they are a function as Solidity writes it. */
const isText = (value: string): boolean => value.includes(' ') && !value.includes('(')

function literal(node: Node): readonly Change[] {
  const { value, regex } = node
  if (typeof value === 'boolean') return [{ kind: 'literal', is: String(!value) }]
  if (typeof value === 'string') {
    return isText(value) ? [] : [{ kind: 'literal', is: value === '' ? "'mutated'" : "''" }]
  }
  if (regex !== null && regex !== undefined) {
    return [
      { kind: 'pattern', is: '/(?!)/' },
      { kind: 'pattern', is: '/(?:)/' },
    ]
  }
  return []
}

function method(node: Node, raw: (node: Node) => string): readonly Change[] {
  const { callee, arguments: given } = node
  if (
    !isNode(callee) ||
    callee.type !== 'MemberExpression' ||
    callee.computed === true ||
    !Array.isArray(given)
  )
    return []
  const { object } = callee
  const other = Object.hasOwn(METHODS, nameOf(node)) ? METHODS[nameOf(node)] : undefined
  if (other === undefined || !isNode(object)) return []
  const args = given.filter(isNode).map(raw).join(', ')
  const dot = callee.optional === true ? '?.' : '.'
  return [{ kind: 'method', is: other === null ? raw(object) : `${raw(object)}${dot}${other}(${args})` }]
}
