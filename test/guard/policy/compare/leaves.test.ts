import { describe, expect, it } from 'vitest'
import { agents } from '../../../../agents/index.ts'
import { policyEditorSchema } from '../../../../src/config/policy.ts'
import { listOf, type Members, membersOf } from '../../../../src/guard/policy/compare/difference.ts'
import { changeOf, comparePolicies } from '../../../../src/guard/policy/compare/policies.ts'
import { sectionsOf } from '../../../../src/keeper/policy/role-policy.ts'
import { policyOf } from '../../../support/policies.ts'
import { TOKENS } from '../../../support/tokens.ts'

/** One way to change a policy: where, by names that may hold dots, and what it says there then. */
type Edit = {
  readonly path: string
  readonly steps: readonly string[]
  readonly apply: (said: Members) => Members
}

/** What the schema of a role's policy takes, as JSON Schema writes it. */
type Shape = Members

const at = (value: unknown, path: readonly string[], change: (was: unknown) => unknown): unknown => {
  const [first, ...rest] = path
  if (first === undefined) return change(value)
  if (Array.isArray(value)) return value.with(Number(first), at(value[Number(first)], rest, change))
  const members = { ...membersOf(value), [first]: at(membersOf(value)[first], rest, change) }
  return Object.fromEntries(Object.entries(members).filter(([, each]) => each !== undefined))
}

const edit = (path: readonly string[], change: (was: unknown) => unknown): Edit => ({
  path: path.join('.'),
  steps: path,
  apply: (said) => membersOf(at(said, path, change)),
})

/** More, less and nothing of a text: amounts go up and down. */
const textsBeside = (text: string): readonly string[] => {
  const [, number, rest = ''] = /^([0-9][0-9,.]*)(.*)$/.exec(text) ?? []
  if (number === undefined) return [`${text}x`]
  const amount = Number(number.replaceAll(',', ''))
  return [`${amount + 1}${rest}`, `${amount / 2}${rest}`].filter((other) => other !== text)
}

/** The choices of a place: what each of a union takes. */
const choicesOf = (shape: Shape): readonly Shape[] =>
  ['anyOf', 'oneOf', 'allOf'].some((key) => key in shape)
    ? ['anyOf', 'oneOf', 'allOf'].flatMap((key) => {
        const list: unknown = shape[key]
        return Array.isArray(list) ? list.flatMap((each) => choicesOf(membersOf(each))) : []
      })
    : [shape]

/** A number that nothing said before. */
let fresh = 7_001

/** Something new that a place takes, as far as its schema says: nothing that may be left out is. */
function sampleOf(given: Shape): unknown {
  const [shape = {}] = choicesOf(given)
  fresh += 1
  if (shape.type === 'array') return [sampleOf(membersOf(shape.items))]
  if (Array.isArray(shape.enum)) return String(shape.enum[fresh % shape.enum.length])
  if (shape.type !== 'object') return String(shape.const ?? fresh)
  const members = Object.entries(membersOf(shape.properties))
  return members.length > 0
    ? Object.fromEntries(members.map(([key, each]) => [key, sampleOf(membersOf(each))]))
    : { [`x${fresh}`]: sampleOf(membersOf(shape.additionalProperties)) }
}

/** More than there are workflow types to choose from. */
const TRIES = 100

/**
 * A sample that goes with what a list has: of a type that it has already, none would load, and a word said twice says nothing.
 * Undefined where it has all there is.
 */
function another(list: readonly unknown[], items: Shape): unknown {
  const typeOf = (each: unknown) => String(membersOf(each).workflowType)
  const types = new Set(list.map(typeOf))
  for (let tries = 0; tries < TRIES; tries += 1) {
    const sample = sampleOf(items)
    const isSaid = typeOf(sample) === 'undefined' ? list.includes(sample) : types.has(typeOf(sample))
    if (!isSaid) return sample
  }
  return undefined
}

/** Every way to change one thing of what a policy says, or to say one thing more that its schema takes. */
function editsOf(said: unknown, given: Shape, path: readonly string[]): readonly Edit[] {
  const shapes = choicesOf(given)
  // What is empty says as much as what is not there.
  const isEmpty = path.length === 0 || Object.keys(Object(said)).length === 0
  const gone = isEmpty ? [] : [edit(path, () => undefined)]
  if (typeof said === 'string') {
    return [...gone, ...textsBeside(said).map((text) => edit(path, () => text))]
  }
  if (Array.isArray(said)) {
    const items =
      shapes.map(({ items: each }) => membersOf(each)).find((each) => Object.keys(each).length > 0) ?? {}
    const more = another(said, items)
    return [
      ...(more === undefined ? [] : [edit(path, () => [...said, more])]),
      ...said.map((_, index) => edit(path, () => said.toSpliced(index, 1))),
      ...said.flatMap((each, index) => editsOf(each, items, [...path, String(index)])),
    ]
  }
  const members = membersOf(said)
  const known = Object.assign({}, ...shapes.map(({ properties }) => membersOf(properties))) as Members
  const other = shapes
    .map((shape) => membersOf(shape.additionalProperties))
    .find((each) => 'type' in each || 'anyOf' in each)
  const absent = Object.keys(known).filter((key) => !Object.hasOwn(members, key) && key !== 'include')
  return [
    ...gone,
    ...absent.map((key) => edit([...path, key], () => sampleOf(membersOf(known[key])))),
    ...(other === undefined ? [] : [edit([...path, `x${fresh}`], () => sampleOf(other))]),
    ...Object.entries(members).flatMap(([key, each]) =>
      editsOf(each, membersOf(known[key] ?? other), [...path, key]),
    ),
  ]
}

describe.each(agents.map((agent) => [agent.role, agent] as const))(
  'of the policy of the %s',
  (role, agent) => {
    const schema = membersOf(policyEditorSchema(agent.role, sectionsOf(agent, TOKENS)))
    const shipped = policyOf(role) as Members
    const [rule] = listOf(membersOf(shipped.guard).allow)
    const short = edit(['guard', 'allow'], () => [rule]).apply(shipped)
    // With one of all that the schema takes, in the places where the shipped policy says nothing.
    const full = editsOf(short, schema, []).reduce((said, { steps, apply }) => {
      const isMore = steps.reduce<unknown>((each, key) => Object(each)[key], said) === undefined
      return isMore ? apply(said) : said
    }, short)

    it.each([
      ['is shipped', shipped],
      ['may be said', full],
    ])('no change of what %s is missed', (_, said) => {
      const edits = editsOf(said, schema, [])
      const missed = edits.filter(({ apply }) => changeOf(comparePolicies(said, apply(said))) === 'same')
      expect(missed.map(({ path }) => path)).toEqual([])
      expect(edits.length).toBeGreaterThan(100)
    })
  },
)
