import {
  type Condition,
  compileList,
  compileMapped,
  compileReference,
  knownReferences,
  LISTS,
  type Part,
  type Reference,
  type Scope,
  SIGNERS,
} from '../conditions.ts'
import { depthOf } from '../paths.ts'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import { isNumber, type ValueKind } from '../values.ts'

type SourceTests = GuardPolicy['allow'][number]['params'][string]
type SourceTest = Omit<SourceTests, 'any'>
/** A value of a call's arguments: where it is, and what it holds. */
type Shape = { readonly path: string; readonly kind: ValueKind }

/** Compile what must hold of one value. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function compileTests(
  { any, ...tests }: SourceTests,
  shape: Shape,
  scope: Scope,
  path: string,
): readonly Condition[] {
  const own = compileTest(tests, shape, scope, path)
  if (any === undefined) return own
  const of = any.map((each, index) => compileTest(each, shape, scope, `${path}.any[${index}]`))
  return [...own, { op: 'any', of }]
}

function compileTest(tests: SourceTest, shape: Shape, scope: Scope, path: string): readonly Condition[] {
  const { eq, in: among, min, max, map } = tests
  const conditions: Condition[] = []
  if (eq !== undefined) {
    const reference =
      map === undefined
        ? needReference(eq, shape.kind, scope, `${path}.eq`)
        : needMapped(eq, map, shape.kind, scope, path)
    conditions.push({ op: 'eq', reference: needDepth(reference, shape, `${path}.eq`) })
  }
  if (among !== undefined) conditions.push(compileIn(among, shape, scope, `${path}.in`))
  if (min !== undefined) conditions.push({ op: 'min', ...compileBound(min, shape, scope, `${path}.min`) })
  if (max !== undefined) conditions.push({ op: 'max', ...compileBound(max, shape, scope, `${path}.max`) })
  return conditions
}

/** A bound, or a part of one: `99 % of $args.assets`. */
function compileBound(
  text: string,
  shape: Shape,
  scope: Scope,
  path: string,
): { readonly reference: Reference; readonly part: Part | null } {
  if (!isNumber(shape.kind)) throw policyError(path, `a ${shape.kind} has no order.`, 'use eq or in.')
  const [, whole, decimals = '', of] = /^(\d{1,5})(?:\.(\d{1,4}))? % of (\$.+)$/.exec(text) ?? []
  const part =
    whole === undefined
      ? null
      : { of: BigInt(`${whole}${decimals}`), over: 100n * 10n ** BigInt(decimals.length) }
  const reference = needReference(of ?? text, shape.kind, scope, path)
  return { reference: needDepth(reference, shape, path), part }
}

function compileIn(source: string | readonly string[], shape: Shape, scope: Scope, path: string): Condition {
  if (typeof source !== 'string') {
    const among = source.map((text, index) => {
      const at = `${path}[${index}]`
      return needDepth(needReference(text, shape.kind, scope, at), shape, at)
    })
    return { op: 'in', text: source.join(', '), among }
  }
  if (source === SIGNERS && shape.kind === 'address')
    return { op: 'in', text: source, among: [], signers: true }
  const among = shape.kind === 'address' ? compileList(source, scope.deployment) : null
  if (among === null) {
    const known = [...LISTS.map((name) => `$deployment.${name}`), SIGNERS].join(', ')
    throw policyError(
      path,
      `"${source}" is no list.`,
      `list the values, or use one of ${known} for an address.`,
    )
  }
  if (among.length > 0) return { op: 'in', text: source, among }
  throw policyError(
    path,
    `${source} is empty: nothing is one of it.`,
    'pin what it is to list, or remove the rule.',
  )
}

/** A list is compared with a list of the same depth, or with one value. */
function needDepth(reference: Reference, { path: leaf }: Shape, path: string): Reference {
  if (reference.each === null || depthOf(reference.each.path) === depthOf(leaf)) return reference
  throw policyError(
    path,
    `"${reference.text}" is a whole list.`,
    'compare a list with a list, or one value with one value.',
  )
}

function needMapped(
  text: string,
  map: Readonly<Record<string, string>>,
  kind: ValueKind,
  scope: Scope,
  path: string,
): Reference {
  const reference = compileMapped(text, map, kind, scope)
  if (reference !== null) return reference
  throw policyError(
    `${path}.map`,
    `it does not lead from a text of the input to a ${kind}.`,
    'name each choice of the input, with its value on chain as quoted text.',
  )
}

/** Compile a reference that must be there. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function needReference(text: string, kind: ValueKind, scope: Scope, path: string): Reference {
  const reference = compileReference(text, kind, scope)
  if (reference !== null) return reference
  const known = knownReferences(kind, scope).join(', ')
  throw policyError(path, `"${text}" refers to no ${kind} that is known.`, `use a value, or one of ${known}.`)
}
