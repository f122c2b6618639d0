import { invariant } from '../../errors.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import { needReference } from './compile-condition.ts'
import { compileRule } from './compile-rule.ts'
import type { Reference, Scope } from './conditions.ts'
import { type InputShape, inputShape } from './inputs.ts'
import type { GuardPolicy } from './policy.ts'
import { policyError } from './policy-error.ts'
import type { Relied } from './relied.ts'
import { type Effects, type Rule, rulesFor } from './rule.ts'

/** Compile `guard.allow`: the calls of each workflow type, in order. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function compileRules(
  sources: GuardPolicy['allow'],
  deployment: Deployment,
  relied: Relied,
): ReadonlyMap<WorkflowType, readonly Rule[]> {
  const rules = new Map<WorkflowType, Rule[]>()
  const ids = new Set<string>()
  for (const [index, source] of sources.entries()) {
    const path = `guard.allow[${index}]`
    const type = source.workflowType
    if (ids.has(source.id))
      throw policyError(`${path}.id`, `"${source.id}" is used twice.`, 'give each rule its own id.')
    ids.add(source.id)
    needInputs(type, `${path}.workflowType`)
    rules.set(type, [
      ...(rules.get(type) ?? []),
      compileRule(source, path, deployment, relied.get(type) ?? []),
    ])
  }
  for (const [type, ofType] of rules) checkSequences(type, ofType)
  return rules
}

/** What of an input every rule of a type can name. */
function needInputs(type: WorkflowType, path: string): InputShape {
  const inputs = inputShape(type, {})
  if (inputs !== null) return inputs
  throw policyError(path, `What an input of ${type} holds is not known.`, 'remove it.')
}

/** Whatever the input is, its calls end with one that is always there and uses what was approved before. */
function checkSequences(type: WorkflowType, rules: readonly Rule[]): void {
  for (const { when } of rules) {
    const sequence = rulesFor(rules, when)
    if (sequence.filter(({ typedData }) => typedData !== null).length > 1) {
      throw policyError('guard.allow', `${type} carries more than one signature.`, 'keep one typedData.')
    }
    const last = sequence.at(-1)
    invariant(last !== undefined, `a rule of ${type} is in its own sequence`)
    if (!last.isApproval && !last.optional) continue
    throw policyError(
      'guard.allow',
      `${type} ends with ${last.isApproval ? 'an approval that nothing uses' : 'a call that may be missing'}.`,
      'put the call that uses it after it.',
    )
  }
}

/** Compile `guard.effects`, one entry for each type that the rules allow. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function compileEffects(
  sources: GuardPolicy['effects'],
  rules: ReadonlyMap<WorkflowType, readonly Rule[]>,
  deployment: Deployment,
): ReadonlyMap<WorkflowType, Effects> {
  const effects = new Map<WorkflowType, Effects>()
  for (const [index, source] of sources.entries()) {
    const path = `guard.effects[${index}]`
    const type = source.workflowType
    if (effects.has(type)) throw policyError(path, `${type} is listed twice.`, 'keep one.')
    if (!rules.has(type))
      throw policyError(path, `${type} has no rule in guard.allow.`, 'remove it, or add its rules.')
    const scope = { inputs: needInputs(type, `${path}.workflowType`), deployment }
    effects.set(type, compileEffect(source, scope, path))
  }
  for (const type of rules.keys()) {
    if (!effects.has(type))
      throw policyError('guard.effects', `${type} has no entry.`, 'state what may leave and must come in.')
  }
  return effects
}

function compileEffect(source: GuardPolicy['effects'][number], scope: Scope, path: string): Effects {
  const token = (text: string, at: string) => needOne(needReference(text, 'address', scope, at), at)
  const assets = (text: string, at: string) => needReference(text, 'uint', scope, at)
  return {
    out: source.out.map((item, at) => ({
      token: token(item.token, `${path}.out[${at}].token`),
      assetsMax: assets(item.assetsMax, `${path}.out[${at}].assetsMax`),
    })),
    in: source.in.map((item, at) => ({
      token: token(item.token, `${path}.in[${at}].token`),
      assetsMin: assets(item.assetsMin, `${path}.in[${at}].assetsMin`),
    })),
    moves: (source.moves ?? []).map((item, at) => ({
      token: token(item.token, `${path}.moves[${at}].token`),
      assets: assets(item.assets, `${path}.moves[${at}].assets`),
    })),
  }
}

function needOne(reference: Reference, path: string): Reference {
  if (reference.each === null) return reference
  throw policyError(path, `"${reference.text}" is a whole list.`, 'use a reference to one token.')
}
