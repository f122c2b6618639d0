import type { AbiParameter } from 'viem'
import { type Condition, factsIn, referencesIn } from '../conditions.ts'
import { listsOf } from '../paths.ts'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import type { Reference, Scope } from '../references.ts'
import { type Inside, type Leaf, testsOf } from '../rule.ts'
import { kindOf, type ValueKind } from '../values.ts'
import { compileTests } from './condition.ts'

type Shape = { readonly path: string; readonly kind: ValueKind }

/** What references may name, the calls that the arguments carry, and where the conditions are written. */
type Context = {
  readonly scope: Omit<Scope, 'args'>
  readonly inside: Inside | null
  readonly path: string
}

/** Longest array of a fixed length: each of its elements has a condition of its own. */
const FIXED_MAX = 16

/**
 * Compile the conditions of a call's arguments: one for every value that they consist of, and one for the length of each
 * list that no list of the input bounds. Throws RolekeeperError `policy.guard_invalid`. Pure.
 */
export function compileLeaves(
  parameters: readonly AbiParameter[],
  sources: GuardPolicy['allow'][number]['params'],
  { scope, inside, path }: Context,
): readonly Leaf[] {
  const known = shapesIn(parameters, path)
  const lengths = new Set([...known.keys()].flatMap((name) => listsOf(name).map(lengthOf)))
  const carried = inside === null ? [] : [inside.data, inside.target, inside.value]
  const unknown = Object.keys(sources).find((name) => !known.has(name))
  if (unknown !== undefined) {
    throw policyError(
      `${path}.${unknown}`,
      'the function has no such parameter.',
      `use its names: ${[...known.keys()].join(', ')}.`,
    )
  }
  const leaves = [...known].flatMap(([name, kind]): readonly Leaf[] => {
    const tests = sources[name]
    const at = `${path}.${name}`
    if (tests !== undefined) return [compileLeaf(tests, { path: name, kind }, { ...scope, args: known }, at)]
    if (lengths.has(name) || carried.includes(name)) return []
    throw policyError(at, 'the parameter has no condition.', 'state what it may be.')
  })
  checkLengths(leaves, inside, path)
  checkComparisons(leaves, path)
  return leaves
}

/** Compile what must hold of one value, apart from what must be read first. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function compileLeaf(
  tests: GuardPolicy['allow'][number]['params'][string],
  shape: Shape,
  scope: Scope,
  path: string,
): Leaf {
  const compiled = compileTests(tests, shape, scope, path)
  const quoted = compiled.filter((test) => factsIn([test]).length > 0)
  return { ...shape, tests: compiled.filter((test) => !quoted.includes(test)), quoted }
}

/**
 * Name what a call's arguments consist of: each value and each list's length, by path, with its kind.
 * Throws RolekeeperError `policy.guard_invalid` for a type without a rule language. Pure.
 */
export function shapesIn(parameters: readonly AbiParameter[], path: string): ReadonlyMap<string, ValueKind> {
  const values = parameters.flatMap((parameter) => shapesOf(parameter, '', path))
  const lengths = new Set(values.flatMap((shape) => listsOf(shape.path).map(lengthOf)))
  const shapes = [...values, ...[...lengths].map((list): Shape => ({ path: list, kind: 'uint' }))]
  const known = new Map(shapes.map((shape) => [shape.path, shape.kind]))
  if (known.size === shapes.length) return known
  throw policyError(path, 'two parameters have the same name.', 'give each a name of its own.')
}

const lengthOf = (list: string): string => `${list}.length`

/** The values that a parameter consists of: one condition each. */
function shapesOf(parameter: AbiParameter, prefix: string, path: string): readonly Shape[] {
  const { name = '', type } = parameter
  if (name === '')
    throw policyError(path, `a parameter of the type ${type} has no name.`, 'name every parameter.')
  const [, base = '', suffix = ''] = /^([^[]*)(.*)$/.exec(type) ?? []
  // Solidity writes the innermost array first, a path the outermost.
  const dimensions = (suffix.match(/\[\d*\]/g) ?? []).toReversed()
  const elements = dimensions.reduce<readonly string[]>(
    (places, dimension) => places.flatMap((place) => stepsInto(dimension, place, path)),
    [`${prefix}${name}`],
  )
  const kind = kindOf(base)
  return elements.flatMap((own): readonly Shape[] => {
    if ('components' in parameter && base === 'tuple') {
      return parameter.components.flatMap((component) => shapesOf(component, `${own}.`, path))
    }
    if (kind !== null) return [{ path: own, kind }]
    throw policyError(`${path}.${own}`, `the type ${type} has no rule language.`, 'allow another function.')
  })
}

function stepsInto(dimension: string, place: string, path: string): readonly string[] {
  if (dimension === '[]') return [`${place}[]`]
  const length = Number(dimension.slice(1, -1))
  if (length <= FIXED_MAX) return Array.from({ length }, (_, index) => `${place}[${index}]`)
  throw policyError(
    `${path}.${place}`,
    `it has ${length} elements; there are conditions for ${FIXED_MAX} at most.`,
    'allow another function.',
  )
}

/**
 * A list without a condition on its length could hold one more element that passes every test. One is as long as a list of
 * the input, as its own `length` says, or as another list of the call that one of these bounds.
 */
function checkLengths(leaves: readonly Leaf[], inside: Inside | null, path: string): void {
  const stated = new Set([
    ...(inside === null ? [] : listsOf(inside.data)),
    ...leaves.flatMap(({ path: leaf }) =>
      leaf.endsWith('.length') ? [leaf.slice(0, -'.length'.length)] : [],
    ),
    ...listsLike(leaves, ({ each }) => each?.of === 'input'),
  ])
  const alike = listsLike(
    leaves,
    ({ each }) => each?.of === 'args' && listsOf(each.path).every((list) => stated.has(list)),
  )
  const bounded = new Set([...stated, ...alike])
  for (const leaf of leaves) {
    const loose = listsOf(leaf.path).find((list) => !bounded.has(list))
    if (loose === undefined) continue
    throw policyError(
      `${path}.${leaf.path}`,
      'its list may be of any length.',
      `use eq with a list of the input, for example $input.supplies[].assets, or bound ${loose}.length.`,
    )
  }
}

/** The lists whose elements are compared, one by one, with those of such a reference. */
const listsLike = (leaves: readonly Leaf[], isSuch: (reference: Reference) => boolean): readonly string[] =>
  leaves.flatMap(({ path, tests }) =>
    tests.some((test) => test.op === 'eq' && isSuch(test.reference)) ? listsOf(path) : [],
  )

/** What an argument is compared with must itself be held by something else than arguments. */
function checkComparisons(leaves: readonly Leaf[], path: string): void {
  const comparing = (tests: readonly Condition[]): readonly string[] =>
    referencesIn(tests).flatMap((text) => (text.startsWith('$args.') ? [text.slice('$args.'.length)] : []))
  const relative = new Set(
    leaves.filter((leaf) => comparing(testsOf(leaf)).length > 0).map((leaf) => leaf.path),
  )
  const stated = new Set(leaves.map((leaf) => leaf.path))
  for (const leaf of leaves) {
    const loose = comparing(testsOf(leaf)).find((other) => relative.has(other) || !stated.has(other))
    if (loose === undefined) continue
    throw policyError(
      `${path}.${leaf.path}`,
      `$args.${loose} is itself compared with another argument, or with nothing.`,
      'compare with an argument whose own condition names none.',
    )
  }
}
