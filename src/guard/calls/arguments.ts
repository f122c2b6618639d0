import { maxUint256 } from 'viem'
import { type Refusal, refuse } from '../../errors.ts'
import { describeCondition, holds, type Subject } from '../policy/conditions.ts'
import { type Arguments, countAt, isEach, listOf, memberAt } from '../policy/paths.ts'
import type { Leaf, Rule } from '../policy/rule.ts'
import { asValue } from '../policy/values.ts'

/** Demand that every value of a call's arguments passes the rule's conditions. Pure. */
export function checkArguments(args: Arguments, rule: Rule, subject: Subject): Refusal | null {
  for (const leaf of rule.leaves) {
    const refusal = isEach(leaf.path)
      ? checkElements(args, leaf, rule, subject)
      : checkValue(args, leaf, rule, subject, 0)
    if (refusal !== null) return refusal
  }
  return null
}

/** Demand that a list is as long as each list that it is compared with, and that every element passes. */
function checkElements(args: Arguments, leaf: Leaf, rule: Rule, subject: Subject): Refusal | null {
  const count = countAt(args, leaf.path) ?? 0
  for (const test of leaf.tests) {
    if (test.op === 'in' || test.reference.each === null) continue
    const wanted = countAt(subject.input, test.reference.each)
    if (count === wanted) continue
    return refuse(
      `${checkNameOf(listOf(leaf.path))}_length`,
      `Rule ${rule.id}: ${listOf(leaf.path)} has ${count} elements; ${test.reference.text} has ${wanted ?? 'none'}.`,
    )
  }
  const indexes = Array.from({ length: count }, (_, index) => index)
  return indexes.reduce<Refusal | null>(
    (refusal, index) => refusal ?? checkValue(args, leaf, rule, subject, index),
    null,
  )
}

function checkValue(
  args: Arguments,
  { path, kind, tests }: Leaf,
  rule: Rule,
  subject: Subject,
  index: number,
): Refusal | null {
  const actual = asValue(memberAt(args, path, index), kind)
  const failed = tests.find((test) => actual === undefined || !holds(test, actual, subject, index))
  if (failed === undefined) return null
  return refuse(
    rule.isApproval ? approvalCheck(actual) : checkNameOf(path),
    `Rule ${rule.id}: ${path.replace('[]', `[${index}]`)} is ${actual ?? 'missing'}; allowed is ${describeCondition(failed, subject, index)}.`,
  )
}

/** Name the refusal of a parameter: `report.revisionLabel` is `parameter_report_revision_label`. */
const checkNameOf = (path: string): string =>
  `parameter_${path
    .replaceAll('[]', '')
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replaceAll('.', '_')}`

/** Refusals of approvals have names of their own. */
function approvalCheck(actual: unknown): string {
  if (typeof actual !== 'bigint') return 'approval_spender'
  return actual === maxUint256 ? 'approval_unlimited' : 'approval_not_exact'
}
