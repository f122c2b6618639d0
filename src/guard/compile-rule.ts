import { type AbiFunction, type AbiParameter, parseAbi, toFunctionSelector, toFunctionSignature } from 'viem'
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
import { inputShape } from './inputs.ts'
import { isEach, kindOf, listOf, VALUE_KINDS, type ValueKind } from './paths.ts'
import { wrong } from './policy-error.ts'
import type { Deployment, GuardPolicy, Leaf, Rule, TypedData } from './ruleset.ts'
import { compileTypedData } from './typed-data.ts'

type SourceRule = GuardPolicy['allow'][number]
type SourceTests = SourceRule['params'][string]

/** Never allowed, whatever a rule says: each hands out more than one action needs, or hides what runs inside. */
const DENIED_FUNCTIONS: ReadonlySet<string> = new Set(
  [
    'transfer(address,uint256)',
    'transferFrom(address,address,uint256)',
    'increaseAllowance(address,uint256)',
    'setApprovalForAll(address,bool)',
    'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
    'approve(address,address,uint160,uint48)',
    'transferOwnership(address)',
    'grantRole(bytes32,address)',
    'multicall(bytes[])',
    'execute(address,uint256,bytes)',
    'execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)',
  ].map((text) => toFunctionSelector(text)),
)

/** Source: EIP-20. */
const APPROVE = toFunctionSelector('approve(address,uint256)')

/** Parse a function as Solidity writes it. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function parseFunction(text: string, path: string): AbiFunction {
  let items: readonly unknown[] = []
  try {
    items = parseAbi([text])
  } catch {
    // The parser's own words come in several lines; what matters is which text, and what one looks like.
  }
  const [item] = items.filter((entry): entry is AbiFunction => isFunction(entry))
  if (item !== undefined && items.length === 1) return item
  throw wrong(
    path,
    `"${text}" is not a function.`,
    'write it as Solidity does: "function paused() view returns (bool)".',
  )
}

const isFunction = (entry: unknown): entry is AbiFunction =>
  typeof entry === 'object' && entry !== null && 'type' in entry && entry.type === 'function'

/** Compile one rule of `guard.allow`. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function compileRule(source: SourceRule, path: string, deployment: Deployment): Rule {
  const abi = parseFunction(source.function, `${path}.function`)
  const selector = toFunctionSelector(abi)
  if (DENIED_FUNCTIONS.has(selector)) {
    throw wrong(`${path}.function`, `${toFunctionSignature(abi)} is never allowed.`, 'remove the rule.')
  }
  const { id, when = {}, valueWeiMax, gasMax } = source
  const inputs = inputShape(source.workflowType, when)
  if (inputs === null) {
    throw wrong(`${path}.when`, 'no input has these members.', 'use the names and values of the input.')
  }
  const scope = { inputs, deployment }
  const isApproval = selector === APPROVE
  const typedData =
    source.typedData === undefined ? null : compileTypedData(source.typedData, abi, `${path}.typedData`)
  const { held, params } = apartFromSignature(abi, source.params, typedData, `${path}.params`)
  const leaves = compileLeaves(held, params, scope, `${path}.params`)
  if (isApproval) checkApproval(leaves, source.params, path)
  return {
    id,
    when,
    optional: source.optional !== undefined,
    target: compileTarget(source.target, scope, `${path}.target`),
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
    throw wrong(`${path}.${typedData.signature}`, 'it is what we sign.', 'use eq with $signature.')
  }
  return { held: inputs.filter(({ name }) => name !== typedData.signature), params }
}

function compileTarget(text: string, scope: Scope, path: string): Reference {
  if (!text.startsWith('$')) throw wrong(path, `"${text}" is no reference.`, 'pin the contract, and name it.')
  const target = needReference(text, 'address', scope, path)
  if (target.each === null) return target
  throw wrong(path, `"${text}" is a whole list.`, 'use a reference to one contract.')
}

/** An approval is for what the request names, and for no more. */
function checkApproval(leaves: readonly Leaf[], sources: SourceRule['params'], path: string): void {
  for (const { path: name, kind } of leaves) {
    const tests = sources[name]
    const bound = kind === 'uint' ? (tests?.eq ?? tests?.max) : tests?.eq
    if (bound?.startsWith('$') === true) continue
    throw wrong(
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
  const foreign = Object.keys(sources).find((name) => !known.includes(name))
  if (foreign !== undefined) {
    throw wrong(
      `${path}.${foreign}`,
      'the function has no such parameter.',
      `use its names: ${known.join(', ')}.`,
    )
  }
  const leaves = shapes.map((leaf): Leaf => {
    const tests = sources[leaf.path]
    const at = `${path}.${leaf.path}`
    if (tests === undefined) throw wrong(at, 'the parameter has no condition.', 'state what it may be.')
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
    throw wrong(path, `a parameter of the type ${parameter.type} has no name.`, 'name every parameter.')
  }
  const type = parameter.type.replace(/\[\]$/, '')
  const own = type === parameter.type ? at : `${at}[]`
  if (own.split('[]').length > 2)
    throw wrong(`${path}.${own}`, 'a list is in a list.', 'there is no rule for it.')
  if ('components' in parameter && type === 'tuple') {
    return parameter.components.flatMap((component) => leavesOf(component, `${own}.`, path))
  }
  const kind = kindOf(type)
  if (kind !== null) return [{ path: own, kind }]
  throw wrong(
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
    throw wrong(
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
    if (op !== 'eq' && leaf.kind !== 'uint') throw wrong(at, `a ${leaf.kind} has no order.`, 'use eq or in.')
    const reference =
      op === 'eq' && tests.map !== undefined
        ? needMapped(text, tests.map, leaf.kind, scope, path)
        : needReference(text, leaf.kind, scope, at)
    if (reference.each !== null && !isEach(leaf.path)) {
      throw wrong(
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
  throw wrong(path, `"${text}" is no list of addresses.`, `use one of ${known}.`)
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
  throw wrong(
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
  throw wrong(path, `"${text}" refers to no ${kind} that is known.`, `use a value, or one of ${known}.`)
}
