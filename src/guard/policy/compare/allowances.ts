import {
  type Difference,
  differ,
  directionOf,
  eachOf,
  listOf,
  type Members,
  membersOf,
  ofSets,
  type Sense,
  textOf,
} from './difference.ts'

/** Which way each setting of an allowance lets less through: what comes back takes longer, calls count for longer. */
const NARROWER: Readonly<Record<string, Sense>> = { most: 'less', refill: 'less', calls: 'less', per: 'more' }

/**
 * Compare `limits.allowances`: each holds beside all others, so one more lets less through. Those of one kind and name are
 * one allowance that changed, where each policy has just one. Pure.
 */
export function compareAllowances(was: Members, is: Members): readonly Difference[] {
  const [before, after] = [was, is].map((each) => bySubject(membersOf(each.limits))) as [
    Allowances,
    Allowances,
  ]
  return eachOf(before, after).flatMap(([subject, old = [], now = []]) => {
    const path = `limits.allowances[${subject}]`
    const [one, other] = [old[0], now[0]]
    if (old.length === 1 && now.length === 1 && one !== undefined && other !== undefined) {
      return compareOne(path, one, other)
    }
    const [texts, others] = [old, now].map((list) => list.map(textOf)) as [string[], string[]]
    const [text, changed] = [texts, others].map((list) => (list.length === 0 ? null : list.join(', ')))
    return differ(path, text, changed, ofSets(texts, others, 'more'))
  })
}

type Allowances = ReadonlyMap<string, readonly Members[]>

/** What is limited of what: an allowance of calls is none of amounts. */
const bySubject = ({ allowances }: Members): Allowances =>
  Map.groupBy(
    listOf(allowances).map((each): Members => ({ named: 'any', ...each })),
    ({ of, named, calls }) => `${of} ${named}${calls === undefined ? '' : ' calls'}`,
  )

const compareOne = (path: string, was: Members, is: Members): readonly Difference[] =>
  eachOf(new Map(Object.entries(was)), new Map(Object.entries(is))).flatMap(([key, old, now]) => {
    const sense = NARROWER[key]
    const direction = sense === undefined ? 'unknown' : directionOf(String(old), String(now), sense)
    return differ(`${path}.${key}`, old, now, direction)
  })
