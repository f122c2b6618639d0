import { maxUint256 } from 'viem'
import { type Refusal, refuse } from '../../errors.ts'
import { describeCondition, holds, type Subject } from '../policy/conditions.ts'
import { figureText } from '../policy/figures.ts'
import { type Arguments, listsOf, memberAt, type Place, placesOf } from '../policy/paths.ts'
import type { Leaf, Rule } from '../policy/rule.ts'
import { asAddress, asValue, type Value } from '../policy/values.ts'

/** Demand that every value of a call's arguments passes the rule's conditions. Pure. */
export function checkArguments(args: Arguments, rule: Rule, request: Subject): Refusal | null {
  const subject = { ...request, args }
  for (const leaf of rule.leaves) {
    const places = placesOf(args, leaf.path)
    const refusal = checkElements(places, leaf, rule, subject) ?? checkValues(places, leaf, rule, subject)
    if (refusal !== null) return refusal
  }
  return null
}

/** Demand that a list is as long as each list that it is compared with, at every depth. */
function checkElements(
  places: readonly Place[],
  { path, tests }: Leaf,
  rule: Rule,
  subject: Subject,
): Refusal | null {
  for (const test of tests) {
    const each = 'reference' in test ? test.reference.each : null
    if (each === null || shapeOf(subject.args, path) === shapeOf(subject[each.of], each.path)) continue
    const list = listsOf(path).at(-1) ?? path
    return refuse(
      `${checkNameOf(list)}_length`,
      `Rule ${rule.id}: ${list} has ${places.length} elements; the list that it is compared with, ${each.path}, has other ones.`,
    )
  }
  return null
}

/** How long each list on a path is: of an empty one the elements below do not tell. */
const shapeOf = (root: unknown, path: string): string =>
  JSON.stringify(listsOf(path).map((list) => placesOf(root, `${list}[]`)))

function checkValues(
  places: readonly Place[],
  { path, kind, tests }: Leaf,
  rule: Rule,
  subject: Subject,
): Refusal | null {
  for (const place of places) {
    const actual = asValue(memberAt(subject.args, path, place), kind)
    const failed = tests.find((test) => actual === undefined || !holds(test, actual, subject, place))
    if (failed === undefined) continue
    const approved = rule.isApproval ? asAddress(rule.target?.resolve(subject)) : undefined
    const say = (value: Value, reference: string) =>
      typeof value === 'bigint'
        ? figureText(value, { path, place, reference, approved }, subject)
        : String(value)
    const compared = 'reference' in failed ? failed.reference.text : ''
    return refuse(
      rule.isApproval ? approvalCheck(actual) : checkNameOf(path),
      `Rule ${rule.id}: ${describePath(path, place)} is ${actual === undefined ? 'missing' : say(actual, compared)}; allowed is ${describeCondition(failed, subject, place, say)}.`,
    )
  }
  return null
}

const describePath = (path: string, place: Place): string =>
  place.reduce((text, index) => text.replace('[]', `[${index}]`), path)

/** Name the refusal of a parameter: `report.revisionLabel` is `parameter_report_revision_label`. */
const checkNameOf = (path: string): string =>
  `parameter_${path
    .replaceAll('[]', '')
    .replace(/\[(\d+)\]/g, '_$1')
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replaceAll('.', '_')}`

/** Refusals of approvals have names of their own. */
function approvalCheck(actual: unknown): string {
  if (typeof actual !== 'bigint') return 'approval_spender'
  return actual === maxUint256 ? 'approval_unlimited' : 'approval_not_exact'
}
