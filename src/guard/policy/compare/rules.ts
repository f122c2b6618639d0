import { OPERATORS, type Op } from '../operators.ts'
import {
  type Difference,
  type Direction,
  differ,
  directionOf,
  eachOf,
  listOf,
  type Members,
  membersOf,
} from './difference.ts'

/** Compare which calls are allowed, which are denied, and what they may do. Pure. */
export function compareRules(was: Members, is: Members): readonly Difference[] {
  const [before, after] = [was, is].map((each) => membersOf(each.guard)) as [Members, Members]
  const [allowed, stillAllowed] = [before, after].map(({ allow }) => byType(listOf(allow))) as [Types, Types]
  // What a type may leave is nothing by itself where its calls came or went.
  const isKept = (type: string) => allowed.has(type) === stillAllowed.has(type)
  return [
    ...eachOf(allowed, stillAllowed).flatMap(([type, old, now]) => compareType(type, old, now)),
    ...compareDenials(listOf(before.deny), listOf(after.deny)),
    ...eachOf(byType(listOf(before.effects)), byType(listOf(after.effects)))
      .filter(([type]) => isKept(type))
      .flatMap(([type, old, now]) => compareEffects(`guard.effects[${type}]`, old, now)),
  ]
}

type Types = ReadonlyMap<string, readonly Members[]>

const byType = (list: readonly Members[]): Types =>
  Map.groupBy(list, ({ workflowType }) => String(workflowType))
const idOf = ({ id }: Members): string => String(id)

/** A type without rules is not allowed; with other rules, or in another order, its workflow is another one. */
function compareType(
  type: string,
  was: readonly Members[] | undefined,
  is: readonly Members[] | undefined,
): readonly Difference[] {
  const path = `guard.allow[${type}]`
  const [ids, now] = [was?.map(idOf).join(', '), is?.map(idOf).join(', ')]
  if (was === undefined) return differ(path, ids, now, 'wider')
  if (is === undefined) return differ(path, ids, now, 'narrower')
  return [
    ...differ(path, ids, now, 'unknown'),
    ...is.flatMap((rule) => {
      const [old, ...others] = was.filter((each) => idOf(each) === idOf(rule))
      return old === undefined || others.length > 0 ? [] : compareRule(old, rule)
    }),
  ]
}

/** Gas limits and values sent, of which less is narrower; conditions; and all else, which is no amount: another call. */
function compareRule(was: Members, is: Members): readonly Difference[] {
  const { params: before, ...old } = was
  const { params: after, ...now } = is
  const path = `guard.allow[${idOf(is)}]`
  const isSigned = /\bint\d*\b/.test(String(is.function))
  return [
    ...[...new Set([...Object.keys(now), ...Object.keys(old)])].flatMap((key) =>
      old[key] === now[key]
        ? []
        : differ(
            `${path}.${key}`,
            old[key],
            now[key],
            directionOf(String(old[key]), String(now[key]), 'less'),
          ),
    ),
    ...eachOf(mapOf(before), mapOf(after)).flatMap(([name, each, other]) =>
      each === undefined || other === undefined
        ? differ(`${path}.params.${name}`, each, other, 'unknown')
        : compareCondition(`${path}.params.${name}`, membersOf(each), membersOf(other), isSigned),
    ),
  ]
}

const mapOf = (value: unknown): ReadonlyMap<string, unknown> => new Map(Object.entries(membersOf(value)))

/** All tests of a parameter hold together: one more lets less through, one less lets more. */
function compareCondition(path: string, was: Members, is: Members, isSigned: boolean): readonly Difference[] {
  const unfold = ({ eq, map, ...rest }: Members): Members => ({
    ...rest,
    eq: map === undefined ? eq : { eq, map },
  })
  const [before, after] = [unfold(was), unfold(is)]
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].flatMap((test) => {
    const [old, now] = [before[test], after[test]]
    return differ(`${path}.${test}`, old, now, ofEntry(old, now, ofTest(test, old, now, isSigned)))
  })
}

function ofTest(test: string, was: unknown, is: unknown, isSigned: boolean): Direction | null {
  // Choices are a list as `in` has one.
  const op = test === 'any' ? 'in' : test
  return Object.hasOwn(OPERATORS, op) ? OPERATORS[op as Op].compare(was, is, isSigned) : 'unknown'
}

/** What is denied more lets less through; a denial that is another one may deny anything. */
function compareDenials(was: readonly Members[], is: readonly Members[]): readonly Difference[] {
  return eachOf(Map.groupBy(was, idOf), Map.groupBy(is, idOf)).flatMap(([id, old, now]) =>
    differ(`guard.deny[${id}]`, old, now, ofEntry(old, now, 'unknown')),
  )
}

/** One entry more lets less through. */
const ofEntry = (was: unknown, is: unknown, changed: Direction | null): Direction | null =>
  was === undefined ? 'narrower' : is === undefined ? 'wider' : changed

/** What must come in may be more; what may leave is exactly what is at stake, and budgets count by it. */
function compareEffects(
  path: string,
  before: readonly Members[] = [],
  after: readonly Members[] = [],
): readonly Difference[] {
  const [[was], [is]] = [before, after]
  if (was === undefined || is === undefined) return differ(path, before, after, 'unknown')
  return [
    ...differ(`${path}.out`, was.out, is.out, 'unknown'),
    ...differ(`${path}.moves`, was.moves, is.moves, 'unknown'),
    ...eachOf(leastOf(was), leastOf(is)).flatMap(([token, old, now]) =>
      differ(
        `${path}.in.${token}`,
        old,
        now,
        ofEntry(old, now, directionOf(String(old), String(now), 'more')),
      ),
    ),
  ]
}

/** How much of each token must come in; a token that is listed twice has no one amount. */
const leastOf = ({ in: list }: Members): ReadonlyMap<string, string> =>
  new Map(
    [...Map.groupBy(listOf(list), ({ token }) => String(token))].map(([token, items]) => [
      token,
      items.map(({ assetsMin }) => String(assetsMin)).join(', '),
    ]),
  )
