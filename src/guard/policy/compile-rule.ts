import { type AbiFunction, type AbiParameter, toFunctionSelector } from 'viem'
import type { Deployment } from '../../service/contract/deployment.ts'
import { checkBounds } from './bounds.ts'
import { compileTypedData } from './compile-typed-data.ts'
import {
  type Condition,
  compileList,
  compileMapped,
  compileReference,
  knownReferences,
  LISTS,
  type Reference,
  type Scope,
} from './conditions.ts'
import { APPROVE, parseCallable, parseConstructor } from './functions.ts'
import { inputShape } from './inputs.ts'
import { isEach, listOf } from './paths.ts'
import type { GuardPolicy } from './policy.ts'
import { policyError } from './policy-error.ts'
import type { Leaf, Rule, TypedData } from './rule.ts'
import { kindOf, VALUE_KINDS, type ValueKind } from './values.ts'

type SourceRule = GuardPolicy['allow'][number]
type SourceTests = SourceRule['params'][string]

/** Compile one rule of `guard.allow`; `relies` as in checkBounds. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function compileRule(
  source: SourceRule,
  path: string,
  deployment: Deployment,
  relies: readonly string[],
): Rule {
  const { id, when = {}, creation = null, valueWeiMax, gasMax } = source
  const inputs = inputShape(source.workflowType, when)
  if (inputs === null) {
    throw policyError(`${path}.when`, 'no input has these members.', 'use the names and values of the input.')
  }
  const scope = { inputs, deployment }
  const target = compileTarget(source, scope, path)
  const parse = target === null ? parseConstructor : parseCallable
  const abi = parse(source.function, `${path}.function`)
  const selector = target === null ? '0x' : toFunctionSelector(abi)
  const isApproval = selector === APPROVE
  const typedData =
    source.typedData === undefined ? null : compileTypedData(source.typedData, abi, `${path}.typedData`)
  if (target === null && typedData !== null) {
    throw policyError(`${path}.typedData`, 'a creation carries no signature.', 'remove it.')
  }
  const { held, params } = apartFromSignature(abi, source.params, typedData, `${path}.params`)
  const leaves = compileLeaves(held, params, scope, `${path}.params`)
  if (isApproval) checkApproval(leaves, source.params, path)
  checkBounds(leaves, relies, `${path}.params`)
  return {
    id,
    when,
    optional: source.optional !== undefined,
    target,
    creation,
    abi,
    selector,
    isApproval,
    leaves,
    typedData,
    valueWeiMax,
    gasMax,
  }
}

/** The arguments that conditions hold, without the one that takes our signature. */
function apartFromSignature(
  { inputs }: AbiFunction,
  sources: SourceRule['params'],
  typedData: TypedData | null,
  path: string,
): { readonly held: readonly AbiParameter[]; readonly params: SourceRule['params'] } {
  if (typedData === null) return { held: inputs, params: sources }
  const { [typedData.signature]: signature, ...params } = sources
  if (signature?.eq !== '$signature') {
    throw policyError(`${path}.${typedData.signature}`, 'it is what we sign.', 'use eq with $signature.')
  }
  return { held: inputs.filter(({ name }) => name !== typedData.signature), params }
}

/** Where a call goes; null for a creation, which names the code that it deploys. */
function compileTarget({ target: text, creation }: SourceRule, scope: Scope, path: string): Reference | null {
  if (text === 'deploy' && creation !== undefined) return null
  if (text === 'deploy' || creation !== undefined) {
    throw policyError(
      `${path}.creation`,
      'a deployment has both its target and its code.',
      'write target: deploy, and the hash and length of the creation code under creation.',
    )
  }
  if (!text.startsWith('$')) {
    throw policyError(`${path}.target`, `"${text}" is no reference.`, 'pin the contract, and name it.')
  }
  const target = needReference(text, 'address', scope, `${path}.target`)
  if (target.each === null) return target
  throw policyError(`${path}.target`, `"${text}" is a whole list.`, 'use a reference to one contract.')
}

/** An approval is for what the request names, and for no more. */
function checkApproval(leaves: readonly Leaf[], sources: SourceRule['params'], path: string): void {
  for (const { path: name, kind } of leaves) {
    const tests = sources[name]
    const bound = kind === 'uint' ? (tests?.eq ?? tests?.max) : tests?.eq
    if (bound?.startsWith('$') === true) continue
    throw policyError(
      `${path}.params.${name}`,
      'an approval must be for what the action needs.',
      'use eq with a member of the request, or max for an amount that the action may use less of.',
    )
  }
}

