import type { JsonObject } from '../contract/openapi-schemas.ts'

/** A schema of a contract, as far as two contracts are compared: references followed, unions of branches joined. */
export type SchemaView = {
  /** JSON types that are allowed; empty for any. */
  readonly types: ReadonlySet<string>
  /** The only values, written as JSON; null for any. */
  readonly values: ReadonlySet<string> | null
  /** Members by name; null where the schema names none, or names different ones in different branches. */
  readonly members: ReadonlyMap<string, unknown> | null
  readonly required: ReadonlySet<string>
  /** Whether other members are refused. */
  readonly closed: boolean
  /** The schema of an array's items, or undefined. */
  readonly items: unknown
}

/** References that lead on are followed this far: the contract may refer in a circle. */
const REFERENCES_MAX = 16

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Follow local references to what they name; undefined where they lead nowhere. Pure. */
export function follow(document: JsonObject, node: unknown): JsonObject | undefined {
  let found = node
  for (let count = 0; isObject(found) && typeof found.$ref === 'string'; count += 1) {
    if (count >= REFERENCES_MAX || !found.$ref.startsWith('#/')) return undefined
    const steps = found.$ref.slice(2).split('/')
    found = steps.reduce<unknown>((at, step) => {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
      return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
    }, document)
  }
  return isObject(found) ? found : undefined
}

const ANY: SchemaView = {
  types: new Set<string>(),
  values: null,
  members: null,
  required: new Set<string>(),
  closed: false,
  items: undefined,
}

/** View a schema of a contract; what cannot be read is any value. Pure. */
export function viewOf(document: JsonObject, schema: unknown, depth = 0): SchemaView {
  const node = follow(document, schema)
  if (node === undefined || depth > REFERENCES_MAX) return ANY
  const branches = [...listOf(node.anyOf), ...listOf(node.oneOf)]
  if (branches.length > 0) return joined(branches.map((branch) => viewOf(document, branch, depth + 1)))
  return listOf(node.allOf)
    .map((part) => viewOf(document, part, depth + 1))
    .reduce(both, plainView(node))
}

function plainView(node: JsonObject): SchemaView {
  const types = (typeof node.type === 'string' ? [node.type] : listOf(node.type)).map(String)
  const values = 'const' in node ? [node.const] : node.enum
  return {
    types: new Set(node.nullable === true ? [...types, 'null'] : types),
    values: Array.isArray(values) ? new Set(values.map((value) => JSON.stringify(value))) : null,
    members: isObject(node.properties) ? new Map(Object.entries(node.properties)) : null,
    required: new Set(listOf(node.required).map(String)),
    closed: node.additionalProperties === false,
    items: node.items,
  }
}

/** Any of several: their types and values together; members only where one branch alone has them. */
function joined(views: readonly SchemaView[]): SchemaView {
  const withMembers = views.filter(({ members }) => members !== null)
  const [only] = withMembers.length === 1 ? withMembers : []
  const withItems = views.find(({ items }) => items !== undefined)
  const known = views.filter(({ types }) => !(types.size === 1 && types.has('null')))
  return {
    types: views.some(({ types }) => types.size === 0)
      ? new Set()
      : new Set(views.flatMap(({ types }) => [...types])),
    values: known.every(({ values }) => values !== null)
      ? new Set(known.flatMap(({ values }) => [...(values ?? [])]))
      : null,
    members: only?.members ?? null,
    required: only?.required ?? new Set(),
    closed: only?.closed ?? false,
    items: withItems?.items,
  }
}

/** All of two. */
const both = (one: SchemaView, other: SchemaView): SchemaView => ({
  types: one.types.size > 0 ? one.types : other.types,
  values: one.values ?? other.values,
  members:
    one.members === null && other.members === null
      ? null
      : new Map([...(one.members ?? []), ...(other.members ?? [])]),
  required: new Set([...one.required, ...other.required]),
  closed: one.closed || other.closed,
  items: one.items ?? other.items,
})
