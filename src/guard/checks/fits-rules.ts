import type { Address } from 'viem'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import { type Condition, isMet, referencesIn } from '../policy/conditions.ts'
import { pinOf } from '../policy/deployment.ts'
import { depthOf } from '../policy/paths.ts'
import type { Subject } from '../policy/references.ts'
import { type Rule, rulesFor, type ValueRule } from '../policy/rule.ts'
import { asAddress, asValue } from '../policy/values.ts'
import type { Ruleset } from '../ruleset.ts'

/**
 * Whether a member of an input may have a value by the rules of its type, as far as the value alone tells: what they compare
 * with another member, the call or the chain is left open. A type without rules takes anything. Pure.
 * @param path of the member, `[]` standing for each element of a list.
 */
export function fitsRules(
  type: WorkflowType,
  input: Proposal['input'],
  signer: Address,
  ruleset: Ruleset,
): (path: string, value: unknown) => boolean {
  const { deployment, ours = [], sharing = [] } = ruleset
  const self: Address = `0x${signer.slice(2).toLowerCase()}`
  const about = { market: null, vault: null, fund: null, deadlineS: 0n }
  const subject: Subject = { input: {}, self, ours, sharing, deployment, ...about }
  const rules = rulesFor(ruleset.rules.get(type) ?? [], input)
  const ofInput = ruleset.metadata.get(type)
  return (path, value) =>
    rules.every((rule) => takes(rule, path, value, subject)) &&
    (ofInput === undefined || leavesTake(ofInput, (leaf) => leaf.path === path, path, value, subject))
}

/** Of a call and of those that it carries: whether it goes to a pinned contract, and may carry the value. */
function takes(rule: Rule, path: string, value: unknown, subject: Subject): boolean {
  const text = `$input.${path}`
  const isCallee = rule.target?.text === text
  if (isCallee && pinOf(asAddress(value), subject.deployment) === undefined) return false
  return (
    leavesTake(rule, ({ tests }) => tests.some((test) => isItself(test, path)), path, value, subject) &&
    (rule.inside?.rules ?? []).every((each) => takes(each, path, value, subject))
  )
}

const isItself = (test: Condition, path: string): boolean =>
  test.op === 'eq' && test.reference.text === `$input.${path}`

function leavesTake(
  { leaves }: ValueRule,
  isOf: (leaf: ValueRule['leaves'][number]) => boolean,
  path: string,
  value: unknown,
  subject: Subject,
): boolean {
  const place = Array.from({ length: depthOf(path) }, () => 0)
  return leaves.filter(isOf).every(({ kind, tests }) => {
    const read = asValue(value, kind)
    const alone = tests.filter(
      (test) =>
        !isItself(test, path) && !referencesIn([test]).some((text) => /^\$(deadline|args|fact)/.test(text)),
    )
    // A choice of the input is another value on chain.
    return read === undefined || alone.every((test) => isMet(test, read, subject, place))
  })
}
