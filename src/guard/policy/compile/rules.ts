import { invariant } from '../../../errors.ts'
import type { Deployment } from '../../../service/contract/deployment.ts'
import type { WorkflowType } from '../../../service/contract/workflow-types.ts'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import type { Relied } from '../relied.ts'
import { type Denial, type Rule, rulesFor } from '../rule.ts'
import { compileDenials } from './denials.ts'
import type { Facts } from './facts.ts'
import { compileRule } from './rule.ts'

type SourceRule = GuardPolicy['allow'][number]

/** How deep calls may be inside of calls. */
const DEPTH_MAX = 3

/** What the rules of a policy are compiled with. */
type Context = {
  readonly sources: GuardPolicy['allow']
  readonly deployment: Deployment
  readonly relied: Relied
  readonly denials: readonly Denial[]
  readonly facts: ReadonlyMap<WorkflowType, Facts>
}

/**
 * Compile `guard.allow`, with what `guard.deny` takes out of it: the calls of each workflow type, in order.
 * Throws RolekeeperError `policy.guard_invalid`. Pure.
 */
export function compileRules(
  { allow: sources, deny }: Pick<GuardPolicy, 'allow' | 'deny'>,
  deployment: Deployment,
  relied: Relied,
  facts: ReadonlyMap<WorkflowType, Facts>,
): ReadonlyMap<WorkflowType, readonly Rule[]> {
  const rules = new Map<WorkflowType, Rule[]>()
  const context = { sources, deployment, relied, facts, denials: compileDenials(deny, deployment) }
  checkIds(sources, 'guard.allow')
  checkIds(deny ?? [], 'guard.deny')
  const inside = new Set(sources.flatMap(({ calls }) => calls?.inside ?? []))
  for (const source of sources) {
    const type = source.workflowType
    if (inside.has(source.id)) continue
    rules.set(type, [...(rules.get(type) ?? []), compileOne(source, context, [])])
  }
  for (const [type, ofType] of rules) checkSequences(type, ofType)
  return rules
}

/** Demand that no two entries have one id: a refusal names the entry. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function checkIds(sources: readonly { readonly id: string }[], path: string): void {
  const ids = sources.map(({ id }) => id)
  const again = ids.findIndex((id, index) => ids.indexOf(id) < index)
  if (again < 0) return
  throw policyError(
    `${path}[${again}].id`,
    `"${ids[again]}" is used twice.`,
    'give each its own id, or keep one of them.',
  )
}

/** Compile a rule, and those whose calls it carries; `above` are the ids of the calls that it is inside of. */
function compileOne(source: SourceRule, context: Context, above: readonly string[]): Rule {
  const { sources, deployment, relied, denials, facts } = context
  const type = source.workflowType
  const path = `guard.allow[${sources.indexOf(source)}]`
  const inside = (source.calls?.inside ?? []).map((id, index) => {
    const at = `${path}.calls.inside[${index}]`
    const found = sources.find((each) => each.id === id && each.workflowType === type)
    if (found === undefined)
      throw policyError(at, `no rule of ${type} is "${id}".`, 'name a rule of this type.')
    if (above.length + 1 < DEPTH_MAX && id !== source.id)
      return compileOne(found, context, [...above, source.id])
    throw policyError(
      at,
      `its calls are more than ${DEPTH_MAX} deep.`,
      'allow the calls without what wraps them.',
    )
  })
  const rule = compileRule(source, path, {
    deployment,
    relies: relied.get(type) ?? [],
    inside,
    facts: facts.get(type) ?? new Map(),
  })
  const isPlain = !rule.isApproval && !rule.optional && rule.typedData === null && rule.target !== null
  if (above.length > 0 && (!isPlain || Object.keys(rule.when).length > 0)) {
    throw policyError(
      path,
      'a call inside of another is always there, and a plain one.',
      'allow it by itself.',
    )
  }
  return {
    ...rule,
    denials: denials.filter(({ workflowType }) => workflowType === null || workflowType === type),
  }
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
