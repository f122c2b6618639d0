import { type AbiFunction, type AbiParameter, toFunctionSelector } from 'viem'
import type { Deployment } from '../../service/contract/deployment.ts'
import { checkBounds } from './bounds.ts'
import { needReference } from './compile-condition.ts'
import { compileLeaves } from './compile-leaves.ts'
import { compileTypedData } from './compile-typed-data.ts'
import type { Reference, Scope } from './conditions.ts'
import { APPROVE, parseCallable, parseConstructor } from './functions.ts'
import { inputShape } from './inputs.ts'
import type { GuardPolicy } from './policy.ts'
import { policyError } from './policy-error.ts'
import type { Leaf, Rule, TypedData } from './rule.ts'

type SourceRule = GuardPolicy['allow'][number]

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
