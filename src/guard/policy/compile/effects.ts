import type { Deployment } from '../../../service/contract/deployment.ts'
import type { WorkflowType } from '../../../service/contract/workflow-types.ts'
import { type InputShape, inputShapes, needInputs } from '../inputs.ts'
import { memberAt } from '../paths.ts'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import { type Effects, needReference, type Reference, type Scope } from '../references.ts'
import type { Rule } from '../rule.ts'

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
    const scope = { inputs: needInputs(type), deployment }
    effects.set(type, compileEffect(source, scope, withOptional(type), path))
  }
  for (const type of rules.keys()) {
    if (!effects.has(type))
      throw policyError('guard.effects', `${type} has no entry.`, 'state what may leave and must come in.')
  }
  return effects
}

/** All members that an input of a type may have, whatever it chooses. */
const withOptional = (type: WorkflowType): InputShape =>
  new Map(inputShapes(type, {}).flatMap((shape) => [...shape]))

function compileEffect(
  source: GuardPolicy['effects'][number],
  scope: Scope,
  optional: InputShape,
  path: string,
): Effects {
  const token = (text: string, at: string) => needOne(needReference(text, 'address', scope, at), at)
  const assets = (text: string, at: string) => needReference(text, 'uint', scope, at)
  // What only some choices of an input have leaves with those alone: with the others nothing does.
  const most = (text: string, at: string): Reference => {
    const reference = needReference(text, 'uint', { ...scope, inputs: optional }, at)
    const member = text.slice('$input.'.length)
    if (!text.startsWith('$input.') || scope.inputs.has(member)) return reference
    return {
      ...reference,
      resolve: (subject, place) =>
        memberAt(subject.input, member) === undefined ? 0n : reference.resolve(subject, place),
    }
  }
  return {
    out: source.out.map((item, at) => ({
      token: token(item.token, `${path}.out[${at}].token`),
      assetsMax: most(item.assetsMax, `${path}.out[${at}].assetsMax`),
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