function compileLeaves(
  parameters: readonly AbiParameter[],
  sources: SourceRule['params'],
  scope: Scope,
  path: string,
): readonly Leaf[] {
  const shapes = parameters.flatMap((parameter) => leavesOf(parameter, '', path))
  const known = shapes.map((leaf) => leaf.path)
  const unknown = Object.keys(sources).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw policyError(
      `${path}.${unknown}`,
      'the function has no such parameter.',
      `use its names: ${known.join(', ')}.`,
    )
  }
  const leaves = shapes.map((leaf): Leaf => {
    const tests = sources[leaf.path]
    const at = `${path}.${leaf.path}`
    if (tests === undefined) throw policyError(at, 'the parameter has no condition.', 'state what it may be.')
    return { ...leaf, tests: compileTests(tests, leaf, scope, at) }
  })
  checkLengths(leaves, path)
  return leaves
}

/** The values that a parameter consists of: one condition each. */
function leavesOf(
  parameter: AbiParameter,
  prefix: string,
  path: string,
): readonly { readonly path: string; readonly kind: ValueKind }[] {
  const at = `${prefix}${parameter.name ?? ''}`
  if (parameter.name === undefined || parameter.name === '') {
    throw policyError(path, `a parameter of the type ${parameter.type} has no name.`, 'name every parameter.')
  }
  const type = parameter.type.replace(/\[\]$/, '')
  const own = type === parameter.type ? at : `${at}[]`
  if (own.split('[]').length > 2)
    throw policyError(`${path}.${own}`, 'a list is in a list.', 'there is no rule for it.')
  if ('components' in parameter && type === 'tuple') {
    return parameter.components.flatMap((component) => leavesOf(component, `${own}.`, path))
  }
  const kind = kindOf(type)
  if (kind !== null) return [{ path: own, kind }]
  throw policyError(
    `${path}.${own}`,
    `the type ${parameter.type} has no rule language.`,
    `allow only ${VALUE_KINDS.join(', ')}, lists and structs of them.`,
  )
}

/** A list without a condition on its length could hold one more element that passes every test. */
function checkLengths(leaves: readonly Leaf[], path: string): void {
  const isBound = ({ tests }: Leaf) => tests.some((test) => test.op === 'eq' && test.reference.each !== null)
  for (const leaf of leaves.filter((each) => isEach(each.path))) {
    const list = listOf(leaf.path)
    const peers = leaves.filter((each) => isEach(each.path) && listOf(each.path) === list)
    if (peers.some(isBound)) continue
    throw policyError(
      `${path}.${leaf.path}`,
      'its list may be of any length.',
      'use eq with a list of the input, for example $input.supplies[].assets.',
    )
  }
}

function compileTests(
  tests: SourceTests,
  leaf: { readonly path: string; readonly kind: ValueKind },
  scope: Scope,
  path: string,
): readonly Condition[] {
  return (['eq', 'in', 'min', 'max'] as const).flatMap((op): Condition[] => {
    const text = tests[op]
    if (text === undefined) return []
    const at = `${path}.${op}`
    if (op === 'in') return [compileIn(text, leaf.kind, scope, at)]
    if (op !== 'eq' && leaf.kind !== 'uint')
      throw policyError(at, `a ${leaf.kind} has no order.`, 'use eq or in.')
    const reference =
      op === 'eq' && tests.map !== undefined
        ? needMapped(text, tests.map, leaf.kind, scope, path)
        : needReference(text, leaf.kind, scope, at)
    if (reference.each !== null && !isEach(leaf.path)) {
      throw policyError(
        at,
        `"${text}" is a whole list.`,
        'compare a list with a list, or one value with one value.',
      )
    }
    return [{ op, reference }]
  })
}

function compileIn(text: string, kind: ValueKind, { deployment }: Scope, path: string): Condition {
  const list = kind === 'address' ? compileList(text, deployment) : null
  if (list !== null) return { op: 'in', text, list }
  const known = LISTS.map((name) => `$deployment.${name}`).join(', ')
  throw policyError(path, `"${text}" is no list of addresses.`, `use one of ${known}.`)
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
