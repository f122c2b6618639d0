import { maxUint256 } from 'viem'
import { type Refusal, refuse } from '../../errors.ts'
import { type Condition, describeCondition, holds, isMet, referencesIn } from '../policy/conditions.ts'
import { figureText } from '../policy/figures.ts'
import { operatorOf } from '../policy/operators.ts'
import { type Arguments, depthOf, type ListIndexes, listsOf, memberAt, placesOf } from '../policy/paths.ts'
import { elementsOf, type Reference, type Subject } from '../policy/references.ts'
import type { Leaf, ValueRule } from '../policy/rule.ts'
import { asAddress, asValue, type Value } from '../policy/values.ts'

/** Demand that every value of a call's arguments passes the rule's conditions. Pure. */
export function checkArguments(args: Arguments, rule: ValueRule, request: Subject): Refusal | null {
  const subject = { ...request, args }
  for (const leaf of rule.leaves) {
    const places = placesOf(args, leaf.path)
    const refusal = checkElements(places, leaf, rule, subject) ?? checkValues(places, leaf, rule, subject)
    if (refusal !== null) return refusal
  }
  return null
}

/**
 * Demand of a request that what it fixes of a call passes the rule, before there is a call: an argument that is exactly what
 * the request says is held to its other conditions, and a list that is as long as one of the request to those of its length.
 * What the call, the chain or the answer's end tells is left to checkArguments. Pure.
 */
export function checkAsked(rule: ValueRule, subject: Subject): Refusal | null {
  for (const leaf of rule.leaves) {
    const tests = leaf.tests.filter((test) => !referencesIn([test]).includes('$deadline'))
    for (const { place, value } of askedOf(leaf, rule.leaves, subject)) {
      const failed = tests.find((test) => value === undefined || !isMet(test, value, subject, place))
      if (failed !== undefined)
        return withFix(unfit({ ...leaf, place, actual: value, failed }, rule, subject), failed)
    }
  }
  return null
}

/** Who asks may ask otherwise; what a service answers nobody here corrects. */
const withFix = ({ message, ...refusal }: Refusal, failed: Condition): Refusal => {
  const fix = failed.op === 'any' ? undefined : operatorOf(failed).fix
  return { ...refusal, message: fix === undefined ? message : `${message} Fix: ${fix}` }
}

type AskedArgument = { readonly place: ListIndexes; readonly value: Value | undefined }

/** What a request fixes of an argument, at each place that it has; nothing where the request does not tell. */
function askedOf({ path, tests }: Leaf, leaves: readonly Leaf[], subject: Subject): readonly AskedArgument[] {
  const lengths = lengthsOf(path, leaves, subject)
  const reference = equalOf(tests)
  // How long a list of the request is, it says whatever its length must equal.
  if (reference === undefined || lengths.length > 0) return lengths
  // How many elements are all one value, the request does not tell: there may be none.
  if (reference.each === null && depthOf(path) > 0) return []
  const places = elementsOf(reference, subject) ?? [[]]
  return places.map((place) => ({ place, value: reference.resolve(subject, place) }))
}

/** What a value must equal that is known before there is a call. */
const equalOf = (tests: readonly Condition[]): Reference | undefined =>
  tests.flatMap((test) =>
    test.op === 'eq' && !/^\$(args\.|deadline$)/.test(test.reference.text) ? [test.reference] : [],
  )[0]

/** How long each list is whose length is at a path, where its elements are compared with lists of the request. */
function lengthsOf(path: string, leaves: readonly Leaf[], { input }: Subject): readonly AskedArgument[] {
  if (!path.endsWith('.length')) return []
  const list = path.slice(0, -'.length'.length)
  const compared = leaves.flatMap((leaf) => {
    const level = listsOf(leaf.path).indexOf(list)
    return listsOf(equalOf(leaf.tests)?.each?.path ?? '')[level] ?? []
  })
  return compared.flatMap((asked) =>
    placesOf(input, asked).map((place) => {
      const found = memberAt(input, asked, place)
      return { place, value: BigInt(Array.isArray(found) ? found.length : 0) }
    }),
  )
}

/** Demand that a list is as long as each list that it is compared with, at every depth. */
function checkElements(
  places: readonly ListIndexes[],
  { path, tests }: Leaf,
  rule: ValueRule,
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
  places: readonly ListIndexes[],
  { path, kind, tests }: Leaf,
  rule: ValueRule,
  subject: Subject,
): Refusal | null {
  for (const place of places) {
    const actual = asValue(memberAt(subject.args, path, place), kind)
    const failed = tests.find((test) => actual === undefined || !holds(test, actual, subject, place))
    if (failed !== undefined) return unfit({ path, place, actual, failed }, rule, subject)
  }
  return null
}

/** Say which value does not pass which of its conditions. */
function unfit(
  {
    path,
    place,
    actual,
    failed,
  }: {
    readonly path: string
    readonly place: ListIndexes
    readonly actual: Value | undefined
    readonly failed: Condition
  },
  rule: ValueRule,
  subject: Subject,
): Refusal {
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

const describePath = (path: string, place: ListIndexes): string =>
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
