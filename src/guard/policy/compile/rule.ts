import { type AbiFunction, type AbiParameter, toFunctionSelector } from 'viem'
import type { Deployment } from '../../../service/contract/deployment.ts'
import { checkBounds } from '../bounds.ts'
import { factsIn } from '../conditions.ts'
import { APPROVE, giftOf, parseCallable, parseConstructor } from '../functions.ts'
import { inputShape } from '../inputs.ts'
import { listsOf } from '../paths.ts'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import { needReference, type Reference, type Scope, SIGNERS } from '../references.ts'
import type { Inside, Leaf, Rule, TypedData } from '../rule.ts'
import { compileLeaves, shapesIn } from './leaves.ts'
import { compileTypedData } from './typed-data.ts'

type SourceRule = GuardPolicy['allow'][number]

/**
 * Compile one rule of `guard.allow`, but for what `guard.deny` takes out of it; `relies` as in checkBounds, `inside` the
 * rules of the calls that it carries. Throws RolekeeperError `policy.guard_invalid`. Pure.
 */
export function compileRule(
  source: SourceRule,
  path: string,
  context: {
    readonly deployment: Deployment
    readonly relies: readonly string[]
    readonly inside: readonly Rule[]
    readonly facts: NonNullable<Scope['facts']>
  },
): Rule {
  const { id, when = {}, creation = null, valueWeiMax, gasMax } = source
  const inputs = inputShape(source.workflowType, when)
  if (inputs === null) {
    throw policyError(`${path}.when`, 'no input has these members.', 'use the names and values of the input.')
  }
  const scope = { inputs, deployment: context.deployment, facts: context.facts }
  const target = compileTarget(source, scope, path)
  const abi =
    target === null
      ? parseConstructor(source.function, `${path}.function`)
      : parseCallable(source.function, `${path}.function`, {
          carries: source.calls !== undefined,
          toListed: (abi) => givesToListed(source, abi),
        })
  const selector = toFunctionSelector(abi)
  const isApproval = selector === APPROVE
  const typedData =
    source.typedData === undefined ? null : compileTypedData(source.typedData, abi, `${path}.typedData`)
  if (target === null && typedData !== null) {
    throw policyError(`${path}.typedData`, 'a creation carries no signature.', 'remove it.')
  }
  const inside = compileInside(source, abi, context.inside, path)
  const { held, params } = apartFromSignature(abi, source.params, typedData, `${path}.params`)
  const leaves = compileLeaves(held, params, { scope, inside, path: `${path}.params` })
  if (isApproval) checkApproval(leaves, source.params, path)
  checkBounds(leaves, context.relies, `${path}.params`)
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
    quotes: leaves.flatMap(({ quoted }) => factsIn(quoted)),
    typedData,
    inside,
    denials: [],
    valueWeiMax,
    gasMax,
  }
}

/**
 * Whether what a call gives away is a vault's, and goes to somebody whom the policy lists: `$signers`, or values. A role is
 * one that the policy writes, and not the first of all, which is the contract itself.
 */
function givesToListed({ target, params }: SourceRule, abi: AbiFunction): boolean {
  const gift = giftOf(abi)
  const testsAt = (index: number) => params[abi.inputs[index]?.name ?? '']
  if (gift === undefined || target !== '$vault') return false
  const among = testsAt(gift.to)?.in
  const isListed = among === SIGNERS || Array.isArray(among)
  if (gift.role === undefined) return isListed
  const { eq = '', map = { role: eq } } = testsAt(gift.role) ?? {}
  return (
    isListed && Object.values(map).every((role) => /^0x[0-9a-fA-F]{64}$/.test(role) && BigInt(role) !== 0n)
  )
}

/** Where a call carries others; null where it carries none. */
function compileInside(
  { calls, valueWeiMax }: SourceRule,
  { inputs }: AbiFunction,
  rules: readonly Rule[],
  path: string,
): Inside | null {
  if (calls === undefined) return null
  const { data, target = null, value = null } = calls
  const shapes = shapesIn(inputs, `${path}.params`)
  const parts = [
    ['data', data, 'bytes'],
    ['target', target, 'address'],
    ['value', value, 'uint'],
  ] as const
  for (const [name, at, kind] of parts) {
    if (at === null || (shapes.get(at) === kind && listsOf(at).join() === listsOf(data).join())) continue
    throw policyError(
      `${path}.calls.${name}`,
      `"${at}" is no ${kind} of the calls.`,
      'use a path of its own parameters.',
    )
  }
  // What is delegated to the contract itself sees the same value again in each call.
  if (value === null && valueWeiMax > 0n) {
    throw policyError(
      `${path}.calls.value`,
      'the value of its calls is not known.',
      'let the rule send no value.',
    )
  }
  if (listsOf(data).length <= 1 && (rules.length === 1 || listsOf(data).length === 1)) {
    return { data, target, value, rules }
  }
  throw policyError(
    `${path}.calls.data`,
    `"${data}" is not one place for each call.`,
    'use a path through one list.',
  )
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
  for (const { path: name } of leaves) {
    const tests = sources[name]
    const bound = tests?.eq ?? tests?.max
    if (bound?.startsWith('$') === true) continue
    throw policyError(
      `${path}.params.${name}`,
      'an approval must be for what the action needs.',
      'use eq with a member of the request, or max for an amount that the action may use less of.',
    )
  }
}
