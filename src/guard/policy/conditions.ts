import { operatorOf, type SayValue, type Test } from './operators.ts'
import type { ListIndexes } from './paths.ts'
import type { Subject } from './references.ts'
import type { Value } from './values.ts'

/** What must hold of a parameter: one test, or all tests of one of the lists under `any`. */
export type Condition = Test | { readonly op: 'any'; readonly of: readonly (readonly Condition[])[] }

/** Spread tests over what each `any` among them leaves open: all tests of one choice hold together. Pure. */
export const choicesOf = (tests: readonly Condition[]): readonly (readonly Test[])[] =>
  tests.reduce<readonly (readonly Test[])[]>(
    (choices, test) => {
      const more = test.op === 'any' ? test.of.flatMap(choicesOf) : [[test]]
      return choices.flatMap((choice) => more.map((each) => [...choice, ...each]))
    },
    [[]],
  )

/** Name what tests compare with, as the policy writes it. Pure. */
export const referencesIn = (tests: readonly Condition[]): readonly string[] =>
  tests.flatMap((test) =>
    test.op === 'any'
      ? test.of.flatMap(referencesIn)
      : operatorOf(test)
          .references(test)
          .map(({ text }) => text),
  )

/** Name the facts that tests rest on. Pure. */
export const factsIn = (tests: readonly Condition[]): readonly string[] =>
  referencesIn(tests).flatMap((text) => (text.startsWith('$fact.') ? [text.slice('$fact.'.length)] : []))

/** Whether a decoded value passes a test; a reference that resolves to nothing denies. Pure. */
export function holds(condition: Condition, actual: Value, subject: Subject, place: ListIndexes): boolean {
  if (condition.op !== 'any') return operatorOf(condition).holds(condition, actual, subject, place)
  return condition.of.some((tests) => tests.every((test) => holds(test, actual, subject, place)))
}

/** Whether a decoded value is what a test describes; a reference that resolves to nothing describes anything. Pure. */
export function isMet(condition: Condition, actual: Value, subject: Subject, place: ListIndexes): boolean {
  if (condition.op === 'any') {
    return condition.of.some((tests) => tests.every((test) => isMet(test, actual, subject, place)))
  }
  const references = operatorOf(condition).references(condition)
  return (
    references.some((reference) => reference.resolve(subject, place) === undefined) ||
    holds(condition, actual, subject, place)
  )
}

/** Say what a test demands, for a refusal; `say` writes a value that is compared by a reference. Pure. */
export function describeCondition(
  condition: Condition,
  subject: Subject,
  place: ListIndexes,
  say: SayValue,
): string {
  if (condition.op !== 'any') return operatorOf(condition).describe(condition, subject, place, say)
  const choices = condition.of.map((tests) =>
    tests.map((test) => describeCondition(test, subject, place, say)).join(' and '),
  )
  return choices.join(', or ')
}
