import type { Deployment } from '../../../service/contract/deployment.ts'
import type { WorkflowType } from '../../../service/contract/workflow-types.ts'
import { isMetadata } from '../../../workflow/metadata.ts'
import { choicesOf, referencesIn } from '../conditions.ts'
import { needInputs } from '../inputs.ts'
import { operatorOf } from '../operators.ts'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import { compileReference, type Effects, type Scope } from '../references.ts'
import type { Leaf, ValueRule } from '../rule.ts'
import { compileLeaf } from './leaves.ts'
import { checkIds } from './rules.ts'

/** What such a type does to balances: nothing. */
export const MOVES_NOTHING: Effects = { out: [], in: [], moves: [] }

/**
 * Compile `guard.metadata`: which types may be done by preparing them, and of what input. Such a type has no rule in
 * `guard.allow`, and no other type is here. Throws RolekeeperError `policy.guard_invalid`. Pure.
 */
export function compileMetadata(
  { metadata = [], allow, deny = [] }: Pick<GuardPolicy, 'metadata' | 'allow' | 'deny'>,
  deployment: Deployment,
): ReadonlyMap<WorkflowType, ValueRule> {
  const called = allow.findIndex(({ workflowType }) => isMetadata(workflowType))
  if (called >= 0) {
    throw policyError(
      `guard.allow[${called}].workflowType`,
      `${allow[called]?.workflowType} consists of no call.`,
      'write what its input may be under guard.metadata.',
    )
  }
  const denied = deny.findIndex(({ workflowType }) => workflowType !== undefined && isMetadata(workflowType))
  if (denied >= 0) {
    throw policyError(
      `guard.deny[${denied}].workflowType`,
      `${deny[denied]?.workflowType} consists of no call, and so nothing of it is denied.`,
      'remove its entry from guard.metadata.',
    )
  }
  const rules = new Map<WorkflowType, ValueRule>()
  for (const [index, source] of metadata.entries()) {
    const path = `guard.metadata[${index}]`
    const type = source.workflowType
    if (!isMetadata(type)) {
      throw policyError(`${path}.workflowType`, `${type} consists of calls.`, 'write them under guard.allow.')
    }
    if (rules.has(type)) throw policyError(path, `${type} is listed twice.`, 'keep one.')
    rules.set(type, compileInput(source, deployment, path))
  }
  checkIds(metadata, 'guard.metadata')
  return rules
}

function compileInput(
  { id, workflowType, input }: NonNullable<GuardPolicy['metadata']>[number],
  deployment: Deployment,
  path: string,
): ValueRule {
  const inputs = needInputs(workflowType)
  const scope: Scope = { inputs, deployment }
  const unknown = Object.keys(input).find((name) => !inputs.has(name))
  if (unknown !== undefined) {
    throw policyError(
      `${path}.input.${unknown}`,
      'the input has no such member.',
      `use its names: ${[...inputs.keys()].join(', ')}.`,
    )
  }
  const leaves = [...inputs].map(([name, held]): Leaf => {
    const at = `${path}.input.${name}`
    const tests = input[name]
    const kind = held === 'text' ? 'string' : held
    if (tests === undefined && (kind === 'address' || kind === 'uint')) {
      throw policyError(at, 'the member has no condition.', 'state what it may be.')
    }
    if (tests !== undefined) {
      const leaf = compileLeaf(tests, { path: name, kind }, scope, at)
      checkBounded(leaf.tests, name, at)
      return leaf
    }
    // What a person approves is shown with all that it says.
    const itself = compileReference(`$input.${name}`, kind, scope)
    return {
      path: name,
      kind,
      tests: itself === null ? [] : [{ op: 'eq', reference: itself }],
      quoted: [],
    }
  })
  return { id, leaves, isApproval: false, target: null }
}

/** A member is compared with something else than itself or the end of a call, and a number has a maximum, in every choice that `any` leaves. */
function checkBounded(tests: Leaf['tests'], name: string, at: string): void {
  const compared = referencesIn(tests)
  if (compared.includes('$deadline')) {
    throw policyError(
      at,
      'there is no call that ends by $deadline.',
      'use a value, or a member of the input.',
    )
  }
  const isItself = compared.includes(`$input.${name}`)
  const isLow = choicesOf(tests).some((choice) =>
    choice.every((test) => !operatorOf(test).closes.includes('max')),
  )
  if (!isItself && !isLow) return
  throw policyError(at, 'it may be anything, or any amount.', 'use in, max, or eq with a value.')
}
