import type { JsonObject } from '../contract/openapi-schemas.ts'
import { type SchemaView, viewOf } from './contract-schema.ts'

/** What a difference is about. */
type DifferenceKind =
  | 'operation_missing'
  | 'operation_extra'
  | 'path'
  | 'credentials'
  | 'scope'
  | 'parameter'
  | 'header'
  | 'member'
  | 'required'
  | 'type'
  | 'enum'
  | 'assumption'

/** One thing in which a service's contract and ours differ, in words. */
export type Difference = {
  readonly kind: DifferenceKind
  /** For example `GET /v1/markets, answer .items[].paused`. */
  readonly where: string
  readonly ours: string
  readonly theirs: string
  /** What to change: a path of the run configuration, or an entry of the catalogue. */
  readonly change: string
}

/** Both contracts, where a comparison is. */
export type ContractPair = { readonly ours: JsonObject; readonly theirs: JsonObject }

/** Where two schemas are compared. `change` says, without a full stop, what to do about a difference. */
export type SchemaPlace = {
  readonly where: string
  readonly side: 'body' | 'answer'
  readonly change: string
  readonly depth: number
}

/** Deeper than any resource nests. */
const DEPTH_MAX = 12

/** Compare two schemas: what is answered must fit what we read; what we send must fit what is taken. Pure. */
export function compareSchemas(
  both: ContractPair,
  ours: unknown,
  theirs: unknown,
  at: SchemaPlace,
): readonly Difference[] {
  if (at.depth > DEPTH_MAX) return []
  const [mine, other] = [viewOf(both.ours, ours), viewOf(both.theirs, theirs)]
  const [given, taken] = at.side === 'answer' ? [other, mine] : [mine, other]
  const difference = (kind: DifferenceKind, a: string, b: string, where = at.where): Difference => ({
    kind,
    where,
    ours: a,
    theirs: b,
    change: `${at.change}.`,
  })
  if (!typesFit(given, taken)) return [difference('type', typesText(mine), typesText(other))]
  const differences: Difference[] = []
  if (mine.values !== null && other.values !== null && differ(mine.values, other.values))
    differences.push(difference('enum', valuesText(mine, other), valuesText(other, mine)))
  if (mine.items !== undefined && other.items !== undefined) {
    const inside = { ...at, where: `${at.where}[]`, depth: at.depth + 1 }
    differences.push(...compareSchemas(both, mine.items, other.items, inside))
  }
  if (mine.members === null) return differences
  for (const [name, member] of mine.members) {
    const where = `${at.where} .${name}`
    const found = other.members?.get(name)
    const needed = taken.required.has(name) && !given.required.has(name)
    if (found === undefined) {
      const tolerated = at.side === 'body' && !other.closed && !mine.required.has(name)
      if (!tolerated)
        differences.push(difference('member', mine.required.has(name) ? 'required' : 'known', 'none', where))
      continue
    }
    if (needed) differences.push(difference('required', presence(mine, name), presence(other, name), where))
    differences.push(...compareSchemas(both, member, found, { ...at, where, depth: at.depth + 1 }))
  }
  const strangers = [...(other.members?.keys() ?? [])].filter((name) => !mine.members?.has(name))
  for (const name of strangers) {
    const matters = at.side === 'answer' ? mine.closed : other.required.has(name)
    if (matters) differences.push(difference('member', 'none', presence(other, name), `${at.where} .${name}`))
  }
  return differences
}

const presence = ({ required }: SchemaView, name: string) =>
  required.has(name) ? 'required' : 'may be absent'
const differ = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
  one.size !== other.size || [...one].some((value) => !other.has(value))
const typesText = ({ types }: SchemaView) => (types.size === 0 ? 'any' : [...types].toSorted().join(' or '))
const valuesText = ({ values }: SchemaView, { values: others }: SchemaView) =>
  `has ${[...(values ?? [])].filter((value) => !others?.has(value)).join(', ') || 'no value of its own'}`

/** An integer is a number; what is unknown fits. */
function typesFit({ types: given }: SchemaView, { types: taken }: SchemaView): boolean {
  if (given.size === 0 || taken.size === 0) return true
  return [...given].every((type) => taken.has(type) || (type === 'integer' && taken.has('number')))
}
